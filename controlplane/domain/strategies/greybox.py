"""greybox and hybrid: a queue law per data centre, the load projected to each candidate.

greybox takes the candidate with the smallest `candidates.objective` by the model's laws. hybrid
multiplies it with exp(clip(m, +-0.05)), m the mean of the residual networks; how far they lie
apart is the spread of the prediction. More than two data centres go to `spread`.
"""

import numpy as np
from numpy.typing import NDArray

from controlplane.domain.features import CENTERS
from controlplane.domain.services import StrategyName
from controlplane.domain.strategies.anchoring import anchored
from controlplane.domain.strategies.candidates import GRID, NO_SPREADS, choose, objective
from controlplane.domain.strategies.center_use import fitted_uses, trusted_laws
from controlplane.domain.strategies.fallback import fall_back
from controlplane.domain.strategies.networks import projected_rows, without_share
from controlplane.domain.strategies.queue_law import CenterLaw
from controlplane.domain.strategies.rules import hold, missing_metrics, with_notes
from controlplane.domain.strategies.situation import LearnedModel, Note, Proposal, Situation
from controlplane.domain.strategies.spread import spread, unanswered

FloatArray = NDArray[np.float64]

# The network may correct the law by 5 % at most: it refines, it never overrules.
RESIDUAL_LIMIT = 0.05


def greybox(situation: Situation) -> Proposal:
    """The ratio with the smallest load-weighted response time by the fitted queue laws."""
    if len(situation.centers) > len(CENTERS):
        return spread(situation)
    objective_ms = _answerable(situation, StrategyName.GREYBOX)
    if isinstance(objective_ms, Proposal):
        return objective_ms
    return _chosen(situation, StrategyName.GREYBOX, objective_ms)


def hybrid(situation: Situation) -> Proposal:
    """greybox, corrected by the residual network where its training reaches."""
    if len(situation.centers) > len(CENTERS):
        return spread(situation)
    objective_ms = _answerable(situation, StrategyName.HYBRID)
    if isinstance(objective_ms, Proposal):
        return objective_ms
    correction = _correction(situation)
    if isinstance(correction, Note):
        return with_notes(_chosen(situation, StrategyName.GREYBOX, objective_ms), correction)
    factor, spreads = correction
    return _chosen(situation, StrategyName.HYBRID, objective_ms * factor, spreads)


def _chosen(
    situation: Situation, strategy: str, objective_ms: FloatArray, spreads: FloatArray = NO_SPREADS
) -> Proposal:
    """The best candidate, with a note on the centres whose use is by declared capacity."""
    proposal = choose(situation, strategy, objective_ms, learned=False, spreads=spreads)
    uses = fitted_uses(situation)
    assumed = [c.name for c, u in zip(situation.centers, uses, strict=True) if not u.by_cpu]
    if not assumed:
        return proposal
    message = f"no CPU above idle from {', '.join(assumed)}: use is by declared capacity"
    return with_notes(proposal, Note(code="cpu_missing", message=message))


def _answerable(situation: Situation, strategy: str) -> FloatArray | Proposal:
    """J along `GRID`, or the proposal in its place when it cannot be known."""
    laws = _laws(situation)
    if isinstance(laws, Note):
        return fall_back(situation, laws)
    if note := missing_metrics(situation):
        return hold(situation, strategy, note)
    objective_ms = _objective(situation, laws)
    if np.isfinite(objective_ms).all():
        return objective_ms
    return unanswered(situation, strategy)


def _objective(situation: Situation, laws: tuple[CenterLaw, ...]) -> FloatArray:
    """J along `GRID`: shape and direction by the anchored laws, the level by the laws themselves.

    The forecast for the shares in force stays what the model says, so that the ledger sees how
    wrong it is: with the level of what was measured no model would ever be.
    """
    uses, brought = fitted_uses(situation), anchored(situation, laws)
    plain_ms = objective(situation, laws, uses)
    if brought == laws or not np.isfinite(plain_ms).all():
        return plain_ms
    brought_ms = objective(situation, brought, uses)
    now = situation.applied[0]
    return brought_ms * (np.interp(now, GRID, plain_ms) / np.interp(now, GRID, brought_ms))


def _laws(situation: Situation) -> tuple[CenterLaw, ...] | Note:
    if len(situation.centers) < len(CENTERS):
        return Note(code="not_two_centers", message="there is one data centre: nothing to choose")
    if situation.model is None:
        return Note(code="model_missing", message="the service has no model yet")
    laws = trusted_laws(situation)
    if not laws:
        return Note(code="laws_untrusted", message="the model has no queue laws to be trusted")
    return laws


def _correction(situation: Situation) -> tuple[FloatArray, FloatArray] | Note:
    """exp(clip(m)) and the spread of the members along `GRID`, or why there is none."""
    model = situation.model
    if model is None or model.ensemble is None:
        return Note(code="residual_missing", message="the model has no residual network")
    if note := without_share(situation):
        return note
    x = projected_rows(situation)
    members = np.asarray(model.ensemble(x), dtype=np.float64)
    usable = _inside(model, x) & np.isfinite(members).all(axis=0)
    if not usable.any():
        return Note(
            code="residual_outside_range",
            message="no candidate lies in the training range of the residual network",
        )
    known = members if usable.all() else members[:, usable]
    log_ratio = known.mean(axis=0)
    spreads = _apart(known, log_ratio)
    if len(log_ratio) < len(GRID):
        # Outside the range the nearest value inside goes on: dropping to 0 there would be a step
        # in the curve, and the step itself would look like an optimum.
        log_ratio = np.interp(GRID, GRID[usable], log_ratio)
        spreads = np.interp(GRID, GRID[usable], spreads)
    limited = np.minimum(np.maximum(log_ratio, -RESIDUAL_LIMIT), RESIDUAL_LIMIT)
    return np.exp(limited), spreads


def _apart(members: FloatArray, mean: FloatArray) -> FloatArray:
    """(members, n), (n,) -> (n,) standard deviation between them; 0 of a single one."""
    if len(members) < 2:
        return np.zeros(members.shape[1])
    return np.asarray(np.std(members, axis=0, ddof=1, mean=mean[None]))


def _inside(model: LearnedModel, x: FloatArray) -> NDArray[np.bool_]:
    """Which rows lie in the training range; a missing input counts as its mean, so as inside."""
    if not model.feature_low or not model.feature_high:
        return np.zeros(len(x), dtype=np.bool_)
    outside = (x < np.asarray(model.feature_low)) | (x > np.asarray(model.feature_high))
    return np.asarray(~outside.any(axis=1))
