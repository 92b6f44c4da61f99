"""The shadow: decides each service with the model on trial beside it, and takes the steps due.

`decided` is called by the loop in a thread, once per service and cycle; a model that raises costs
its own service that cycle's answer and nobody else anything. `Ladder.climb` follows when the
decisions are in force: it writes demotions down, promotes a shadow that has proved itself and
refuses one that has not. A step that the store cannot take is tried again after the next cycle.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import structlog

from controlplane.domain.decisions import Decision, Trigger
from controlplane.domain.errors import ControlPlaneError, Invalid
from controlplane.domain.features import CENTERS
from controlplane.domain.findings import Observation, Severity, Source
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.guardrails.state import (
    Demotion,
    GuardState,
    come_true,
    rearranged,
    renewed,
)
from controlplane.domain.guardrails.trial import Assessment, Standing, Trial, assessed, continued
from controlplane.domain.ladder import standing_demotion
from controlplane.domain.promotions import Promoting
from controlplane.domain.services import Service, StrategyName
from controlplane.domain.strategies.registry import LEARNED, propose
from controlplane.domain.strategies.rules import failed
from controlplane.domain.strategies.situation import LearnedModel, Note, Proposal, Situation
from controlplane.domain.topology import Fleet
from controlplane.engine.deciding.cycle import Facts, decide, situate
from controlplane.engine.learning.models import Models
from controlplane.engine.learning.promotion_log import OURSELVES
from controlplane.engine.stages import Instruments

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """One service's decision, and what went wrong on the way; without one its shares hold."""

    decision: Decision | None
    error: Exception | None = None


def decided(facts: Facts, service: Service, trigger: Trigger) -> Decided:
    """Decide one service, and let the model on trial answer too."""
    error: Exception | None = None
    try:
        decision: Decision | None = decide(facts, service, trigger)
    except Exception as raised:  # noqa: BLE001 -- any strategy; the loop logs the traceback
        error = raised
        decision = _without_answer(facts, service, trigger, raised)
    if decision is not None and (model := facts.shadows.get(service.name)) is not None:
        decision = replace(decision, trial=_on_trial(facts, service, model, decision))
    return Decided(decision=decision, error=error)


def answered(situation: Situation) -> Proposal:
    """What the strategy says; a model that raises has no answer."""
    try:
        return propose(situation)
    except Exception as error:  # noqa: BLE001 -- nothing is decided here; it counts as a miss
        return _raised(situation, error)


def states_of(
    decisions: Mapping[str, Decision], since_s: Mapping[str, float], fleet: Fleet, now_s: float
) -> dict[str, GuardState]:
    """What the guards remember; of a model that was put in service since, nothing.

    A model knows its two data centres by their place. When others are there, as after an exchange
    of roles, it is demoted until it is promoted again, or one that was trained on the new ones.
    """
    states: dict[str, GuardState] = {}
    centers = _centers(fleet)
    for name, decision in decisions.items():
        promoted = since_s.get(name, 0.0) >= decision.time_s
        state = renewed(decision.state) if promoted else decision.state
        now = centers.get(name, decision.centers)
        if now != decision.centers:
            demotion = state.demotion if promoted else _displaced(decision, now, now_s)
            state = rearranged(state, demotion)
        states[name] = come_true(state, now_s)
    return states


def trials_of(
    decisions: Mapping[str, Decision], enrolled_s: Mapping[str, float], fleet: Fleet
) -> dict[str, Trial]:
    """The trials that go on; one that was enrolled since, or of other centres, begins anew."""
    centers = _centers(fleet)
    return {
        name: decision.trial
        for name, decision in decisions.items()
        if decision.trial is not None
        and enrolled_s.get(name, 0.0) < decision.time_s
        and centers.get(name, decision.centers) == decision.centers
    }


def _centers(fleet: Fleet) -> dict[str, tuple[str, ...]]:
    return {
        service.name: tuple(cluster.datacenter for cluster in service.centers)
        for service in fleet.services
    }


def _displaced(decision: Decision, now: tuple[str, ...], now_s: float) -> Demotion | None:
    """Laws with names are found by them, so more than two centres have nothing to take back."""
    if not decision.model or len(now) != len(CENTERS):
        return decision.state.demotion
    before = "/".join(decision.centers)
    reason = f"its data centres were {before}, in this order; they are {'/'.join(now)} now"
    return Demotion(model=decision.model, time_s=now_s, reason=reason)


