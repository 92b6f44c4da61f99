"""Follows the store: which revision is the newest, whoever wrote it.

Run by `serving`; asked by couriers before they write and by the ADS server before it serves a new
stream. A process that was stopped and goes on knows an old revision, and must not bring that to
anybody before it has looked. While the store is away nothing is known to be newer: what is in
memory is served on.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

import structlog

from controlplane.domain.errors import Rejected, Retryable
from controlplane.engine.pokes import Pokes
from controlplane.engine.publishing.publication import Publication
from controlplane.ports.stores import SnapshotStore

log = structlog.get_logger(__name__)

EVERY_S = 0.25
# Who was not here for so long was stopped, or as good as stopped.
STOPPED_S = 1.0
# Longest wait for the store, and for the planes to have what it has.
PATIENCE_S = 1.0


class Following:
    """Knows the newest revision of the store, and when it was told."""

    def __init__(self, snapshots: SnapshotStore, publication: Publication, pokes: Pokes) -> None:
        self._snapshots = snapshots
        self._publication = publication
        self._pokes = pokes
        self._looked_s = float("-inf")
        self.newest = 0

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            await self._look()
            await asyncio.sleep(EVERY_S)

    async def check(self, revision: int) -> None:
        """The fence of everyone who writes this revision somewhere.

        Raises:
            Rejected: the store has a newer one.
        """
        await self._fresh()
        if self.newest > revision:
            raise Rejected(
                "revision_not_newer",
                f"revision {revision} is not brought anywhere: the store has revision "
                f"{self.newest}, which another process wrote and this one is about to take over",
                {"offered": revision, "in_force": self.newest},
            )

    async def overtaken(self, revision: int) -> None:
        """After a start a plane has this revision, which is newer than what it was offered.

        When the store does not have it, it is an older copy that somebody has put back: what is
        published gets a revision above it, or the plane would take nothing until there is one.
        """
        with suppress(Retryable, TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                newest = await self._snapshots.newest_revision()
            if newest < revision > self._publication.floor:
                log.warning("snapshot.store_went_back", newest=newest, in_force=revision)
                self._publication.floor = revision
                self._pokes.hurry()

    async def caught_up(self, revision: Callable[[], int]) -> None:
        """Return when somebody has the newest revision, or after a while in any case.

        Args:
            revision: that he has now.
        """
        await self._fresh()
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                while True:
                    if revision() >= self.newest:
                        return
                    await asyncio.sleep(EVERY_S / 25)

    async def _fresh(self) -> None:
        if asyncio.get_running_loop().time() - self._looked_s > STOPPED_S:
            await self._look()

    async def _look(self) -> None:
        with suppress(Retryable, TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                self.newest = await self._snapshots.newest_revision()
        self._looked_s = asyncio.get_running_loop().time()
        current = self._publication.current
        if current is not None and self.newest > current.revision:
            log.info("snapshot.behind", newest=self.newest, revision=current.revision)
            self._pokes.catch_up()
