"""Projection: what load and use of each data centre would be at other shares, and later.

Read by the strategies and by the envelope's capacity guard, so both see the same facts. CPU and
bandwidth are consequences of the split: a what-if that holds them still asks for an impossible
state (LAB-learning.md section 1). Works on a `Situation`, from what `center_use` measures.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from controlplane.domain.strategies.center_use import (
    MEMORY_PERIODS,
    SATURATED,
    CenterUse,
    declared_uses,
    fitted_uses,
)
from controlplane.domain.strategies.situation import Situation, once

FloatArray = NDArray[np.float64]

# Points of the coming cycle at which the load is projected.
HORIZON_POINTS = 5
# Part of the day's mean load that counts as this at least, so that a dead night can be left.
QUIETEST = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class UseByShare:
    """Utilisation of each centre over the coming cycle: `standing + per_share * share`.

    Attributes:
        per_share: if the centre had the whole load, at the most; NaN is unknown.
        standing: by other services of a shared pool.
    """

    per_share: tuple[float, ...] = ()
    standing: tuple[float, ...] = ()

    def at(self, shares: Sequence[float]) -> tuple[float, ...]:
        """Utilisation of each centre at these shares."""
        rows = zip(self.standing, self.per_share, shares, strict=True)
        return tuple(standing + use * share for standing, use, share in rows)

    def known(self, index: int) -> bool:
        """Whether both parts of one centre are."""
        return math.isfinite(self.per_share[index]) and math.isfinite(self.standing[index])


@once
def use_by_share(situation: Situation) -> UseByShare:
    """Utilisation of each centre by its share, at the most of the coming cycle.

    Up to the fitted saturation when there are laws, and never less than the declared CPU range
    and the present load say: a bad model must not make a full centre look idle. A saturated
    centre counts by its declared capacity if that says more. NaN where neither CPU nor a request
    rate tells it.
    """
    fitted, declared = fitted_uses(situation), declared_uses(situation)
    present = math.fsum(use.load for use in declared)
    load = _known_most(float(np.max(projected_loads(situation))), present)
    pairs = list(zip(fitted, declared, strict=True))
    return UseByShare(
        per_share=tuple(load * _known_most(_most_per_load(a), _most_per_load(b)) for a, b in pairs),
        standing=tuple(_known_most(a.standing, b.standing) for a, b in pairs),
    )


def present_peak(situation: Situation) -> float:
    """Largest utilisation of a centre with a share over the last periods, as measured.

    Like `use_by_share`, the higher of what the laws and the declared CPU range say; no forecast.
    """
    pairs = zip(fitted_uses(situation), declared_uses(situation), strict=True)
    uses = [_known_most(fitted.use, declared.use) for fitted, declared in pairs]
    bearing = [u for u, share in zip(uses, situation.applied, strict=True) if share > 0]
    return max([u for u in bearing if math.isfinite(u)], default=0.0)


@once
def projected_loads(situation: Situation) -> FloatArray:
    """Total load at `HORIZON_POINTS` points of the coming cycle: (points,), in the load's unit.

    The mean load of the last periods follows the model's daily profile p:
    load(t + j) = load(t) / p(t) * p(t + j); without a profile it stays.
    """
    total = math.fsum(use.load for use in fitted_uses(situation))
    profile = situation.model.profile if situation.model else ()
    if not profile:
        return np.full(HORIZON_POINTS, total)
    now_s, day_s = situation.now_s, situation.day_s
    middle_s = now_s - MEMORY_PERIODS * situation.period_s / 2
    past = max(_profile_at(profile, middle_s, day_s), 1e-6)
    ahead_s = (j / HORIZON_POINTS * situation.cycle_s for j in range(1, HORIZON_POINTS + 1))
    return np.array([total / past * _profile_at(profile, now_s + s, day_s) for s in ahead_s])


def worth_of_gain(situation: Situation) -> float:
    """What a relative gain must be times, now, to count as much as in the mean of the day.

    A gain is by request and a move costs once, so with p times the requests of the day's mean a
    move should gain 1 / p as much. The root is taken, because a move made at night is still there
    in the morning: p^(-1/2), and 1 without a profile.
    """
    profile = situation.model.profile if situation.model else ()
    if not profile:
        return 1.0
    now = _profile_at(profile, situation.now_s, situation.day_s)
    return 1.0 / math.sqrt(max(now, QUIETEST))


def _most_per_load(use: CenterUse) -> float:
    return max(use.use_per_load, use.declared) if use.use >= SATURATED else use.use_per_load


def _known_most(one: float, other: float) -> float:
    """The larger one; the known one when the other is NaN."""
    if math.isnan(one):
        return other
    return one if math.isnan(other) else max(one, other)


def _profile_at(profile: Sequence[float], time_s: float, day_s: float) -> float:
    """The profile at a time of the day (UTC), straight between the middles of its parts."""
    parts = len(profile)
    position = (time_s % day_s / day_s * parts - 0.5) % parts
    before = int(position)
    low, high = profile[before % parts], profile[(before + 1) % parts]
    return (high - low) * (position - before) + low
