"""How far a world tells splits apart: what ratios that are held, and an ideal rule, cost in it.

Called by the worlds' floors and by benchmarks.worlds, of two centers. Whoever adds a world looks
here whether there is anything to be learned in it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from controlplane.domain.strategies.candidates import GRID
from training.simulation import physics, truth
from training.simulation.weather import Weather
from training.simulation.world import World

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

# Utilization above which a minute counts as overload.
OVERLOAD = 0.97


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contrast:
    """Every ratio of the grid in every minute; a choice is (n,) indices of the grid.

    Attributes:
        mean_ms, requests_rps: (grid, n); use: (grid, n) of the fuller center.
        by_cpu: the choice that makes CPU equal, as an ideal equalizer would, who knows the minute.
        saturating: (n,) see truth.saturating.
    """

    mean_ms: FloatArray
    requests_rps: FloatArray
    use: FloatArray
    by_cpu: IntArray
    saturating: NDArray[np.bool_]

    @property
    def oracle(self) -> IntArray:
        """The best choice of each minute."""
        return np.asarray(self.mean_ms.argmin(axis=0))

    @property
    def best_static(self) -> IntArray:
        """The one ratio with the smallest mean over all requests, known in hindsight."""
        costs = (self.mean_ms * self.requests_rps).sum(axis=1) / self.requests_rps.sum(axis=1)
        return self.held(float(GRID[costs.argmin()]))

    def held(self, ratio: float) -> IntArray:
        """One ratio, always."""
        return np.full(self.mean_ms.shape[1], int(np.abs(GRID - ratio).argmin()))

    def response_ms(self, chosen: IntArray) -> float:
        """Mean over all requests."""
        ms, rps = self._at(self.mean_ms, chosen), self._at(self.requests_rps, chosen)
        return float((ms * rps).sum() / rps.sum())

    def regret_pct(self, chosen: IntArray) -> float:
        """Response time above the oracle's."""
        return (self.response_ms(chosen) / self.response_ms(self.oracle) - 1.0) * 100.0

    def overloaded(self, chosen: IntArray) -> int:
        """Minutes with a center above 97 %."""
        return int((self._at(self.use, chosen) > OVERLOAD).sum())

    def saturation_rps(self, chosen: IntArray) -> float:
        """Requests per second in the saturating minutes of a closed loop."""
        return float(self._at(self.requests_rps, chosen)[self.saturating].mean())

    def _at(self, values: FloatArray, chosen: IntArray) -> FloatArray:
        return np.asarray(values[chosen, np.arange(chosen.size)])


def contrast(world: World, weather: Weather) -> Contrast:
    """Try every ratio of the grid, always held."""
    held = [truth.ratio_outcome(world, weather, np.array([ratio])) for ratio in GRID]
    centers = physics.constants(world)
    span = (centers.full_cpu - centers.idle_cpu) * centers.saturation
    cpu = [centers.idle_cpu + span * one.utilization for one in held]
    return Contrast(
        mean_ms=np.stack([one.mean_ms for one in held]),
        requests_rps=np.stack([one.requests_rps for one in held]),
        use=np.stack([one.utilization.max(axis=0) for one in held]),
        by_cpu=np.stack([np.abs(one[0] - one[1]) for one in cpu]).argmin(axis=0),
        saturating=truth.saturating(world, weather),
    )
