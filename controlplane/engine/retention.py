"""Retention: drops what is older than its time, once a day; raw samples become minute means.

The calendar asks for it (`errands`). Dropping goes in small
transactions, so a snapshot that wants to be stored never waits long. What a store that is away
could not drop is dropped at the next poke.
"""

from collections.abc import Awaitable
from dataclasses import dataclass

import structlog

from controlplane.domain.errors import Retryable
from controlplane.engine.intents.standing import rollbacks
from controlplane.engine.stages import Instruments, Stage
from controlplane.ports.stores import Expiring, IntentStore, MinuteStore, SnapshotStore

log = structlog.get_logger(__name__)

DAY_S = 86_400.0
# By count, not by time: the ways back must stay when nothing changes for months.
SNAPSHOTS_KEPT = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionTimes:
    """How long raw samples, minute means and decisions stay, in seconds (> 0)."""

    samples_s: float
    minutes_s: float
    decisions_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionStores:
    """What grows."""

    minutes: MinuteStore
    decisions: Expiring
    jobs: Expiring
    snapshots: SnapshotStore
    intents: IntentStore
    deliveries: Expiring
    journal: Expiring


class Retention:
    """Drops old rows; `sweep` is an errand."""

    def __init__(
        self, stores: RetentionStores, times: RetentionTimes, instruments: Instruments
    ) -> None:
        self._stores = stores
        self._times = times
        self._now = instruments.now
        self._stages = instruments.stages

    async def sweep(self) -> None:
        """Drop what is due now, store by store; one that is away keeps none of the others."""
        now_s = self._now()
        stores, times = self._stores, self._times
        await self._drop("samples", stores.minutes.condense(now_s - times.samples_s))
        await self._drop("minutes", stores.minutes.prune(now_s - times.minutes_s))
        await self._drop("decisions", stores.decisions.prune(now_s - times.decisions_s))
        # As long as decisions: they say where a model came from.
        await self._drop("jobs", stores.jobs.prune(now_s - times.decisions_s))
        await self._drop("deliveries", stores.deliveries.prune(now_s - times.decisions_s))
        await self._drop("journal", stores.journal.prune(now_s - times.decisions_s))
        await self._drop("snapshots", self._keep_snapshots())

    async def _keep_snapshots(self) -> int:
        """Drop old ones, but none that a standing rollback publishes."""
        stores = self._stores
        needed = rollbacks(await stores.intents.standing())
        newest = await stores.snapshots.newest_revision()
        least = newest - min(needed, default=newest) + 1
        return await stores.snapshots.keep(max(SNAPSHOTS_KEPT, least))

    async def _drop(self, kind: str, dropping: Awaitable[int]) -> None:
        try:
            with self._stages.measure(Stage.PRUNE):
                dropped = await dropping
        except Retryable as error:
            log.warning("retention.store_away", kind=kind, reason=error.message)
        else:
            if dropped:
                log.info("retention.dropped", kind=kind, count=dropped)
