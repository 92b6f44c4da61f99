"""The truth of more than two data centers: the best split of each minute.

As simulation.truth, where a split is no longer one ratio. For open sites only: there a center's
response time depends on its own share and on nothing else.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.simulation import truth
from training.simulation.weather import Weather
from training.simulation.world import World
from training.whole_file import whole

FloatArray = NDArray[np.float64]

# Hundredths that a center gets at least and at most, as strategies for many centers have it.
_STEPS, _LEAST, _MOST = 100, 5, 80


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SiteTruth:
    """Expected response times in ms, each (n,), of the minute that follows a data set's row.

    Attributes:
        oracle_shares: (centers, n) the clairvoyant choice, and `oracle_ms` its response time.
        applied_ms: under the shares that were applied; equal_ms: under equal ones.
        arrival_rps: requests of that minute.
    """

    time_s: FloatArray
    oracle_shares: FloatArray
    oracle_ms: FloatArray
    applied_ms: FloatArray
    equal_ms: FloatArray
    arrival_rps: FloatArray


def find_truth(world: World, weather: Weather, shares: FloatArray) -> SiteTruth:
    """Search every minute's best split; `shares` (centers, n) were applied."""
    centers = len(world.centers)
    equal = np.full((centers, 1), 1.0 / centers)
    best = best_shares(world, weather)
    oracle, applied, even = (
        truth.outcome(world, weather, split).mean_ms[1:] for split in (best, shares, equal)
    )
    # Row i is judged in minute i + 1, so minute 0 belongs to no row.
    return SiteTruth(
        time_s=weather.time_s[:-1],
        oracle_shares=best[:, 1:],
        oracle_ms=oracle,
        applied_ms=applied,
        equal_ms=even,
        arrival_rps=weather.arrival_rps[1:],
    )


def best_shares(world: World, weather: Weather) -> FloatArray:
    """The split of every minute with the smallest mean response time: (centers, n).

    Gives one hundredth after the other to the center whose part of the mean grows least by it:
    exact where share times response time is convex, as for every queue law.
    """
    grid = np.arange(_STEPS + 1) / _STEPS
    curves = truth.center_curves_ms(world, weather, grid)
    growth = np.diff(curves * grid[:, None], axis=1, append=np.inf)
    growth[:, _MOST:] = np.inf
    given = np.full((len(world.centers), weather.minutes), _LEAST)
    minute = np.arange(weather.minutes)
    for _ in range(_STEPS - int(given[:, 0].sum())):
        asked = np.take_along_axis(growth, given[:, None], axis=1)[:, 0]
        given[asked.argmin(axis=0), minute] += 1
    return np.asarray(grid[given])


def write_csv(found: SiteTruth, path: Path) -> None:
    """Write one line per row of the data set."""
    shares = [f"oracle_share_{number + 1}" for number in range(len(found.oracle_shares))]
    names = ["time_s", *shares, "oracle_ms", "applied_ms", "equal_ms"]
    columns = [found.time_s, *found.oracle_shares, found.oracle_ms, found.applied_ms]
    table = np.column_stack([*columns, found.equal_ms])
    formats = ["%.0f", *("%.2f" for _ in shares), "%.6g", "%.6g", "%.6g"]
    with whole(path) as place:
        np.savetxt(place, table, fmt=formats, delimiter=",", header=",".join(names), comments="")
