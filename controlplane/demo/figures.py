"""What the demo found out, as figures. Computed from measurements only."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from controlplane.demo.options import CAPACITY_LANE, EQUAL_LANE, LEARNED_LANE, STATIC_RATIOS
from controlplane.demo.traffic import LaneFigures

STATIC_LANES = (EQUAL_LANE, CAPACITY_LANE, *STATIC_RATIOS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Learned against static, on the same arrivals at the same time.

    Attributes:
        mean_ms: lane -> mean response time that the load generator measured.
        best_static: the static lane with the smallest mean, in hindsight.
        response_time_change_pct: learned against the equal split; negative is better.
        vs_capacity_ratio_pct: learned against the split by capacity.
        gain_share_of_best_static: gain of the learned lane over the equal split, as a share of
            the best static lane's gain; above 1 it is better than every static split.
        failures: failed requests of all lanes, by their status or `reset`, `timeout`, `refused`.
    """

    mean_ms: Mapping[str, float]
    best_static: str
    response_time_change_pct: float
    vs_capacity_ratio_pct: float
    gain_share_of_best_static: float
    requests_per_lane: int
    failures: Mapping[str, int]

    @property
    def failed(self) -> int:
        """Failed requests of all lanes."""
        return sum(self.failures.values())


def compare(lanes: Mapping[str, LaneFigures]) -> Comparison:
    """Judge a phase in which every lane answered something.

    Raises:
        ValueError: a lane has no answer.
    """
    mean_ms = {name: _mean(name, figures) for name, figures in lanes.items()}
    best = min(STATIC_LANES, key=lambda name: mean_ms[name])
    learned, equal = mean_ms[LEARNED_LANE], mean_ms[EQUAL_LANE]
    best_gain_ms = equal - mean_ms[best]
    return Comparison(
        mean_ms=mean_ms,
        best_static=best,
        response_time_change_pct=_change_pct(learned, equal),
        vs_capacity_ratio_pct=_change_pct(learned, mean_ms[CAPACITY_LANE]),
        # Without a better static split there is nothing to share.
        gain_share_of_best_static=(equal - learned) / best_gain_ms if best_gain_ms > 0 else 0.0,
        requests_per_lane=lanes[LEARNED_LANE].ok,
        failures=sum((Counter(figures.failures) for figures in lanes.values()), Counter()),
    )


def _mean(name: str, figures: LaneFigures) -> float:
    if figures.mean_ms is None:
        raise ValueError(f"lane {name} answered nothing in the comparison")
    return figures.mean_ms


def _change_pct(value: float, reference: float) -> float:
    return 100.0 * (value / reference - 1.0)
