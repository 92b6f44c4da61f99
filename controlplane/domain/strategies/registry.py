"""The strategies by name. Called by the engine once per service and cycle."""

from collections.abc import Callable, Mapping

from controlplane.domain.services import StrategyName
from controlplane.domain.strategies import fallback, greybox, networks, regional, rules
from controlplane.domain.strategies.situation import Note, Proposal, Situation

Strategy = Callable[[Situation], Proposal]

STRATEGIES: Mapping[StrategyName, Strategy] = {
    StrategyName.STATIC: rules.static,
    StrategyName.CAPACITY: rules.capacity,
    StrategyName.CPU_EQUALIZER: rules.cpu_equalizer,
    StrategyName.THRESHOLD: rules.threshold,
    StrategyName.OBSERVED_LAWS: fallback.observed_laws,
    StrategyName.PAPER_MLP: networks.paper_mlp,
    StrategyName.PROJECTED_MLP: networks.projected_mlp,
    StrategyName.GREYBOX: greybox.greybox,
    StrategyName.HYBRID: greybox.hybrid,
    StrategyName.REGIONAL: regional.regional,
}

# Those that ask a trained model; without one they fall back along the rules.
LEARNED = frozenset(
    {
        StrategyName.PAPER_MLP,
        StrategyName.PROJECTED_MLP,
        StrategyName.GREYBOX,
        StrategyName.HYBRID,
    }
)


def propose(situation: Situation) -> Proposal:
    """Ask the service's strategy.

    Returns:
        A proposal whose `strategy` names the rule that really answered: a learned one that
        cannot answer falls back and leaves a note. Never raises on missing metrics.
    """
    name = situation.service.strategy
    if not any(share > 0 for share in situation.applied):
        note = Note(
            code="nothing_in_force", message="no data centre of the service has an endpoint"
        )
        return rules.hold(situation, name, note)
    if name in LEARNED and situation.demoted_model:
        note = Note(
            code="skill_demoted",
            message=f"model {situation.demoted_model[:12]} is demoted until it is promoted again",
        )
        return fallback.fall_back(situation, note)
    return STRATEGIES[name](situation)
