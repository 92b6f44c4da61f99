"""What only a simulation knows: the best ratio of each minute, and what it would have given.

Written beside a simulated data set (`simulate --truth`) and read by evaluation, never by a
strategy or by training.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.simulation.simulator import Conditions, true_response_ms
from training.simulation.world import World

FloatArray = NDArray[np.float64]

# S4: 0.20 to 0.80 in steps of 0.01.
GRID = np.round(np.arange(20, 81) / 100.0, 2)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Truth:
    """Expected response times in ms, each (n,), of the minute that follows a data set's row.

    Attributes:
        oracle_ratio: the clairvoyant choice among `GRID` and `oracle_ms` its response time.
        applied_ms: under the ratio that was applied; half_ms: under 0.5.
        best_static_ms: under `best_static_ratio`, the one ratio of `GRID` with the smallest mean
            over all requests, known in hindsight.
    """

    time_s: FloatArray
    oracle_ratio: FloatArray
    oracle_ms: FloatArray
    applied_ms: FloatArray
    half_ms: FloatArray
    best_static_ms: FloatArray
    best_static_ratio: float


def find_truth(world: World, conditions: Conditions, ratio: FloatArray) -> Truth:
    """Search every minute's best ratio; rows match those of `simulator.simulate`."""
    minutes = conditions.time_s.size
    curve = np.empty((GRID.size, minutes))
    for index, candidate in enumerate(GRID):
        curve[index] = true_response_ms(world, conditions, np.full(minutes, candidate))
    # Row i is judged in minute i + 1, so minute 0 belongs to no row.
    curve, load = curve[:, 1:], conditions.arrival_rps[1:]
    static = int((curve * load).sum(axis=1).argmin())
    return Truth(
        time_s=conditions.time_s[:-1],
        oracle_ratio=GRID[curve.argmin(axis=0)],
        oracle_ms=curve.min(axis=0),
        applied_ms=true_response_ms(world, conditions, ratio)[1:],
        half_ms=curve[GRID.size // 2],
        best_static_ms=curve[static],
        best_static_ratio=float(GRID[static]),
    )


def write_csv(truth: Truth, path: Path) -> None:
    """Write one line per row of the data set."""
    names = ("time_s", "oracle_ratio", "oracle_ms", "applied_ms", "half_ms")
    table = np.column_stack([getattr(truth, name) for name in names])
    path.parent.mkdir(parents=True, exist_ok=True)
    formats = ("%.0f", "%.2f", "%.6g", "%.6g", "%.6g")
    np.savetxt(path, table, fmt=formats, delimiter=",", header=",".join(names), comments="")
