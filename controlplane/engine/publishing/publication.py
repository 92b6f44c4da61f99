"""What is published now, and everyone who waits for the next.

Holds the newest snapshot in memory, so reads, long polls and streams need no database. A slow
consumer gets the newest snapshot when it comes back, never a queue. Exactly one task (the loop)
publishes; revisions never go back.
"""

import asyncio
from contextlib import suppress

from controlplane.domain.snapshot import Snapshot


class Publication:
    """The newest snapshot and its waiters.

    Attributes:
        floor: a revision that somebody has already; what is published from here on is above it.
    """

    def __init__(self) -> None:
        self.floor = 0
        self._current: Snapshot | None = None
        self._changed = asyncio.Event()
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether the process is stopping: nobody needs to wait any more."""
        return self._closed

    @property
    def current(self) -> Snapshot | None:
        """The newest snapshot, None before the first."""
        return self._current

    def publish(self, snapshot: Snapshot) -> None:
        """Make it the newest and wake every waiter; an older or equal revision is ignored."""
        if self._current is not None and snapshot.revision <= self._current.revision:
            return
        self._current = snapshot
        self._wake()

    def close(self) -> None:
        """Let everyone who waits go with what they have; nobody waits from now on."""
        self._closed = True
        self._wake()

    async def changed_since(self, revision: int, timeout_s: float) -> Snapshot | None:
        """The newest snapshot with a greater revision, as soon as there is one.

        None when there is none in time, or none before the process stops.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while (snapshot := self._current) is None or snapshot.revision <= revision:
                    if self._closed:
                        return None
                    await self._changed.wait()
                return snapshot
        return None

    def _wake(self) -> None:
        # A fresh event each time: whoever waits holds the old one and is woken once.
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
