"""greybox for more than two data centres: a queue law each, and the best split by all of them.

The laws are the model's when it has one for every centre; without them those of `observed` stand
in. The residual network is for two centres only and has no say here.
"""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from controlplane.domain.services import StrategyName
from controlplane.domain.strategies.allocation import HUNDREDTHS, Bounds, allocated
from controlplane.domain.strategies.center_use import declared_uses, fitted_uses, trusted_laws
from controlplane.domain.strategies.observed import observed_laws
from controlplane.domain.strategies.projection import projected_loads
from controlplane.domain.strategies.queue_law import CenterLaw, response_time_ms
from controlplane.domain.strategies.rules import (
    cpu_equalizer,
    failed,
    hold,
    missing_metrics,
    with_notes,
)
from controlplane.domain.strategies.situation import GRID_OF_MANY as GRID
from controlplane.domain.strategies.situation import (
    CenterCurve,
    Note,
    Proposal,
    Situation,
)

FloatArray = NDArray[np.float64]

# Lowest and highest hundredths of a centre, by how many bear traffic: the envelope's own bounds.
ALONE, OF_TWO, OF_MANY = (HUNDREDTHS, HUNDREDTHS), (20, 80), (5, 80)
# Digits of a recorded prediction: what is recorded is what was decided by.
DIGITS = 4
UNKNOWN = Note(
    code="load_unknown", message="load or use of a data centre is unknown: nothing to project"
)


def spread(situation: Situation) -> Proposal:
    """The split with the smallest load-weighted response time in steps of 0.01."""
    laws = trusted_laws(situation)
    strategy = StrategyName.GREYBOX if laws else StrategyName.OBSERVED_LAWS
    if note := missing_metrics(situation):
        return hold(situation, strategy, note)
    notes = () if laws else (_stand_in(situation),)
    laws = laws or observed_laws(situation)
    if not laws:
        return with_notes(cpu_equalizer(situation), UNKNOWN)
    curves = center_curves(situation, laws)
    parts = GRID * np.array([curve.response_time_ms for curve in curves])
    if not np.isfinite(parts[list(situation.bearing)]).all():
        return unanswered(situation, strategy)
    split = allocated(np.nan_to_num(parts), _bounds(situation))
    return Proposal(
        strategy=strategy,
        shares=tuple(part / HUNDREDTHS for part in split),
        center_curves=curves,
        notes=notes,
    )


def center_curves(situation: Situation, laws: tuple[CenterLaw, ...]) -> tuple[CenterCurve, ...]:
    """Mean response time of each centre over the coming cycle, at each hundredth of the load."""
    uses = fitted_uses(situation)
    loads = projected_loads(situation)[:, None]
    # Without traffic every candidate is judged at no load.
    weights = loads if np.sum(loads) > 0 else np.ones_like(loads)
    curves = []
    for center, law, use in zip(situation.centers, laws, uses, strict=True):
        at = response_time_ms(law, use.standing + use.use_per_load * loads * GRID)
        mean = np.sum(weights * at, axis=0) / np.sum(weights)
        values = tuple(np.round(mean, DIGITS).tolist())
        curves.append(CenterCurve(datacenter=center.name, response_time_ms=values))
    return tuple(curves)


def without_model(situation: Situation) -> Situation:
    """The situation as it would be without its model."""
    return situation if situation.model is None else replace(situation, model=None)


def unanswered(situation: Situation, strategy: str) -> Proposal:
    """In place of a curve that is not finite: the rule when facts are missing, else a failure."""
    known = all(
        math.isfinite(use.load) and math.isfinite(use.use_per_load)
        for use, bears in zip(declared_uses(situation), situation.bearing, strict=True)
        if bears
    )
    if not (known and trusted_laws(situation)):
        return with_notes(cpu_equalizer(situation), UNKNOWN)
    note = Note(
        code="prediction_not_finite", message="the queue laws have no finite answer to known facts"
    )
    return failed(situation, strategy, note)


def _bounds(situation: Situation) -> Bounds:
    count = sum(situation.bearing)
    usual = {1: ALONE, 2: OF_TWO}.get(count, (min(OF_MANY[0], HUNDREDTHS // count), OF_MANY[1]))
    return [usual if bears else (0, 0) for bears in situation.bearing]


def _stand_in(situation: Situation) -> Note:
    return Note(
        code="laws_declared",
        message=f"no fitted queue laws for {len(situation.centers)} data centres: declared "
        "machines and observed response times stand in",
    )
