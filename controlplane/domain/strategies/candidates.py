"""The candidates of a two-centre search, and the choice among them.

S4's grid: the primary's share from 0.20 to 0.80 in steps of 0.01, 61 ratios; the smallest
prediction wins, the lowest ratio of equal ones. Called by every strategy that predicts.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from controlplane.domain.strategies.center_use import CenterUse
from controlplane.domain.strategies.projection import projected_loads, worth_of_gain
from controlplane.domain.strategies.queue_law import CenterLaw, response_time_ms
from controlplane.domain.strategies.rules import failed
from controlplane.domain.strategies.situation import CurvePoint, Note, Proposal, Situation

FloatArray = NDArray[np.float64]

GRID: FloatArray = np.arange(20, 81) / 100.0
GRID.flags.writeable = False

# What a whole share moved would have to gain, relative: of two candidates that are nearly as good,
# the nearer one is taken. Caches go cold and users jump with each move, and what pulled the best
# ratio away (a slowdown, other work) mostly lets go of it again.
MOVE_COST = 0.3
# Digits of a recorded spread, absolute.
DIGITS = 5
NO_SPREADS: FloatArray = np.zeros(0)


def objective(
    situation: Situation, laws: Sequence[CenterLaw], uses: Sequence[CenterUse]
) -> FloatArray:
    """Load-weighted response time of the coming cycle along `GRID`, by a queue law per centre.

    J(r) = sum_j load_j [ r f_A(k_A load_j r) + (1 - r) f_B(k_B load_j (1 - r)) ] / sum_j load_j
    over the points j of the cycle; k is the utilisation per unit of load.

    Returns:
        (61,) in ms; NaN when a centre's load or use is unknown.
    """
    loads = projected_loads(situation)[:, None]
    # Without traffic every candidate is judged at no load.
    weights = loads if np.sum(loads) > 0 else np.ones_like(loads)
    total = np.zeros((len(loads), len(GRID)))
    for law, use, share in zip(laws, uses, (GRID, 1.0 - GRID), strict=True):
        rho = use.standing + use.use_per_load * loads * share
        total += share * response_time_ms(law, rho)
    return np.asarray(np.sum(weights * total, axis=0) / np.sum(weights))


def choose(
    situation: Situation,
    strategy: str,
    predicted_ms: ArrayLike,
    *,
    learned: bool,
    spreads: FloatArray = NO_SPREADS,
) -> Proposal:
    """Propose the candidate with the smallest prediction, the cost of the move there included.

    A network that is asked about the ratio itself (`learned`) is taken at its word, as published.

    Args:
        predicted_ms: (61,) along `GRID`; a candidate that is not finite is dropped.
        learned: whether the support box of the envelope applies.
        spreads: (61,) standard deviation of the logarithm of each; (0,) without an ensemble. They
            are recorded; the mean alone decides.

    Returns:
        The proposal with its curve; shares in force, with a note, when nothing is finite.
    """
    values = np.asarray(predicted_ms, dtype=np.float64)
    finite = np.isfinite(values)
    ratios, kept_ms = GRID[finite].tolist(), values[finite].tolist()
    lost = Note(
        code="prediction_not_finite",
        message=f"{len(GRID) - len(ratios)} of {len(GRID)} predictions are not finite",
    )
    if not ratios:
        return failed(situation, strategy, lost)
    judged = values if learned else values * (1.0 + _price(situation))
    best = float(GRID[np.argmin(np.where(finite, judged, np.inf))])
    return Proposal(
        strategy=strategy,
        shares=(best, 1.0 - best),
        curve=tuple(
            CurvePoint(ratio=ratio, response_time_ms=value)
            for ratio, value in zip(ratios, kept_ms, strict=True)
        ),
        spreads=tuple(np.round(spreads[finite], DIGITS).tolist()) if len(spreads) else (),
        learned=learned,
        notes=() if len(ratios) == len(GRID) else (lost,),
    )


def _price(situation: Situation) -> FloatArray:
    """(61,) What the move to each candidate has to gain, relative."""
    distance = np.abs(GRID - situation.applied[0])
    return np.asarray(MOVE_COST * worth_of_gain(situation) * distance)
