"""Brings what the loop wants into the store and into force: intents over it, compare-and-set, done.

Owned by the loop, the only one that calls it. What intents change is published even while the store
is away: an evacuation must not wait for a database. The store is brought up to date afterwards.
"""

import asyncio
from dataclasses import dataclass, replace

import structlog

from controlplane.domain.errors import Conflict, ControlPlaneError, Retryable
from controlplane.domain.snapshot import Snapshot
from controlplane.engine.fleet.fleets import Fleets
from controlplane.engine.intents.standing import InForce, Standing
from controlplane.engine.publishing.publication import Publication
from controlplane.engine.stages import Instruments, Stage
from controlplane.ports.stores import SnapshotStore

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherParts:
    """What a publisher reads and writes."""

    fleets: Fleets
    snapshots: SnapshotStore
    publication: Publication
    standing: Standing


class Publisher:
    """Knows what would be published without intents, and whether the store has the newest.

    Attributes:
        base: the newest snapshot without intents; None before the first tick.
        away: whether the store failed last time.
    """

    def __init__(self, parts: PublisherParts, instruments: Instruments) -> None:
        self._parts = parts
        self._stages = instruments.stages
        self._now = instruments.now
        self._unsaved = False
        self.base: Snapshot | None = None
        self.away = False

    async def publish(self, base: Snapshot) -> int:
        """Publish it with the intents over it when that is new; the revision in force afterwards.

        Raises:
            Retryable: the store is away and nothing was published.
            Conflict: another writer was there.
        """
        self.base = base
        await self._save()
        return await self._put(base, stored=True)

    async def republish(self) -> bool:
        """Put the intents over the newest base again, with or without the store.

        Returns:
            Whether the store has what is in force; False asks for another call later.

        Raises:
            Conflict: another writer was there.
        """
        # Before the first tick, and while nothing may be built, it is what lies below in force.
        base = self.base or self._parts.standing.below(self._parts.publication.current)
        if base is None:
            return True
        try:
            await self._save()
            await self._put(base, stored=True)
        except Retryable as error:
            self.hold(error)
            await self._put(base, stored=False)
            return False
        return True

    def hold(self, error: ControlPlaneError) -> None:
        """The store is away: said once; the stage counts each attempt."""
        if not self.away:
            log.warning("snapshot.store_away", reason=error.message)
        self.away = True

    async def append(self, wanted: Snapshot, expected_revision: int) -> int:
        """Store a snapshot and put it in force; its revision."""
        with self._stages.measure(Stage.APPEND):
            try:
                stored = await self._parts.snapshots.append(wanted, expected_revision)
            except Conflict:
                found = await self._parts.snapshots.latest() if self.away else None
                if found is None or found.version != wanted.version:
                    raise
                # An earlier try was committed after its deadline: it is what was wanted.
                stored = found
        self._in_force(stored)
        return stored.revision

    async def _put(self, base: Snapshot, *, stored: bool) -> int:
        parts = self._parts
        standing, fleet = parts.standing, parts.fleets.current.fleet
        changes, now_s = frozenset(one.change for one in standing.intents), self._now()
        # Thousands of services take longer than the loop may be held up.
        wanted = await asyncio.to_thread(standing.over, base, fleet, now_s)
        current = parts.publication.current
        floor = parts.publication.floor
        if current is None or current.version != wanted.version or current.revision <= floor:
            revision = 0 if current is None else current.revision
            if stored:
                await self.append(replace(wanted, revision=max(wanted.revision, floor)), revision)
            else:
                self._in_force(replace(wanted, revision=max(revision, floor) + 1))
                self._unsaved = True
        current = parts.publication.current
        if current is None:
            return 0
        if standing.told is not None:
            standing.told(
                InForce(snapshot=current, base=base.content, changes=changes, now_s=now_s)
            )
        return current.revision

    async def _save(self) -> None:
        """Store what was published while the store was away."""
        current = self._parts.publication.current
        if not self._unsaved or current is None:
            return
        stored = await self._parts.snapshots.latest()
        await self.append(current, 0 if stored is None else stored.revision)
        self._unsaved = False

    def _in_force(self, snapshot: Snapshot) -> None:
        self._parts.publication.publish(snapshot)
        log.info("snapshot.published", revision=snapshot.revision, version=snapshot.version)
