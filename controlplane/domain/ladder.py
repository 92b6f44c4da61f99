"""The ladder of a service: how far it is on the way from a declared ratio to a learned one.

capacity -> equalizer -> laws -> shadow -> live. A service climbs as metrics and models come, and
falls as they go: without a model that may decide to the laws of what is measured, without response
times to equal CPU, without CPU to the ratio of capacities.
Shown by the API, status and console; nothing is decided by it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.decisions import Decision
from controlplane.domain.guardrails.state import Demotion
from controlplane.domain.services import Service, StrategyName
from controlplane.domain.strategies.registry import LEARNED
from controlplane.domain.strategies.situation import LearnedModel


class Rung(StrEnum):
    """From nothing known to a model that decides."""

    # The service's strategy is a rule: it climbs nothing.
    RULE = "rule"
    CAPACITY = "capacity"
    EQUALIZER = "equalizer"
    # Queue laws of the declared machines and of what is measured just now decide.
    LAWS = "laws"
    # One of those still decides, and a model proves itself beside it.
    SHADOW = "shadow"
    LIVE = "live"


# By which rule the newest decision was made.
ANSWERED: Mapping[str, Rung] = {
    StrategyName.OBSERVED_LAWS: Rung.LAWS,
    StrategyName.CPU_EQUALIZER: Rung.EQUALIZER,
}


def standing_demotion(
    decision: Decision | None, champion: LearnedModel | None, since_s: float
) -> Demotion | None:
    """The demotion of the champion, None while it may decide.

    Args:
        decision: the newest one of the service.
        since_s: when the champion was put in service; a demotion of before is over.
    """
    demotion = decision.state.demotion if decision is not None else None
    if demotion is None or champion is None or demotion.model != champion.digest:
        return None
    return demotion if demotion.time_s > since_s else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Climber:
    """What the rung of one service depends on.

    Attributes:
        champion, shadow: the model that decides, and the one on trial.
        since_s: when the champion was put in service.
        decision: the newest one.
    """

    service: Service
    champion: LearnedModel | None
    shadow: LearnedModel | None
    since_s: float
    decision: Decision | None


def rung(of: Climber) -> Rung:
    """Where a service stands."""
    if of.service.strategy not in LEARNED:
        return Rung.RULE
    demotion = standing_demotion(of.decision, of.champion, of.since_s)
    names = [cluster.datacenter for cluster in of.service.centers]
    if of.champion is not None and of.champion.knows(names) and demotion is None:
        return Rung.LIVE
    if of.shadow is not None:
        return Rung.SHADOW
    answered = "" if of.decision is None else of.decision.strategy
    return ANSWERED.get(answered, Rung.CAPACITY)
