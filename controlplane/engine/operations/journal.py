"""The journal: what happened, kept in memory until the store has it.

Everyone may note; one task writes in batches, so that a store that is slow or away holds nobody up.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import replace

import structlog

from controlplane.domain.errors import Retryable
from controlplane.domain.operations.timeline import Entry, EntryKind
from controlplane.engine.stages import Instruments
from controlplane.ports.operations import JournalStore

log = structlog.get_logger(__name__)

WRITE_S = 1.0
# While the store is away; the oldest go first.
MOST_WAITING = 20_000
BATCH = 1_000


class Journal:
    """Notes and reads. `lost` counts entries that never came to the store."""

    def __init__(self, store: JournalStore, instruments: Instruments) -> None:
        self._store = store
        self._now = instruments.now
        self._waiting: deque[Entry] = deque()
        self._away = False
        self.lost = 0

    def note(self, kind: EntryKind, subject: str, what: str, who: str = "") -> None:
        """Something happened just now."""
        self.add(Entry(time_s=self._now(), kind=kind, subject=subject, what=what, who=who))

    def add(self, entry: Entry) -> None:
        """Something happened, at its own time; never blocks."""
        self._waiting.append(entry)
        if len(self._waiting) > MOST_WAITING:
            self._waiting.popleft()
            self.lost += 1

    async def between(self, since_s: float, until_s: float, limit: int) -> list[Entry]:
        """What happened within, as stored and as not stored yet."""
        waiting = [one for one in self._waiting if since_s <= one.time_s <= until_s]
        stored = await self._store.between(since_s, until_s, limit)
        # What was written while this was read stands in both.
        known = {replace(one, number=0) for one in stored}
        return [*stored, *(one for one in waiting if one not in known)][:limit]

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            await asyncio.sleep(WRITE_S)
            await self.write()

    async def write(self) -> None:
        """Store what waits; tried again later while the store is away."""
        while self._waiting:
            batch = self._batch()
            try:
                await self._store.append(batch)
            except Retryable as error:
                if not self._away:
                    log.warning("journal.store_away", reason=error.message)
                self._away = True
                return
            self._away = False
            # What was added meanwhile stands behind; of a full one the oldest may be gone.
            for entry in batch:
                if self._waiting and self._waiting[0] is entry:
                    self._waiting.popleft()

    def _batch(self) -> Sequence[Entry]:
        return [entry for _, entry in zip(range(BATCH), self._waiting, strict=False)]
