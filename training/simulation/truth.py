"""What only a simulation knows: what any split would give in any minute, and the best one.

Written beside a simulated data set (`simulate --truth`) and read by evaluation, never by a
strategy or by training. Everything here is the expected response time with warm caches: a move's
own cost depends on the path, and only simulation.site knows the path.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from controlplane.domain.strategies.candidates import GRID
from training.simulation import physics
from training.simulation.physics import Strain
from training.simulation.weather import Weather
from training.simulation.world import World
from training.whole_file import whole

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Truth:
    """Expected response times in ms, each (n,), of the minute that follows a data set's row.

    Attributes:
        oracle_ratio: the clairvoyant choice among `GRID` and `oracle_ms` its response time.
        applied_ms: under the ratio that was applied; half_ms: under 0.5.
        best_static_ms: under `best_static_ratio`, the one ratio of `GRID` with the smallest mean
            over all requests, known in hindsight.
        arrival_rps: what came, or what closed-loop users would ask of a site that answers at once.
        saturating: closed-loop users saturate the site, see `saturating`.
    """

    time_s: FloatArray
    oracle_ratio: FloatArray
    oracle_ms: FloatArray
    applied_ms: FloatArray
    half_ms: FloatArray
    best_static_ms: FloatArray
    best_static_ratio: float
    arrival_rps: FloatArray
    saturating: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """What shares would give: (..., centers, n) for each center, (..., n) for the site."""

    utilization: FloatArray
    response_ms: FloatArray
    mean_ms: FloatArray
    requests_rps: FloatArray


def outcome(world: World, weather: Weather, shares: FloatArray) -> Outcome:
    """What `shares` (..., centers, n) or (..., centers, 1) would give, caches warm."""
    centers = physics.constants(world)
    burden = strain(weather)
    rps = weather.arrival_rps
    if world.users is not None:
        rps = physics.closed_loop_rps(world, centers, burden, (rps, shares))
    rho = physics.utilization(centers, burden, rps[..., None, :] * shares)
    ms = physics.response_ms(centers, burden, rho, physics.tangent_from(world))
    mean_ms = (shares * ms).sum(axis=-2)
    return Outcome(
        utilization=rho,
        response_ms=ms,
        mean_ms=mean_ms,
        requests_rps=np.broadcast_to(rps, mean_ms.shape),
    )


def ratio_outcome(world: World, weather: Weather, ratio: FloatArray) -> Outcome:
    """What `ratio` (..., n) or (..., 1) of the first of two centers would give."""
    return outcome(world, weather, np.stack([ratio, 1.0 - ratio], axis=-2))


def curve_ms(world: World, weather: Weather, grid: FloatArray = GRID) -> FloatArray:
    """Expected mean response time in ms of every minute at every ratio: (grid, n)."""
    curve = np.empty((grid.size, weather.minutes))
    # One ratio at a time: all at once would be gigabytes for a month.
    for index, candidate in enumerate(grid):
        curve[index] = ratio_outcome(world, weather, np.array([candidate])).mean_ms
    return curve


def center_curves_ms(world: World, weather: Weather, grid: FloatArray) -> FloatArray:
    """Expected response time of each center at each of its shares: (centers, grid, n).

    A split's mean is the sum of share times curve; only for an open site, where the requests
    that come do not depend on the split.
    """
    centers = physics.constants(world)
    burden = strain(weather)
    curves = np.empty((len(world.centers), grid.size, weather.minutes))
    for index, share in enumerate(grid):
        rho = physics.utilization(centers, burden, weather.arrival_rps * share)
        curves[:, index] = physics.response_ms(centers, burden, rho)
    return curves


def saturating(world: World, weather: Weather) -> NDArray[np.bool_]:
    """Minutes in which closed-loop users saturate the site whatever the split: (n,).

    More of them want an answer than all free capacity together could give even if it answered as
    fast as without load. The mean of requests per second over these minutes is a split's
    saturation throughput; all False for an open site.
    """
    if world.users is None:
        return np.zeros(weather.minutes, dtype=np.bool_)
    centers = physics.constants(world)
    free_rps = physics.free_capacity_rps(centers, strain(weather))
    unloaded_ms = (free_rps * (centers.network_ms + centers.service_ms)).sum(axis=0)
    loop_ms = world.users.think_ms + unloaded_ms / free_rps.sum(axis=0)
    return np.asarray(weather.arrival_rps * world.users.think_ms / loop_ms > free_rps.sum(axis=0))


def requests_rps(world: World, arrival_rps: FloatArray, mean_ms: FloatArray) -> FloatArray:
    """Requests per second of minutes with this mean response time: (..., n).

    Those that come, or by Little's law those that closed-loop users get through.
    """
    if world.users is None:
        return np.broadcast_to(arrival_rps, mean_ms.shape)
    think_ms = world.users.think_ms
    return np.asarray(arrival_rps * think_ms / (think_ms + mean_ms))


def find_truth(world: World, weather: Weather, ratio: FloatArray) -> Truth:
    """Search every minute's best ratio; rows match those of `simulator.simulate`."""
    # Row i is judged in minute i + 1, so minute 0 belongs to no row.
    curve, arrival_rps = curve_ms(world, weather)[:, 1:], weather.arrival_rps[1:]
    requests = requests_rps(world, arrival_rps, curve)
    static = int(((curve * requests).sum(axis=1) / requests.sum(axis=1)).argmin())
    return Truth(
        time_s=weather.time_s[:-1],
        oracle_ratio=GRID[curve.argmin(axis=0)],
        oracle_ms=curve.min(axis=0),
        applied_ms=ratio_outcome(world, weather, ratio).mean_ms[1:],
        half_ms=curve[GRID.size // 2],
        best_static_ms=curve[static],
        best_static_ratio=float(GRID[static]),
        arrival_rps=arrival_rps,
        saturating=saturating(world, weather)[1:],
    )


def write_csv(truth: Truth, path: Path) -> None:
    """Write one line per row of the data set."""
    names = ("time_s", "oracle_ratio", "oracle_ms", "applied_ms", "half_ms")
    table = np.column_stack([getattr(truth, name) for name in names])
    formats = ("%.0f", "%.2f", "%.6g", "%.6g", "%.6g")
    with whole(path) as place:
        np.savetxt(place, table, fmt=formats, delimiter=",", header=",".join(names), comments="")


def strain(weather: Weather) -> Strain:
    """What burdens the centers in this weather."""
    return Strain(batch=weather.batch, slowdown=weather.slowdown, available=weather.available)