def _without_answer(
    facts: Facts, service: Service, trigger: Trigger, error: Exception
) -> Decision | None:
    """What holds when the model raised, which is a miss; None when it was not the model."""
    if service.strategy not in LEARNED or service.name not in facts.models:
        return None
    try:
        return decide(facts, service, trigger, lambda situation: _raised(situation, error))
    except Exception:  # noqa: BLE001 -- the first error is the one that is told
        return None


def _on_trial(facts: Facts, service: Service, model: LearnedModel, live: Decision) -> Trial:
    situation = situate(facts, service)
    asked = service.strategy if service.strategy in LEARNED else StrategyName.HYBRID
    situation = replace(
        situation,
        service=replace(situation.service, strategy=asked),
        model=model,
        demoted_model="",
    )
    proposal = answered(situation)
    before = facts.trials.get(service.name, Trial())
    return continued(before, situation, proposal, live.decided, facts.limits.skill_cycles)


def _raised(situation: Situation, error: Exception) -> Proposal:
    note = Note(code="model_failed", message=f"{type(error).__name__}: {error}"[:500])
    return failed(situation, situation.service.strategy, note)


class Ladder:
    """Takes the steps that the decisions ask for, and reports what stands on the way."""

    def __init__(self, models: Models, limits: EnvelopeLimits, instruments: Instruments) -> None:
        self._models = models
        self._limits = limits
        self._findings = instruments.findings
        self._written: set[tuple[str, float]] = set()

    async def climb(self, decisions: Mapping[str, Decision]) -> None:
        """Steps and findings after a cycle.

        Args:
            decisions: service -> its newest decision, of every declared service.
        """
        observations: list[Observation] = []
        for service, decision in decisions.items():
            try:
                observations += await self._demotion(service, decision)
                observations += await self._trial(service, decision)
            except ControlPlaneError as error:
                log.warning("ladder.step_not_taken", service=service, reason=error.message)
        refused = (
            _refused(name, step.reason)
            for name, step in self._models.refused.items()
            if name in decisions
        )
        self._findings.report(Source.MODELS, [*observations, *refused], scope="ladder")

    async def _demotion(self, service: str, decision: Decision) -> Iterable[Observation]:
        since_s = self._models.since_s.get(service, 0.0)
        demotion = standing_demotion(decision, self._models.champions.get(service), since_s)
        if demotion is None:
            return ()
        if (service, demotion.time_s) not in self._written:
            await self._models.demoted(service, demotion.model, demotion.reason)
            self._written.add((service, demotion.time_s))
        return (_demoted(service, demotion.model, demotion.reason),)

    async def _trial(self, service: str, decision: Decision) -> Iterable[Observation]:
        model, trial = self._models.shadows.get(service), decision.trial
        if model is None or trial is None or trial.model != model.digest:
            return ()
        found = assessed(trial, model, decision.state.ledger, self._limits)
        if found.standing is Standing.FAILED:
            words = f"it did not prove itself in the shadow: {found.words}"
            await self._models.refuse(service, model.digest, words)
        if found.standing is not Standing.PASSED:
            return ()
        if self._models.promoting is Promoting.BY_HAND:
            return (_ready(service, model.digest, found.words),)
        await self._promote(service, model.digest, found)
        return ()

    async def _promote(self, service: str, digest: str, found: Assessment) -> None:
        try:
            await self._models.promote(service, digest, OURSELVES, found.words)
        except Invalid as error:
            await self._models.refuse(service, digest, error.message)


def _demoted(service: str, digest: str, words: str) -> Observation:
    return Observation(
        code="model_demoted",
        subject=f"service/{service}",
        message=f"model {digest[:12]} is demoted: {words}",
        held="the strategy runs as observed_laws",
        force=f"signalbox models promote {service} {digest[:12]}, or promote a better one",
    )


def _refused(service: str, words: str) -> Observation:
    return Observation(
        code="challenger_refused",
        subject=f"service/{service}",
        message=f"the newest model is refused: {words}",
        held="it stays a challenger and decides nothing",
        force="mend what it says and train again, or promote it by hand",
    )


def _ready(service: str, digest: str, words: str) -> Observation:
    return Observation(
        code="challenger_ready",
        subject=f"service/{service}",
        message=f"model {digest[:12]} has proved itself in the shadow: {words}",
        held="it is promoted by hand only (SIGNALBOX_PROMOTION_MODE)",
        force=f"signalbox models promote {service} {digest[:12]}",
        severity=Severity.INFO,
    )
