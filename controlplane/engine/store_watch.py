"""Watches the store: whether something can be written, and the way back of lost files.

Run by `serving`. It asks again and again, so an outage is a finding within seconds and clears by
itself, also when nobody writes. Reads from memory, streams and data planes never ask here. Files
that were deleted are written back from the open handles; a file that somebody else put in their
place is never touched.
"""

import asyncio

import structlog

from controlplane.domain.errors import Retryable
from controlplane.domain.findings import Observation, Severity, Source
from controlplane.engine.stages import Instruments
from controlplane.ports.stores import FILES_GONE, StoreCare

log = structlog.get_logger(__name__)

SOUND_EVERY_S = 2.0
AWAY_EVERY_S = 1.0
# Somebody who moves the files away and back needs a moment.
PUT_BACK_AFTER_S = 3.0
HELD = (
    "writes answer 503; the last snapshot stays in force everywhere; samples and decisions wait in "
    "memory"
)


class StoreWatch:
    """Knows since when the store is away; `put_backs` counts files that were written back."""

    def __init__(self, care: StoreCare, instruments: Instruments) -> None:
        self._care = care
        self._findings = instruments.findings
        self._gone_s: float | None = None
        self.away = ""
        self.put_backs = 0

    async def run(self) -> None:
        """Look again and again, until cancelled; lost files are put back before the end."""
        try:
            while True:
                await self.look()
                await asyncio.sleep(AWAY_EVERY_S if self.away else SOUND_EVERY_S)
        finally:
            await self._last_look()

    async def look(self) -> None:
        """One probe; lost files are put back once they have been gone for a while."""
        try:
            await self._care.probe()
        except Retryable as error:
            await self._report_away(error)
        else:
            self._gone_s = None
            self.away = ""
            self._findings.report(Source.STORE, ())

    async def _last_look(self) -> None:
        """With the process the open handles end, and with them what is only there."""
        try:
            await self._care.probe()
        except Retryable as error:
            if _gone(error) and not await self._put_back():
                log.error("store.lost", reason=self.away)  # noqa: TRY400

    async def _report_away(self, error: Retryable) -> None:
        self.away = error.message
        if not _gone(error):
            self._gone_s = None
        elif self._gone_for_s() >= PUT_BACK_AFTER_S and await self._put_back():
            # Not sound before a probe says so: the next look comes within a second.
            return
        self._findings.report(Source.STORE, [_observation(self.away)])

    def _gone_for_s(self) -> float:
        clock_s = asyncio.get_running_loop().time()
        if self._gone_s is None:
            self._gone_s = clock_s
        return clock_s - self._gone_s

    async def _put_back(self) -> bool:
        """Whether the files are back."""
        try:
            await self._care.put_back()
        except Retryable as error:
            self.away = error.message
            return False
        self._gone_s = None
        self.put_backs += 1
        log.warning("store.put_back", count=self.put_backs)
        return True


def _gone(error: Retryable) -> bool:
    return error.details.get("reason") == FILES_GONE


def _observation(message: str) -> Observation:
    return Observation(
        code="store_unavailable",
        subject="store",
        message=message,
        held=HELD,
        severity=Severity.CRITICAL,
    )
