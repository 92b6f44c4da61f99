"""The data's way: facts, decisions, snapshot, compare-and-set, publication.

The one task that writes snapshots. A poke (timer, alarm, operator) starts a tick after a short
quiet time with a maximum wait; each tick rebuilds the whole desired state from facts, and
publishes only when its version differs. While the store is away nothing new is published and
the last snapshot stays in force everywhere.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field

import structlog

from controlplane.domain.decisions import Decision, Trigger
from controlplane.domain.errors import Conflict, Retryable
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.guardrails.state import Outcome
from controlplane.domain.snapshot import Snapshot
from controlplane.engine.cadence import Cadence
from controlplane.engine.deciding.cycle import Facts, stamped
from controlplane.engine.deciding.shadow import Ladder, states_of, trials_of
from controlplane.engine.fleet.fleets import Fleets
from controlplane.engine.intents.standing import Standing
from controlplane.engine.learning.models import Models
from controlplane.engine.pokes import Poke, Pokes
from controlplane.engine.publishing.publication import Publication
from controlplane.engine.publishing.shares import published_regions, published_shares
from controlplane.engine.reconciling.publisher import Publisher, PublisherParts
from controlplane.engine.reconciling.punctuality import Punctuality
from controlplane.engine.reconciling.records import Records
from controlplane.engine.reconciling.telling import report, tell
from controlplane.engine.reconciling.tick import Computed, computed, triggers_of
from controlplane.engine.samples.intake import Intake
from controlplane.engine.stages import Instruments, Stage
from controlplane.ports.stores import DecisionStore, SnapshotStore

log = structlog.get_logger(__name__)

STORE_RETRY_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopParts:
    """What the loop reads from and writes to."""

    fleets: Fleets
    intake: Intake
    models: Models
    snapshots: SnapshotStore
    decisions: DecisionStore
    records: Records
    publication: Publication
    pokes: Pokes
    standing: Standing = field(default_factory=Standing)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    """What a tick has computed and not published yet, and the pokes that asked for it."""

    pokes: tuple[Poke, ...]
    result: Computed


class ReconcileLoop:
    """Owns the decisions in force and the order in which snapshots are made.

    `outcomes` counts decisions since the start, for /metrics.
    """

    def __init__(
        self,
        parts: LoopParts,
        cadence: Cadence,
        limits: EnvelopeLimits,
        instruments: Instruments,
    ) -> None:
        self._parts = parts
        self._cadence = cadence
        self._limits = limits
        self._now = instruments.now
        self._stages = instruments.stages
        self._findings = instruments.findings
        self._decisions: dict[str, Decision] = {}
        self._publisher = Publisher(
            PublisherParts(
                fleets=parts.fleets,
                snapshots=parts.snapshots,
                publication=parts.publication,
                standing=parts.standing,
            ),
            instruments,
        )
        self._unfinished: _Attempt | None = None
        self.outcomes: Counter[Outcome] = Counter()
        self.punctuality = Punctuality(cadence.cycle_s)
        self._ladder = Ladder(parts.models, limits, instruments)

    @property
    def decisions(self) -> Mapping[str, Decision]:
        """The newest decision of each service."""
        return self._decisions

    @property
    def generation(self) -> int:
        """Newest generation of the fleet that a decision in force was made from; 0 is none."""
        inputs = (decision.inputs for decision in self._decisions.values())
        return max((each.generation for each in inputs if each is not None), default=0)

    async def restore(self) -> None:
        """Take up where the last process ended: decisions, then its snapshot, unchanged."""
        newest = await self._parts.decisions.newest()
        snapshot = await self._parts.snapshots.latest()
        # Only both: decisions of another writer over our own older snapshot would hold it there.
        self._decisions = dict(newest)
        if snapshot is not None:
            self._parts.publication.publish(snapshot)
            log.info("snapshot.restored", revision=snapshot.revision, version=snapshot.version)

    async def run(self) -> None:
        """Tick whenever poked, until cancelled."""
        while True:
            await self.tick(await self._parts.pokes.take())

    async def tick(self, pokes: list[Poke]) -> None:
        """One pass over the data's way."""
        if self._parts.pokes.behind:
            self._parts.pokes.behind = False
            await self._follow()
        if self._parts.pokes.urgent:
            await self._hurry()
        if self._parts.fleets.current.generation == 0 or self._parts.fleets.held:
            return
        if pokes:
            earlier = () if self._unfinished is None else self._unfinished.pokes
            self._unfinished = await self._attempt(tuple(dict.fromkeys((*earlier, *pokes))))
        # Without a poke it is the store that was waited for: nothing is computed again.
        if self._unfinished is not None:
            await self._finish(self._unfinished)

    async def _attempt(self, pokes: tuple[Poke, ...]) -> _Attempt:
        """Decide and build what the facts ask for now."""
        standing = self._parts.standing
        below = standing.below(self._parts.publication.current)
        facts = self._facts(below)
        held = standing.held(facts.fleet)
        triggers = {k: v for k, v in triggers_of(facts, pokes).items() if k not in held}
        with self._stages.measure(Stage.DECIDE):
            result = await self._beside(asyncio.to_thread(computed, facts, triggers, below))
        report(self._findings, result, facts.windows.keys() - triggers.keys())
        return _Attempt(pokes=pokes, result=result)

    async def _finish(self, attempt: _Attempt) -> None:
        """Publish, or keep the attempt for when the store is back."""
        try:
            revision = await self._publisher.publish(attempt.result.desired.snapshot)
        except Retryable as error:
            self._publisher.hold(error)
            self._parts.pokes.again((), STORE_RETRY_S)
        except Conflict as error:
            log.warning("snapshot.second_writer", reason=error.message)
            self._unfinished = None
            await self._catch_up()
            self._parts.pokes.again(attempt.pokes, STORE_RETRY_S)
        else:
            self._unfinished = None
            self._publisher.away = False
            await self._settle(stamped(attempt.result.made, revision))
            self.punctuality.settled(attempt.pokes, self._now())

    async def _beside(self, work: Awaitable[Computed]) -> Computed:
        """The result of a long computation; what is urgent does not wait for it."""
        computing = asyncio.ensure_future(work)
        try:
            while not computing.done():
                hurried = asyncio.ensure_future(self._parts.pokes.hurried())
                await asyncio.wait({computing, hurried}, return_when=asyncio.FIRST_COMPLETED)
                hurried.cancel()
                if self._parts.pokes.urgent:
                    await self._hurry()
            return computing.result()
        finally:
            computing.cancel()

    async def _hurry(self) -> None:
        """Put intents over what is published, before anything else."""
        self._parts.pokes.heard()
        try:
            saved = await self._publisher.republish()
        except Conflict as error:
            log.warning("snapshot.second_writer", reason=error.message)
            await self._catch_up()
            self._parts.pokes.poke(Trigger.OPERATOR)
        else:
            if not saved or self._publisher.base is None:
                self._parts.pokes.again([Poke(trigger=Trigger.OPERATOR)], STORE_RETRY_S)

    async def _follow(self) -> None:
        """Take over what another process has stored; what is published here already is no news."""
        current = self._parts.publication.current
        try:
            newest = await self._parts.snapshots.newest_revision()
        except Retryable as error:
            self._publisher.hold(error)
            return
        if current is None or newest > current.revision:
            await self._catch_up()

    async def _catch_up(self) -> None:
        """Take over what another writer stored, or bring a store that went back up to date.

        Away again, the next tick finds the same.
        """
        try:
            stored = await self._parts.snapshots.latest()
            revision = 0 if stored is None else stored.revision
            current = self._parts.publication.current
            if current is None or revision > current.revision:
                # Its fleet and intents, too: ours would undo what it was told.
                await self._parts.fleets.restore()
                if self._parts.standing.refresh is not None:
                    await self._parts.standing.refresh()
                await self.restore()
                self._publisher.base = None
            else:
                # An older copy was restored under us. Consumers never go back, so the store
                # goes forward to what they have.
                await self._publisher.append(current, revision)
        except (Retryable, Conflict) as error:
            self._publisher.hold(error)

    async def _settle(self, decisions: tuple[Decision, ...]) -> None:
        """The decisions are in force: remember, count, tell and record them."""
        self._decisions.update({decision.service: decision for decision in decisions})
        self.outcomes.update(decision.outcome for decision in decisions)
        # A thousand lines take longer than the loop may be held up.
        await asyncio.to_thread(tell, decisions)
        await self._parts.records.add(decisions)
        names = (service.name for service in self._parts.fleets.current.fleet.services)
        await self._ladder.climb(
            {name: self._decisions[name] for name in names if name in self._decisions}
        )

    def _facts(self, below: Snapshot | None) -> Facts:
        parts = self._parts
        fleet = parts.fleets.current.fleet
        names = [service.name for service in fleet.services]
        now_s = self._now()
        return Facts(
            fleet=fleet,
            windows={name: parts.intake.window(name) for name in names},
            models=parts.models.champions,
            shares=published_shares(below),
            states=states_of(self._decisions, parts.models.since_s, fleet, now_s),
            cadence=self._cadence,
            limits=self._limits,
            now_s=now_s,
            generation=parts.fleets.current.generation,
            suspicions={name: parts.intake.suspicions.standing(name) for name in names},
            shadows=parts.models.shadows,
            trials=trials_of(self._decisions, parts.models.enrolled_s, fleet),
            regions=published_regions(below),
        )
