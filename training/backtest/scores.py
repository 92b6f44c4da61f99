"""Figures of a contestant in a world, over all its seeds.

A `Summary` is one lane's run in sums, so that runs of several processes can be put together; a
`Score` is what the report shows. Every percentage compares sums over the same weathers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from training.simulation.arrivals import DAY_MINUTES

FloatArray = NDArray[np.float64]

STATIC, BEST_STATIC, ORACLE, LIMITED = "static", "best_static", "oracle", "oracle_limited"
FORTNIGHT = 14.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Summary:
    """One lane's run.

    Attributes:
        daily_cost, daily_requests: (days,) sums of response time times requests per second, and
            of requests per second, over the minutes of each day.
        overload_minutes: minutes in which a centre was above 97 %.
        saturated_minutes, saturated_requests: minutes in which closed-loop users saturate the site
            whatever the split, and the sum of requests per second over them.
        path: (cycles,) the primary's share.
        moves, variation: changes of the split, and the sum of their sizes (of the largest share).
        violations: promises of the envelope that were not kept.
        own_cycles, cycles: cycles in which the strategy itself decided, and all.
        demotions: times that the envelope took the model out of service.
        covered, judged: cycles whose response time lay in the interval, and that had one.
    """

    label: str
    seed: int
    daily_cost: FloatArray
    daily_requests: FloatArray
    overload_minutes: int
    saturated_minutes: int = 0
    saturated_requests: float = 0.0
    path: FloatArray = field(default_factory=lambda: np.zeros(0))
    moves: int = 0
    variation: float = 0.0
    violations: tuple[str, ...] = ()
    own_cycles: int = 0
    cycles: int = 0
    demotions: int = 0
    covered: int = 0
    judged: int = 0

    @property
    def days(self) -> int:
        """Length."""
        return int(self.daily_cost.size)

    @property
    def mean_ms(self) -> float:
        """Request-weighted mean response time."""
        return float(self.daily_cost.sum() / self.daily_requests.sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One row of the report; percentages compare mean response times, negative is faster.

    Attributes:
        mean_ms: request-weighted over all seeds; requests_rps: mean.
        vs_static_pct, vs_best_static_pct: against the operator's ratio held, and against the best
            one in hindsight (of each seed).
        regret_pct, limited_regret_pct: against the clairvoyant, free and with limited steps;
            regret_sd: standard deviation of the former over the seeds.
        gain_share: part of the clairvoyant's gain over static that was reached.
        changes_per_day, variation_per_day: moves, and the share that they moved.
        saturation_rps: mean requests per second in saturating minutes; None for an open site.
        overload_minutes_14d: minutes per fortnight with a centre above 97 %.
        worst_day_vs_static_pct: the worst day of all seeds against static on that day.
        violations: broken promises of the envelope.
        own_pct: cycles that the strategy decided itself; demotions: in all.
        coverage: part of the cycles within the 90 % interval; None without intervals.
    """

    world: str
    label: str
    seeds: int
    days: int
    mean_ms: float
    requests_rps: float
    saturation_rps: float | None
    vs_static_pct: float
    vs_best_static_pct: float
    regret_pct: float
    regret_sd: float
    limited_regret_pct: float
    gain_share: float
    changes_per_day: float
    variation_per_day: float
    overload_minutes_14d: float
    worst_day_vs_static_pct: float
    violations: int
    own_pct: float
    demotions: int
    coverage: float | None


def score(world: str, label: str, summaries: Sequence[Summary]) -> Score:
    """Put one contestant's runs in one world together.

    Args:
        world: which.
        label: whose.
        summaries: of all contestants of that world and all seeds, the references among them.
    """
    own = [one for one in summaries if one.label == label]
    references = {
        name: [_of(summaries, name, one.seed) for one in own]
        for name in (STATIC, BEST_STATIC, ORACLE, LIMITED)
    }
    mean = _mean(own)
    static, oracle = _mean(references[STATIC]), _mean(references[ORACLE])
    days = sum(one.days for one in own)
    regrets = [
        _percent(one.mean_ms, best.mean_ms)
        for one, best in zip(own, references[ORACLE], strict=True)
    ]
    judged = sum(one.judged for one in own)
    cycles = sum(one.cycles for one in own)
    return Score(
        world=world,
        label=label,
        seeds=len(own),
        days=own[0].days,
        mean_ms=mean,
        requests_rps=sum(float(one.daily_requests.sum()) for one in own) / (days * DAY_MINUTES),
        saturation_rps=_saturation(own),
        vs_static_pct=_percent(mean, static),
        vs_best_static_pct=_percent(mean, _mean(references[BEST_STATIC])),
        regret_pct=_percent(mean, oracle),
        regret_sd=float(np.std(regrets)),
        limited_regret_pct=_percent(mean, _mean(references[LIMITED])),
        gain_share=(static - mean) / (static - oracle) if static > oracle else 0.0,
        changes_per_day=sum(one.moves for one in own) / days,
        variation_per_day=sum(one.variation for one in own) / days,
        overload_minutes_14d=sum(one.overload_minutes for one in own) / days * FORTNIGHT,
        worst_day_vs_static_pct=_worst_day(own, references[STATIC]),
        violations=sum(len(one.violations) for one in own),
        own_pct=100.0 * sum(one.own_cycles for one in own) / cycles if cycles else 0.0,
        demotions=sum(one.demotions for one in own),
        coverage=sum(one.covered for one in own) / judged if judged else None,
    )


def _of(summaries: Sequence[Summary], label: str, seed: int) -> Summary:
    return next(one for one in summaries if one.label == label and one.seed == seed)


def _mean(summaries: Sequence[Summary]) -> float:
    cost = sum(float(one.daily_cost.sum()) for one in summaries)
    return cost / sum(float(one.daily_requests.sum()) for one in summaries)


def _saturation(own: Sequence[Summary]) -> float | None:
    minutes = sum(one.saturated_minutes for one in own)
    return sum(one.saturated_requests for one in own) / minutes if minutes else None


def _worst_day(own: Sequence[Summary], static: Sequence[Summary]) -> float:
    return max(
        float(
            np.max(
                one.daily_cost / one.daily_requests * held.daily_requests / held.daily_cost - 1.0
            )
        )
        * 100.0
        for one, held in zip(own, static, strict=True)
    )


def _percent(value: float, reference: float) -> float:
    return (value / reference - 1.0) * 100.0
