"""What could have been reached: clairvoyant choices, with and without limits on the step.

Called by backtest.tournament. An oracle knows the expected response time of every split in every
minute, chooses once a cycle on the same grid as everyone, and pays nothing for a move, so nobody
can be better than the unlimited one.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from controlplane.domain.strategies.candidates import GRID

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

# Hundredths that the limited oracle may move in one cycle: the envelope's own calm step.
STEP = 5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Oracles:
    """Choices for two centres.

    Attributes:
        free, limited: (cycles,) the primary's share, without limits and with `STEP`.
        static: the one best share in hindsight.
    """

    free: FloatArray
    limited: FloatArray
    static: float


def find(curve_ms: FloatArray, requests_rps: FloatArray, cycle_minutes: int) -> Oracles:
    """Search.

    Args:
        curve_ms: (61, n) response time of every minute at every ratio of `GRID`.
        requests_rps: (n,) or (61, n): requests of every minute, where they depend on the split.
        cycle_minutes: minutes per choice; a rest is left out.
    """
    cycles = curve_ms.shape[1] // cycle_minutes
    used = slice(0, cycles * cycle_minutes)
    cost = (curve_ms[:, used] * requests_rps[..., used]).reshape(GRID.size, cycles, cycle_minutes)
    weight = np.broadcast_to(requests_rps, curve_ms.shape)[:, used].reshape(cost.shape)
    # A split that lets more requests through is not worse for it: the mean counts.
    mean = cost.sum(axis=2) / np.maximum(weight.sum(axis=2), 1e-9)
    usual = weight.mean(axis=0).sum(axis=1)
    price = mean * usual
    return Oracles(
        free=GRID[price.argmin(axis=0)],
        limited=GRID[_limited(price)],
        static=float(GRID[int(price.sum(axis=1).argmin())]),
    )


def _limited(price: FloatArray) -> IntArray:
    """The cheapest path (cycles,) whose steps are at most `STEP` hundredths: Viterbi's search."""
    size, cycles = price.shape
    best = price[:, 0].copy()
    origin = np.zeros((cycles, size), dtype=np.intp)
    places = np.arange(size)
    offsets = np.arange(-STEP, STEP + 1)
    sources = places[None, :] + offsets[:, None]
    inside = (sources >= 0) & (sources < size)
    clipped = np.clip(sources, 0, size - 1)
    for cycle in range(1, cycles):
        reached = np.where(inside, best[clipped], np.inf)
        chosen = reached.argmin(axis=0)
        origin[cycle] = clipped[chosen, places]
        best = reached[chosen, places] + price[:, cycle]
    path = np.empty(cycles, dtype=np.intp)
    path[-1] = int(best.argmin())
    for cycle in range(cycles - 1, 0, -1):
        path[cycle - 1] = origin[cycle, path[cycle]]
    return path
