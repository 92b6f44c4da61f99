"""The ladder of a service on the wire: its rung, and how the models on it forecast live."""

from collections import Counter
from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from controlplane.api.dependencies import ApiServices
from controlplane.api.wire.values import Wire
from controlplane.domain.decisions import Decision
from controlplane.domain.guardrails.ledger import Ledger
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.guardrails.skill import read
from controlplane.domain.ladder import Climber, Rung, rung, standing_demotion
from controlplane.domain.promotions import PromotionEvent
from controlplane.domain.services import Service
from controlplane.domain.strategies.situation import LearnedModel


class SkillOut(Wire):
    """How a model's forecasts of the last cycles compare; mean absolute relative errors."""

    model: str
    cycles: int
    needed: int
    error: float
    persistence_error: float
    allowed: float


class LadderOut(Wire):
    """Where a service stands between a declared ratio and a learned one.

    `demoted` says why the champion may not decide, "" while it may.
    """

    rung: Rung
    champion: SkillOut | None
    shadow: SkillOut | None
    demoted: str


def climber(services: ApiServices, service: Service) -> Climber:
    """What the rung of a service depends on, now."""
    models = services.models
    return Climber(
        service=service,
        champion=models.champions.get(service.name),
        shadow=models.shadows.get(service.name),
        since_s=models.since_s.get(service.name, 0.0),
        decision=services.loop.decisions.get(service.name),
    )


def ladder_of(services: ApiServices, service: Service) -> LadderOut:
    """The ladder of one service."""
    of = climber(services, service)
    demotion = standing_demotion(of.decision, of.champion, of.since_s)
    live = None if of.decision is None else of.decision.state.ledger
    trial = None if of.decision is None else of.decision.trial
    return LadderOut(
        rung=rung(of),
        champion=_skill(of.champion, live, of.decision),
        shadow=_skill(of.shadow, None if trial is None else trial.ledger, of.decision),
        demoted="" if demotion is None else demotion.reason,
    )


def _skill(
    model: LearnedModel | None, ledger: Ledger | None, decision: Decision | None
) -> SkillOut | None:
    if model is None:
        return None
    inputs = None if decision is None else decision.inputs
    limits = EnvelopeLimits() if inputs is None else inputs.limits
    own = ledger if ledger is not None and ledger.model == model.digest else Ledger()
    skill = read(own, model, limits)
    return SkillOut(
        model=model.digest,
        cycles=skill.cycles,
        needed=limits.skill_cycles,
        error=skill.error,
        persistence_error=skill.persistence_error,
        allowed=skill.allowed,
    )


def ladder_families(services: ApiServices) -> Iterator[Metric]:
    """Services by rung, and steps of the promotion log since the start."""
    fleet = services.fleets.current.fleet
    rungs = Counter(rung(climber(services, service)) for service in fleet.services)
    standing = GaugeMetricFamily(
        "signalbox_service_rungs", "Services by how far they are on the ladder.", labels=("rung",)
    )
    for each in Rung:
        standing.add_metric((each.value,), rungs[each])
    steps = CounterMetricFamily(
        "signalbox_model_steps", "Steps of models: enrolled, promoted ...", labels=("event",)
    )
    for event in PromotionEvent:
        steps.add_metric((event.value,), services.models.steps[event])
    yield from (standing, steps)
