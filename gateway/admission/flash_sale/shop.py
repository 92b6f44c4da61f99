"""The way to the shop: batches of orders go there, and caches are told to forget.

`POST orders_url` with `{"sale", "item", "orders": [{"id", "user"}]}` is answered with
`{"orders": [{"id", "outcome"}], "left": N}`; outcomes are `accepted`, `sold_out` and `refused`. An
order that the shop has accepted before is accepted again, not sold twice.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
import structlog

from controlplane.domain.admission.flash_sale.orders import Fate, Order
from controlplane.domain.admission.flash_sale.policy import FlashSalePolicy
from controlplane.domain.errors import Retryable

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What became of a batch, and how many items are left."""

    fates: Mapping[str, Fate]
    left: int


class Shop:
    """One shop, for one sale."""

    def __init__(self, name: str, policy: FlashSalePolicy) -> None:
        self._name = name
        self._policy = policy
        self._http: aiohttp.ClientSession | None = None
        self._later: set[asyncio.Task[None]] = set()

    async def write(self, batch: tuple[Order, ...]) -> Written:
        """Send a batch; no orders ask how many are left.

        Raises:
            Retryable: `shop_away`, it gave no answer that tells what became of all orders.
        """
        body = {
            "sale": self._name,
            "item": self._policy.item,
            "orders": [{"id": order.id, "user": order.user} for order in batch],
        }
        try:
            async with self._session().post(self._policy.orders_url, json=body) as answer:
                answer.raise_for_status()
                written = _written(await answer.json())
        except (
            aiohttp.ClientError,
            OSError,
            TimeoutError,
            ValueError,
            KeyError,
            TypeError,
        ) as error:
            raise _away(f"{type(error).__name__} {error}") from error
        if missing := [order.id for order in batch if order.id not in written.fates]:
            raise _away(f"it did not say what became of {len(missing)} orders")
        return written

    async def forget(self) -> None:
        """Tell caches to forget the item; one that does not answer holds nobody up."""
        if not self._policy.invalidate_url:
            return
        with contextlib.suppress(aiohttp.ClientError, OSError, TimeoutError):
            body = {"sale": self._name, "item": self._policy.item}
            async with self._session().post(self._policy.invalidate_url, json=body) as answer:
                if answer.ok:
                    return
        log.warning("flash_sale.cache_not_told", sale=self._name)

    def forget_again(self) -> None:
        """And once more when replicas have what was written, so that no cache keeps older data."""
        # One that is under way already says it for all writes before it.
        if self._policy.invalidate_url and len(self._later) < 2:
            task = asyncio.create_task(self._forget_later())
            self._later.add(task)
            task.add_done_callback(self._later.discard)

    async def close(self) -> None:
        """Tell caches what is still to be told, and end the connections."""
        for task in tuple(self._later):
            task.cancel()
        if self._later:
            await asyncio.gather(*self._later, return_exceptions=True)
            await self.forget()
        if self._http is not None:
            await self._http.close()

    async def _forget_later(self) -> None:
        await asyncio.sleep(self._policy.replication_delay_s)
        await self.forget()

    def _session(self) -> aiohttp.ClientSession:
        if self._http is None:
            limit = aiohttp.ClientTimeout(total=self._policy.write_timeout_s)
            self._http = aiohttp.ClientSession(timeout=limit, trust_env=False)
        return self._http


def _written(told: Any) -> Written:
    fates = {str(each["id"]): Fate(each["outcome"]) for each in told["orders"]}
    return Written(fates=fates, left=int(told["left"]))


def _away(why: str) -> Retryable:
    return Retryable("shop_away", f"the shop gave no answer to a batch of orders: {why}")
