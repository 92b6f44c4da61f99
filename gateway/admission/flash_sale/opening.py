"""Brings a sale's secrets from the control plane at its opening, and keeps them on disk.

Before the opening there is nothing to bring: they are made by the control plane in that moment.
While it is away the opening waits, and says so; a sale that was opened goes on from disk.
"""

import asyncio
import json
import random
import time
from collections.abc import Callable
from urllib.parse import quote

import httpx
import structlog

from controlplane.domain import canonical
from controlplane.domain.admission.flash_sale.life import Opening
from controlplane.domain.admission.flash_sale.policy import FlashSalePolicy
from controlplane.domain.errors import ControlPlaneError, Invalid, Refused, Retryable
from gateway.admission.opening_options import OpeningOptions
from gateway.last_good.whole_file import read_whole, sync_folder, write_whole

log = structlog.get_logger()

MAGIC = b"signalbox-opening-1 "
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 1.0
# Clocks of gateways may be wrong by that much. Less than the 5 s for which HTTP servers keep a
# connection, so that the second call needs no new one.
EARLY_S = 4.0
# A calendar that was set forward must not make a wait of days out of one call of sleep.
LONGEST_WAIT_S = 30.0
# A sale that is over by our clock is looked at again after so long.
OVER_S = 1.0
ANSWER_S = 3.0
TOO_EARLY = 425


class _TooEarly(Retryable):
    """By the clock of the control plane there is time left: `after_s`."""


class OpeningKeeper:
    """The opening of one sale."""

    def __init__(self, name: str, policy: FlashSalePolicy, options: OpeningOptions) -> None:
        self._name = name
        self._policy = policy
        self._options = options
        digest = canonical.digest(name.encode())[:16]
        self._file = options.folder / f"opening-{digest}.secret"
        self._said = ""

    def load(self) -> Opening | None:
        """What an earlier run left of this very sale.

        Raises:
            OSError: the folder cannot be made.
        """
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self._file.exists():
            return None
        try:
            opening = canonical.decode(Opening, read_whole(self._file, MAGIC))
        except (Invalid, OSError) as error:
            log.warning("flash_sale.opening_ignored", sale=self._name, why=str(error))
            return None
        return opening if opening.opens(self._name, self._policy) else None

    async def bring(self, opened: Callable[[Opening], None]) -> None:
        """Wait for the opening, hand it over, keep it; then nothing more."""
        opening = await asyncio.to_thread(self.load)
        if opening is not None:
            opened(opening)
            return
        await self._moment()
        pause_s = FIRST_PAUSE_S
        async with self._options.source.http(httpx.Timeout(ANSWER_S)) as http:
            while opening is None:
                if time.time() >= self._policy.ends_at_s:
                    # Or the clock is wrong, and will be set back.
                    await asyncio.sleep(OVER_S)
                    continue
                try:
                    opening = await self._asked(http)
                except _TooEarly as error:
                    await asyncio.sleep(min(error.after_s, LONGEST_WAIT_S))
                except ControlPlaneError as error:
                    self._say(error)
                    jitter: float = random.uniform(0.5, 1.0)
                    await asyncio.sleep(pause_s * jitter)
                    pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        opened(opening)
        log.info("flash_sale.opened", sale=self._name)
        await self._keep(opening)

    async def _moment(self) -> None:
        # Asked early: the control plane answers with the time that is left by its own clock.
        while True:
            left_s = self._policy.opens_at_s - EARLY_S - time.time()
            if left_s <= 0:
                return
            await asyncio.sleep(min(left_s, LONGEST_WAIT_S))

    async def _asked(self, http: httpx.AsyncClient) -> Opening:
        """Raises Retryable while there is none, Refused, or Invalid when it cannot be read."""
        path = f"/v1/sales/{quote(self._name, safe='')}/opening"
        for url in self._options.source.urls:
            try:
                answer = await http.get(f"{url}{path}", headers=self._options.source.headers())
            except httpx.HTTPError as error:
                last: ControlPlaneError = Retryable(
                    "control_plane_away", f"{url}: {type(error).__name__}"
                )
                continue
            if answer.status_code == httpx.codes.OK:
                return self._read(answer.content)
            if answer.status_code == TOO_EARLY:
                raise _too_early(answer.content)
            last = _refusal(url, answer.status_code)
        raise last

    def _read(self, body: bytes) -> Opening:
        opening = canonical.decode(Opening, json.dumps(json.loads(body)).encode())
        if not opening.opens(self._name, self._policy):
            raise Invalid("opening_of_another_sale", "the control plane has another form of it")
        return opening

    async def _keep(self, opening: Opening) -> None:
        try:
            await asyncio.to_thread(write_whole, self._file, MAGIC, canonical.encode(opening))
            await asyncio.to_thread(sync_folder, self._file.parent)
        except OSError as error:
            log.error("flash_sale.opening_not_stored", sale=self._name, why=str(error))  # noqa: TRY400

    def _say(self, error: ControlPlaneError) -> None:
        # An outage of an hour is one line, not thousands.
        if self._said != error.code:
            log.warning(
                "flash_sale.opening_waits", sale=self._name, code=error.code, why=error.message
            )
        self._said = error.code


def _too_early(body: bytes) -> _TooEarly:
    try:
        left_s = float(json.loads(body)["details"]["opens_in_s"])
    except (KeyError, TypeError, ValueError):
        left_s = 1.0
    return _TooEarly("sale_not_open", "not by its clock", after_s=max(left_s, FIRST_PAUSE_S))


def _refusal(url: str, status: int) -> ControlPlaneError:
    if status in (401, 403):
        return Refused("control_plane_refuses", f"{url}: {status}")
    return Retryable("control_plane_away", f"{url}: {status}")
