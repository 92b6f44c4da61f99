"""Asks once a cycle, for each service, whether its model should be trained again.

The calendar asks for it (`errands`); `domain.retraining` decides, `jobs` trains.
Level, not edge: what is due is due at every cycle until it has been tried.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import structlog

from controlplane.domain.access import AccessRole, Principal
from controlplane.domain.decisions import Decision
from controlplane.domain.errors import Conflict, Retryable
from controlplane.domain.features import CENTERS
from controlplane.domain.jobs import JobTrigger
from controlplane.domain.retraining import Cause, Coverage, RetrainingLimits, TrainingFacts, due
from controlplane.domain.services import Service, StrategyName
from controlplane.domain.strategies.registry import LEARNED
from controlplane.domain.strategies.situation import ACTIVE_ROLES
from controlplane.engine.fleet.fleets import Fleets
from controlplane.engine.learning.jobs import Jobs, Trainings
from controlplane.engine.learning.live_errors import LiveErrors
from controlplane.engine.learning.models import Models
from controlplane.engine.stages import Instruments
from controlplane.ports.stores import SampleStore

log = structlog.get_logger(__name__)

AUTHOR = Principal(token_id="", name="retraining", role=AccessRole.SCIENTIST)
# Those that need no network, which knows two centres only.
BY_LAWS = frozenset({StrategyName.GREYBOX, StrategyName.HYBRID})
TRIGGERS = {
    Cause.FIRST: JobTrigger.WEEKLY,
    Cause.WEEKLY: JobTrigger.WEEKLY,
    Cause.MISTAKEN: JobTrigger.EARLY,
    Cause.DRIFTED: JobTrigger.EARLY,
}
REASONS = {
    Cause.FIRST: "there is no model yet",
    Cause.WEEKLY: "the newest model is a week old",
    Cause.MISTAKEN: "the live error is beyond what the model's spread explains",
    Cause.DRIFTED: "the live error has drifted to one side",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrainingParts:
    """What it reads, and the queue that it fills.

    Attributes:
        decisions: the newest one of each service, with the live errors of its model.
    """

    fleets: Fleets
    jobs: Jobs
    models: Models
    samples: SampleStore
    decisions: Callable[[], Mapping[str, Decision]]


class Retraining:
    """Submits what is due; `look` is an errand."""

    def __init__(
        self, parts: RetrainingParts, limits: RetrainingLimits, instruments: Instruments
    ) -> None:
        self._parts = parts
        self._limits = limits
        self._now = instruments.now
        self._errors = LiveErrors()

    async def look(self) -> None:
        """Submit a training for each service that needs one; a store that is away is for later."""
        self._parts.jobs.look()
        services = self._parts.fleets.current.fleet.services
        self._errors.keep({service.name for service in services})
        for service in services:
            if service.strategy not in LEARNED or not self._trainable(service):
                continue
            try:
                await self._look_at(service.name)
            except (Retryable, Conflict) as error:
                log.info("retraining.postponed", service=service.name, reason=error.message)

    def _trainable(self, service: Service) -> bool:
        """Two centres, or more that all bear traffic: the law of an idle reserve has no rows."""
        count = len(service.centers)
        if count == len(CENTERS):
            return True
        roles = {one.name: one.role for one in self._parts.fleets.current.fleet.datacenters}
        active = all(roles.get(one.datacenter) in ACTIVE_ROLES for one in service.centers)
        return count > len(CENTERS) and active and service.strategy in BY_LAWS

    async def _look_at(self, service: str) -> None:
        facts = self._facts(service)
        if facts.trained_s == -math.inf and not facts.busy:
            facts = replace(facts, coverage=await self._coverage(facts, service))
        cause = due(facts, self._limits)
        if cause is not None:
            await self._parts.jobs.submit(service, TRIGGERS[cause], AUTHOR, REASONS[cause])

    async def _coverage(self, facts: TrainingFacts, service: str) -> Coverage:
        """Counting rows takes the store a while, so not while the time has not come anyway."""
        if facts.now_s - facts.tried_s < self._limits.cooldown_s:
            return Coverage()
        return await self._parts.samples.coverage(service)

    def _facts(self, service: str) -> TrainingFacts:
        parts = self._parts
        known = parts.jobs.trainings.get(service, Trainings())
        model = parts.models.champions.get(service)
        return TrainingFacts(
            now_s=self._now(),
            busy=self._busy(service),
            tried_s=-math.inf if known.tried_s is None else known.tried_s,
            trained_s=self._trained_s(service, known),
            errors=() if model is None else self._errors_of(service, model.digest),
            spread=0.0 if model is None else model.residual_spread,
        )

    def _trained_s(self, service: str, known: Trainings) -> float:
        """A model that came by hand has no job; it is as new as its place."""
        if known.trained_s is not None:
            return known.trained_s
        since_s = self._parts.models.since_s.get(service, 0.0)
        return since_s if since_s > 0 else -math.inf

    def _busy(self, service: str) -> bool:
        """Whether a training runs, or what an earlier one made is still on trial."""
        jobs = self._parts.jobs.open.values()
        return service in self._parts.models.shadows or any(j.service == service for j in jobs)

    def _errors_of(self, service: str, digest: str) -> tuple[float, ...]:
        """Live errors of the model in service; one that was demoted is wrong by definition."""
        decision = self._parts.decisions().get(service)
        if decision is None:
            return ()
        if decision.state.demoted_model == digest:
            return (math.inf,) * self._limits.error_cycles
        since_s = self._parts.models.since_s.get(service, 0.0)
        return self._errors.after(service, digest, since_s, decision.state.ledger)
