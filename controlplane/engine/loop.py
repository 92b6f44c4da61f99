"""The data's way: facts, decisions, snapshot, compare-and-set, publication.

The one task that writes snapshots. A poke (timer, alarm, operator) starts a tick after a short
quiet time with a maximum wait; each tick rebuilds the whole desired state from facts, and
publishes only when its version differs. While the store is away nothing new is published and
the last snapshot stays in force everywhere.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from controlplane.domain.decisions import Decision, Trigger
from controlplane.domain.errors import Conflict, ControlPlaneError, Retryable
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.guardrails.state import Outcome
from controlplane.domain.snapshot import Snapshot
from controlplane.engine.cadence import Cadence
from controlplane.engine.cycle import Facts, decide, published_shares, stamped, wanted_snapshot
from controlplane.engine.fleets import Fleets
from controlplane.engine.intake import Intake
from controlplane.engine.models import Models
from controlplane.engine.pokes import Poke, Pokes
from controlplane.engine.publication import Publication
from controlplane.engine.stages import Instruments, Stage
from controlplane.ports import DecisionStore, SnapshotStore

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
    publication: Publication
    pokes: Pokes


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
        self._decisions: dict[str, Decision] = {}
        self.outcomes: Counter[Outcome] = Counter()

    @property
    def decisions(self) -> Mapping[str, Decision]:
        """The newest decision of each service."""
        return self._decisions

    async def restore(self) -> None:
        """Take up where the last process ended: decisions, then its snapshot, unchanged."""
        self._decisions = dict(await self._parts.decisions.newest())
        snapshot = await self._parts.snapshots.latest()
        if snapshot is not None:
            self._parts.publication.publish(snapshot)
            log.info("snapshot.restored", revision=snapshot.revision, version=snapshot.version)

    async def run(self) -> None:
        """Tick whenever poked, until cancelled."""
        while True:
            await self.tick(await self._parts.pokes.take())

    async def tick(self, pokes: list[Poke]) -> None:
        """One pass over the data's way."""
        if self._parts.fleets.current.generation == 0:
            return
        facts = self._facts()
        with self._stages.measure(Stage.DECIDE):
            made = await asyncio.to_thread(_decide_all, facts, _triggers(facts, pokes))
        try:
            revision = await self._publish(wanted_snapshot(facts, made))
        except Retryable as error:
            log.warning("snapshot.store_away", reason=error.message)
            self._parts.pokes.again(pokes, STORE_RETRY_S)
            return
        except Conflict as error:
            log.warning("snapshot.second_writer", reason=error.message)
            await self.restore()
            self._parts.pokes.again(pokes, STORE_RETRY_S)
            return
        decisions = stamped(made, revision)
        self._decisions.update({decision.service: decision for decision in decisions})
        self.outcomes.update(decision.outcome for decision in decisions)
        await self._record(decisions)

    def _facts(self) -> Facts:
        parts = self._parts
        fleet = parts.fleets.current.fleet
        names = [service.name for service in fleet.services]
        return Facts(
            fleet=fleet,
            windows={name: parts.intake.window(name) for name in names},
            models=parts.models.champions,
            shares=published_shares(parts.publication.current),
            states={name: decision.state for name, decision in self._decisions.items()},
            cadence=self._cadence,
            limits=self._limits,
            now_s=self._now(),
        )

    async def _publish(self, wanted: Snapshot) -> int:
        """Append and publish when the version is new; the revision in force afterwards."""
        current = self._parts.publication.current
        if current is not None and current.version == wanted.version:
            return current.revision
        with self._stages.measure(Stage.APPEND):
            stored = await self._parts.snapshots.append(
                wanted, current.revision if current is not None else 0
            )
        self._parts.publication.publish(stored)
        log.info("snapshot.published", revision=stored.revision, version=stored.version)
        return stored.revision

    async def _record(self, decisions: tuple[Decision, ...]) -> None:
        """Keep the record; the split is already out, so a store that is away costs the record."""
        for decision in decisions:
            log.info(
                "decision.made",
                service=decision.service,
                outcome=decision.outcome,
                shares=decision.decided,
                reasons=[note.code for note in decision.notes],
            )
        if not decisions:
            return
        try:
            with self._stages.measure(Stage.RECORD):
                await self._parts.decisions.record(decisions)
        except ControlPlaneError as error:
            log.warning("decision.not_recorded", reason=error.message, count=len(decisions))


def _triggers(facts: Facts, pokes: list[Poke]) -> dict[str, Trigger]:
    """Service -> why it is decided now; the alarm outranks the timer.

    An operator's poke decides nothing by itself: it rebuilds the snapshot, and the strategy of a
    service speaks at its next cycle.
    """
    names = [service.name for service in facts.fleet.services]
    triggers: dict[str, Trigger] = {}
    for wanted in (Trigger.TIMER, Trigger.ALARM):
        for poke in pokes:
            if poke.trigger is wanted:
                chosen = names if poke.services is None else poke.services.intersection(names)
                triggers.update(dict.fromkeys(chosen, wanted))
    return triggers


def _decide_all(facts: Facts, triggers: Mapping[str, Trigger]) -> list[Decision]:
    return [
        decide(facts, service, triggers[service.name])
        for service in facts.fleet.services
        if service.name in triggers
    ]
