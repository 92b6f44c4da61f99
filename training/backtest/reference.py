"""Runs that nobody has to decide: a ratio held, the best one in hindsight, and the oracles.

Called by backtest.tournament for every weather. Their response time is the expected one with warm
caches: a held ratio moves nothing, and an oracle pays nothing for a move.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from controlplane.domain.strategies.allocation import HUNDREDTHS, allocated
from controlplane.domain.strategies.candidates import GRID
from training.backtest import oracle
from training.backtest.loop import CYCLE_MINUTES
from training.backtest.scores import BEST_STATIC, LIMITED, ORACLE, STATIC, Summary
from training.simulation import truth
from training.simulation.arrivals import DAY_MINUTES
from training.simulation.contrast import OVERLOAD
from training.simulation.weather import Weather
from training.simulation.world import World

FloatArray = NDArray[np.float64]

CAPACITY = "capacity"
_MANY_GRID = np.arange(HUNDREDTHS + 1) / HUNDREDTHS
_BOUNDS_OF_MANY = (5, 80)


def references(world: World, weather: Weather, seed: int) -> tuple[Summary, ...]:
    """Everything that a contestant of this weather is compared with."""
    capacities = np.array([center.capacity_rps for center in world.centers])
    paths: dict[str, FloatArray] = {
        STATIC: np.array([world.operator.shares]),
        CAPACITY: (capacities / capacities.sum())[None],
        **_searched(world, weather),
    }
    return tuple(_summary(world, weather, seed, named) for named in paths.items())


def daily(values: FloatArray) -> FloatArray:
    """Sum of each whole day: (n,) -> (days,)."""
    days = values.size // DAY_MINUTES
    return np.asarray(values[: days * DAY_MINUTES].reshape(days, DAY_MINUTES).sum(axis=1))


def moved(path: FloatArray) -> tuple[int, float]:
    """Changes of a path (cycles, centers), and the sum of their sizes (of the largest share)."""
    steps = np.abs(np.diff(path, axis=0)).max(axis=1, initial=0.0)
    return int((steps > 0).sum()), float(steps.sum())


def _searched(world: World, weather: Weather) -> dict[str, FloatArray]:
    if len(world.centers) != 2:
        return _searched_among_many(world, weather)
    curve, requests = _curves(world, weather)
    found = oracle.find(curve, requests, CYCLE_MINUTES)
    return {
        BEST_STATIC: _pair(np.array([found.static])),
        ORACLE: _pair(found.free),
        LIMITED: _pair(found.limited),
    }


def _curves(world: World, weather: Weather) -> tuple[FloatArray, FloatArray]:
    if world.users is None:
        return truth.curve_ms(world, weather), weather.arrival_rps
    outcomes = [truth.ratio_outcome(world, weather, np.array([ratio])) for ratio in GRID]
    return (
        np.stack([one.mean_ms for one in outcomes]),
        np.stack([one.requests_rps for one in outcomes]),
    )


def _searched_among_many(world: World, weather: Weather) -> dict[str, FloatArray]:
    """As for two, on hundredths; the limited oracle is not searched and stands at the free one."""
    curves = truth.center_curves_ms(world, weather, _MANY_GRID)
    cycles = weather.minutes // CYCLE_MINUTES
    cost = (curves * _MANY_GRID[None, :, None] * weather.arrival_rps)[..., : cycles * CYCLE_MINUTES]
    parts = cost.reshape(*cost.shape[:2], cycles, CYCLE_MINUTES).sum(axis=3)
    bounds = [_BOUNDS_OF_MANY] * len(world.centers)
    free = np.array([allocated(parts[..., cycle], bounds) for cycle in range(cycles)]) / HUNDREDTHS
    static = np.array([allocated(parts.sum(axis=2), bounds)]) / HUNDREDTHS
    return {BEST_STATIC: static, ORACLE: free, LIMITED: free}


def _summary(world: World, weather: Weather, seed: int, named: tuple[str, FloatArray]) -> Summary:
    label, path = named
    cycles = weather.minutes // CYCLE_MINUTES
    path = np.broadcast_to(path, (cycles, path.shape[1]))
    shares = np.repeat(path, CYCLE_MINUTES, axis=0).T
    outcome = truth.outcome(world, _cut(weather, shares.shape[1]), shares)
    saturating = truth.saturating(world, weather)
    moves, variation = moved(path)
    return Summary(
        label=label,
        seed=seed,
        daily_cost=daily(outcome.mean_ms * outcome.requests_rps),
        daily_requests=daily(outcome.requests_rps),
        overload_minutes=int((outcome.utilization > OVERLOAD).any(axis=0).sum()),
        saturated_minutes=int(saturating.sum()),
        saturated_requests=float(outcome.requests_rps[saturating].sum()),
        path=path[:, 0].copy(),
        moves=moves,
        variation=variation,
    )


def _cut(weather: Weather, minutes: int) -> Weather:
    """The weather has whole days in a backtest, so nothing is cut there."""
    if weather.minutes != minutes:
        raise ValueError(f"{weather.minutes} minutes are not whole cycles")
    return weather


def _pair(ratio: FloatArray) -> FloatArray:
    return np.stack([ratio, 1.0 - ratio], axis=1)


def labels() -> Sequence[str]:
    """Names of the references, in the order of a report."""
    return (STATIC, CAPACITY, BEST_STATIC, LIMITED, ORACLE)
