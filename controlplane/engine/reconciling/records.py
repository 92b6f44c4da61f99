"""Decisions on their way to the store: written at once, or later when the store is away.

The loop adds what it has put in force; `run` repeats what could not be written. The split is out
already, so a record never holds it up, and an outage costs records only beyond `MOST_WAITING`.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from itertools import islice

import structlog

from controlplane.domain.decisions import Decision
from controlplane.domain.errors import ControlPlaneError, Retryable
from controlplane.engine.stages import Instruments, Stage
from controlplane.ports.stores import DecisionStore

log = structlog.get_logger(__name__)

# A decision has some 20 kB in memory: 200 MB at most, ten cycles of 1,000 services.
MOST_WAITING = 10_000
RETRY_S = 1.0
# Written per call, far within its deadline.
AT_ONCE = 500


class Records:
    """Decisions that wait for the store, in their order; `lost` counts what did not fit."""

    def __init__(self, store: DecisionStore, instruments: Instruments) -> None:
        self._store = store
        self._stages = instruments.stages
        self._waiting: deque[Decision] = deque()
        self._away = False
        # The order of records is the history of a split, so one writes at a time.
        self._writing = asyncio.Lock()
        self.lost = 0

    @property
    def waiting(self) -> int:
        """How many are not in the store yet."""
        return len(self._waiting)

    async def add(self, decisions: Sequence[Decision]) -> None:
        """Take decisions; write them now, unless the store is known to be away."""
        self._waiting.extend(decisions)
        while len(self._waiting) > MOST_WAITING:
            self._waiting.popleft()
            self.lost += 1
        if not self._away:
            await self.flush()

    async def run(self) -> None:
        """Repeat what could not be written, until cancelled."""
        try:
            while True:
                await asyncio.sleep(RETRY_S)
                await self.flush()
        finally:
            await self.flush()

    async def flush(self) -> None:
        """Write what waits; what the store does not take now goes on waiting."""
        async with self._writing:
            while self._waiting and await self._write_some():
                pass

    async def _write_some(self) -> bool:
        """Whether there may be more to write now."""
        some = tuple(islice(self._waiting, AT_ONCE))
        try:
            with self._stages.measure(Stage.RECORD):
                await self._store.record(some)
        except Retryable as error:
            if not self._away:
                log.warning("decision.store_away", reason=error.message, waiting=self.waiting)
            self._away = True
            return False
        except ControlPlaneError as error:
            log.warning("decision.not_recorded", reason=error.message, count=len(some))
            self.lost += len(some)
        self._away = False
        written = {decision.id for decision in some}
        # Some of them may have been dropped meanwhile to make room.
        while self._waiting and self._waiting[0].id in written:
            self._waiting.popleft()
        return True
