"""What decides without a trained model: the rule `observed_laws`, and the ladder below it.

A learned strategy that has no model, or whose model was demoted, falls back to `observed_laws`,
from there to `cpu_equalizer` (no response times) and to the static ratio (no CPU). Measured in
worlds with known truth, `observed_laws` is the best of the three where CPU is the bottleneck; where
it is not, the equaliser is ruinous and this rule some per cent behind holding still (ADR 0019).
"""

import numpy as np

from controlplane.domain.features import CENTERS
from controlplane.domain.services import StrategyName
from controlplane.domain.strategies import rules
from controlplane.domain.strategies.candidates import choose, objective
from controlplane.domain.strategies.center_use import declared_uses
from controlplane.domain.strategies.observed import observed_laws as laws_of
from controlplane.domain.strategies.situation import Note, Proposal, Situation
from controlplane.domain.strategies.spread import spread, without_model

UNKNOWN = Note(
    code="laws_unknown",
    message="a data centre shows no CPU above idle, or nobody a response time under load",
)


def observed_laws(situation: Situation) -> Proposal:
    """The ratio with the smallest response time by queue laws of what is measured just now."""
    if len(situation.centers) > len(CENTERS):
        return spread(without_model(situation))
    if note := rules.missing_metrics(situation):
        return rules.hold(situation, StrategyName.OBSERVED_LAWS, note)
    uses, laws = declared_uses(situation), laws_of(situation)
    if len(laws) == len(CENTERS) and all(use.by_cpu for use in uses):
        objective_ms = objective(situation, laws, uses)
        if np.isfinite(objective_ms).all():
            return choose(situation, StrategyName.OBSERVED_LAWS, objective_ms, learned=False)
    return rules.with_notes(rules.cpu_equalizer(situation), UNKNOWN)


def fall_back(situation: Situation, note: Note) -> Proposal:
    """What a learned strategy proposes when it cannot: `observed_laws`, and what that falls to."""
    return rules.with_notes(observed_laws(situation), note)
