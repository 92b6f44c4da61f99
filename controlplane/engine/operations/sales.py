"""Flash sales of the control plane: it opens them, and looks after frozen ones.

The purchase token of a sale and the key of its forms are made here in the moment of the opening,
by whoever leads, and not before; they are stored first and then given out. Must never log them or
write them to the audit log.
"""

import asyncio
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import structlog

from controlplane.domain.access import Principal
from controlplane.domain.admission.flash_sale.life import (
    Correction,
    Opening,
    Phase,
    Standing,
    may_open,
    phase,
    require_known,
    require_review,
)
from controlplane.domain.admission.flash_sale.policy import FlashSalePolicy
from controlplane.domain.admission.policy import Mode
from controlplane.domain.errors import Conflict, NotFound, Retryable
from controlplane.engine.fleet.fleets import Fleets
from controlplane.engine.operations.items import Items, Written
from controlplane.engine.stages import Instruments

log = structlog.get_logger(__name__)

# A sale that is declared late opens at most that much later by itself; a gateway that asks makes
# it open at once.
LOOK_S = 1.0
LEAST_WAIT_S = 0.01
SECRET_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class SaleParts:
    """What sales read and write."""

    fleets: Fleets
    openings: Items[Opening]
    corrections: Items[Correction]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sale:
    """A declared sale as it stands, without its secrets."""

    name: str
    policy: FlashSalePolicy
    phase: Phase
    frozen: bool
    opened_at_s: float | None


class Sales:
    """All sales of the fleet."""

    def __init__(self, parts: SaleParts, instruments: Instruments) -> None:
        self._parts = parts
        self._now: Callable[[], float] = instruments.now
        self._opening = asyncio.Lock()
        parts.fleets.corrections = self._reviewed

    async def run(self) -> None:
        """Open each sale in its moment, until cancelled."""
        while True:
            for name, policy in self._declared().items():
                if may_open(policy, self._now()) and self._opened(name, policy) is None:
                    await self._open(name, policy)
            await asyncio.sleep(self._pause_s())

    def all(self) -> list[Sale]:
        """Every declared sale, by name."""
        return [self._sale(name, policy) for name, policy in sorted(self._declared().items())]

    def named(self, name: str) -> Sale:
        """One of them; NotFound."""
        return self._sale(name, self._policy(name))

    async def opening(self, name: str) -> Opening:
        """The secrets of an open sale, for gateways.

        Raises:
            NotFound: there is no such sale.
            Retryable: `sale_not_open`, there is nothing yet; the details say for how long.
            Conflict: `sale_over`, it has ended.
        """
        policy = self._policy(name)
        now_s = self._now()
        if now_s < policy.opens_at_s:
            left_s = policy.opens_at_s - now_s
            raise Retryable(
                "sale_not_open",
                f"the sale {name} opens in {left_s:.3f} s: ask again then",
                {"sale": name, "opens_in_s": left_s},
                after_s=left_s,
            )
        if not may_open(policy, now_s):
            raise Conflict("sale_over", f"the sale {name} has ended", {"sale": name})
        return self._opened(name, policy) or await self._open(name, policy)

    async def propose(
        self, name: str, fields: Mapping[str, str], author: Principal, reason: str
    ) -> Correction:
        """Propose a change of a sale; somebody else reviews it.

        Raises:
            NotFound: there is no such sale.
            Invalid: it sets nothing, or what no sale has.
        """
        self._policy(name)
        require_known(name, fields)
        made = [each for each in self._parts.corrections.all if each.startswith(f"{name}-")]
        number = 1 + max((int(each.rpartition("-")[2]) for each in made), default=0)
        correction = Correction(
            id=f"{name}-{number}", sale=name, fields=fields, author=author.name, reason=reason
        )
        written = Written(author=author, reason=reason)
        return await self._parts.corrections.put(correction, written, new=True)

    async def approve(self, correction_id: str, reviewer: Principal) -> Correction:
        """Agree to somebody else's correction; it counts for every later change of the fleet.

        Raises:
            NotFound: there is no such correction.
            Refused: `correction_unreviewed`, it is the reviewer's own or gives no reason.
        """
        found = replace(self._parts.corrections.named(correction_id), reviewer=reviewer.name)
        require_review(found)
        return await self._parts.corrections.put(found, Written(author=reviewer))

    def corrections(self, name: str) -> list[Correction]:
        """What was proposed for a sale, by number."""
        found = (each for each in self._parts.corrections.all.values() if each.sale == name)
        return sorted(found, key=lambda each: int(each.id.rpartition("-")[2]))

    async def _open(self, name: str, policy: FlashSalePolicy) -> Opening:
        async with self._opening:
            # Whoever waited finds what the one before has made.
            opened = self._opened(name, policy)
            if opened is not None:
                return opened
            made = Opening(
                sale=name,
                item=policy.item,
                opens_at_s=policy.opens_at_s,
                token=secrets.token_urlsafe(SECRET_BYTES),
                key=secrets.token_urlsafe(SECRET_BYTES),
                opened_at_s=self._now(),
            )
            await self._parts.openings.keep(made)
        log.info("sale.opened", sale=name, item=policy.item)
        return made

    def _opened(self, name: str, policy: FlashSalePolicy) -> Opening | None:
        found = self._parts.openings.all.get(name)
        return found if found is not None and found.opens(name, policy) else None

    def _reviewed(self) -> tuple[Correction, ...]:
        return tuple(each for each in self._parts.corrections.all.values() if each.reviewer)

    def _pause_s(self) -> float:
        now_s = self._now()
        ahead = [
            policy.opens_at_s - now_s
            for policy in self._declared().values()
            if policy.opens_at_s > now_s
        ]
        return max(LEAST_WAIT_S, min([*ahead, LOOK_S]))

    def _declared(self) -> dict[str, FlashSalePolicy]:
        return {
            policy.name: policy.flash_sale
            for policy in self._parts.fleets.current.fleet.policies
            if policy.flash_sale is not None and policy.mode is not Mode.OFF
        }

    def _policy(self, name: str) -> FlashSalePolicy:
        found = self._declared().get(name)
        if found is None:
            raise NotFound("sale_not_found", f"there is no flash sale {name[:80]!r}")
        return found

    def _sale(self, name: str, policy: FlashSalePolicy) -> Sale:
        now_s = self._now()
        opened = self._opened(name, policy)
        return Sale(
            name=name,
            policy=policy,
            phase=phase(policy, Standing(opened=opened is not None), now_s),
            frozen=policy.frozen_from_s <= now_s < policy.ends_at_s,
            opened_at_s=None if opened is None else opened.opened_at_s,
        )
