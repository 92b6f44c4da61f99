"""A model's trial in the shadow: it proposes beside the one that decides, and is judged.

Nothing of what it says goes out. Its forecasts are for the shares that the live decision put in
force, so that both are judged by the same cycles. Kept with each decision.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from controlplane.domain.guardrails.ledger import Ledger, foretold, mean_error, settled
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.guardrails.skill import read
from controlplane.domain.strategies.situation import (
    LearnedModel,
    Proposal,
    Shares,
    Situation,
)

# A challenger's error may be this much larger than the champion's over the same cycles: two
# sound models differ by chance, and the newer one knows the newer rows.
AS_GOOD = 1.25


class Standing(StrEnum):
    """How a trial stands."""

    RUNNING = "running"
    PASSED = "passed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One model in the shadow.

    Attributes:
        model: its digest.
        strategy: how it was asked, or the rule that it fell back to.
        proposed: what it would have proposed in this cycle.
    """

    model: str = ""
    strategy: str = ""
    proposed: Shares = ()
    ledger: Ledger = field(default_factory=Ledger)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """A trial's standing, and why in words."""

    standing: Standing
    words: str


def continued(
    trial: Trial, situation: Situation, proposal: Proposal, in_force: Shares, cycles: int
) -> Trial:
    """The trial after one more cycle.

    Args:
        situation: with the model on trial in place of the champion.
        proposal: the answer of the model on trial.
        in_force: shares that the live decision puts in force.
        cycles: forecasts by which a model is judged.
    """
    ledger = settled(trial.ledger, situation, cycles)
    return Trial(
        model=ledger.model,
        strategy=proposal.strategy,
        proposed=proposal.shares,
        ledger=foretold(ledger, situation, proposal, in_force),
    )


def assessed(
    trial: Trial, model: LearnedModel, champion: Ledger, limits: EnvelopeLimits
) -> Assessment:
    """How a trial stands: judged after `skill_cycles`, by persistence and by the champion.

    It passes when the skill guard would leave it in service, and its error is not larger than
    the champion's by more than chance explains.

    Args:
        champion: ledger of the live model; without as many pairs it is no measure.
    """
    skill = read(trial.ledger, model, limits)
    if skill.cycles < limits.skill_cycles:
        words = f"{skill.cycles} of {limits.skill_cycles} cycles"
        return Assessment(standing=Standing.RUNNING, words=words)
    if skill.lost:
        return Assessment(standing=Standing.FAILED, words=skill.words)
    words = f"mean error {skill.error:.1%} over {skill.cycles} cycles"
    if len(champion.pairs) < limits.skill_cycles:
        words = f"{words}; persistence has {skill.persistence_error:.1%}"
        return Assessment(standing=Standing.PASSED, words=words)
    live = mean_error(champion.pairs)
    words = f"{words}; the champion has {live:.1%}"
    passed = skill.error <= AS_GOOD * live
    return Assessment(standing=Standing.PASSED if passed else Standing.FAILED, words=words)
