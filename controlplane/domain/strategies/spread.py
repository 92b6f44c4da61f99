"""greybox for more than two data centres: a queue law each, and the best split by all of them.

The laws are the model's when it has one for every centre. Without them the declared machines and
the observed response times stand in: f(rho) = a (1 + q(rho; c) / c), with a such that the law
meets what was measured. The residual network is for two centres only and has no say here.
"""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from controlplane.domain.strategies.allocation import HUNDREDTHS, Bounds, allocated
from controlplane.domain.strategies.projection import (
    CenterUse,
    declared_law,
    declared_uses,
    fitted_uses,
    projected_loads,
    recent,
    trusted_laws,
)
from controlplane.domain.strategies.queue_law import CenterLaw, response_time_ms, waiting
from controlplane.domain.strategies.rules import failed, fall_back, hold, missing_metrics
from controlplane.domain.strategies.situation import GRID_OF_MANY as GRID
from controlplane.domain.strategies.situation import (
    Center,
    CenterCurve,
    Note,
    Proposal,
    Situation,
)
from controlplane.domain.telemetry import load_measure, reading
from controlplane.domain.topology import StrategyName

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
    if note := missing_metrics(situation):
        return hold(situation, StrategyName.GREYBOX, note)
    laws = trusted_laws(situation)
    notes = () if laws else (_stand_in(situation),)
    laws = laws or observed_laws(situation)
    if not laws:
        return fall_back(situation, UNKNOWN)
    curves = center_curves(situation, laws)
    parts = GRID * np.array([curve.response_time_ms for curve in curves])
    if not np.isfinite(parts[list(situation.bearing)]).all():
        return unanswered(situation, StrategyName.GREYBOX)
    split = allocated(np.nan_to_num(parts), _bounds(situation))
    return Proposal(
        strategy=StrategyName.GREYBOX,
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


def unanswered(situation: Situation, strategy: str) -> Proposal:
    """In place of a curve that is not finite: the rule when facts are missing, else a failure."""
    known = all(
        math.isfinite(use.load) and math.isfinite(use.use_per_load)
        for use, bears in zip(declared_uses(situation), situation.bearing, strict=True)
        if bears
    )
    if not (known and trusted_laws(situation)):
        return fall_back(situation, UNKNOWN)
    note = Note(
        code="prediction_not_finite", message="the queue laws have no finite answer to known facts"
    )
    return failed(situation, strategy, note)


def observed_laws(situation: Situation) -> tuple[CenterLaw, ...]:
    """Laws from what is declared and what was measured; () when no centre tells a base time.

    A centre without traffic of its own is taken to be as fast as the others are on average.
    """
    uses = declared_uses(situation)
    laws = [_machines(center) for center in situation.centers]
    bases = [
        _base_ms(situation, center, law, use)
        for center, law, use in zip(situation.centers, laws, uses, strict=True)
    ]
    known = [(base, use.load) for base, use in zip(bases, uses, strict=True) if base > 0]
    total = math.fsum(load for _, load in known)
    if not total > 0:
        return ()
    usual = math.fsum(base * load for base, load in known) / total
    return tuple(
        _law(law, base if base > 0 else usual) for law, base in zip(laws, bases, strict=True)
    )


def _machines(center: Center) -> CenterLaw:
    """The declared machines; one server where nothing is declared, so that waiting counts most."""
    return replace(declared_law(center), servers=float(center.cluster.servers or 1))


def _law(law: CenterLaw, base_ms: float) -> CenterLaw:
    return replace(law, base_ms=base_ms, wait_ms=base_ms / law.servers)


def _base_ms(situation: Situation, center: Center, law: CenterLaw, use: CenterUse) -> float:
    """Response time without load that explains the measured one; NaN without traffic."""
    history = recent(situation, center)
    measure = load_measure(history)
    loads = [reading(sample, measure) for sample in history]
    total = math.fsum(loads)
    if not (total > 0 and math.isfinite(use.use)):
        return math.nan
    times = (sample.response_time_ms for sample in history)
    mean_ms = math.fsum(load * time for load, time in zip(loads, times, strict=True)) / total
    return mean_ms / (1.0 + float(waiting(np.array(use.use), law.servers)) / law.servers)


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
