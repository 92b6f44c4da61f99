"""A decision as the engine makes it, from a model in the small world of two data centres."""

import numpy as np

from controlplane.domain.decisions import Decision, Trigger
from controlplane.domain.features import FEATURE_NAMES
from controlplane.domain.guardrails.envelope import judge
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.guardrails.state import GuardState
from controlplane.domain.services import StrategyName
from controlplane.domain.strategies.registry import propose
from controlplane.domain.strategies.situation import LearnedModel
from tests.domain.two_centers import Load, situation

RATIO = FEATURE_NAMES.index("primary.scheduling_ratio")
EVERYWHERE = {"feature_low": (-np.inf,) * 14, "feature_high": (np.inf,) * 14}


def decided(model: LearnedModel, strategy: StrategyName = StrategyName.HYBRID) -> Decision:
    facts = situation(strategy, load=Load(total_rps=60.0), model=model)
    proposal = propose(facts)
    verdict = judge(proposal, facts, GuardState(), EnvelopeLimits())
    newest = (facts.window.latest(center.name) for center in facts.centers)
    return Decision(
        id="tickets@1",
        time_s=facts.now_s,
        service="tickets",
        trigger=Trigger.TIMER,
        strategy=proposal.strategy,
        centers=tuple(center.name for center in facts.centers),
        applied=facts.applied,
        proposed=proposal.shares,
        decided=verdict.shares,
        outcome=verdict.outcome,
        curve=proposal.curve,
        spreads=proposal.spreads,
        notes=(*proposal.notes, *verdict.notes),
        samples=tuple(sample for sample in newest if sample is not None),
        state=verdict.state,
        model="m1",
        support=(model.ratio_low, model.ratio_high),
    )
