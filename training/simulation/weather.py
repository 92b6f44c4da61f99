"""The weather of a run: everything that does not depend on the split, drawn from a seed.

Called by whoever plays a world (simulation.site, simulation.simulator, simulation.truth). Two
strategies under one seed meet the same weather (common random numbers); time is the last axis.
Day 0 is the first day of the run proper: a draw that begins on an earlier day (negative) is the
history from which strategies learn, and has neither the holiday nor losses nor faults.
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from training.simulation import arrivals, troubles
from training.simulation.arrivals import DAY_MINUTES
from training.simulation.center import CenterWorld
from training.simulation.troubles import Reporting
from training.simulation.world import World

FloatArray = NDArray[np.float64]

MINUTE_S = 60
# Kinds of instrument noise, in the order of the first axis of `Weather.noise`.
NOISES = ("rate", "response", "cpu_avg", "cpu_max", "bandwidth", "memory")
# Streams of random numbers: 0 arrivals, 1 and 2 the first two centers, 3 the operator, then these.
_OPERATOR, _TROUBLES, _DISK, _MORE_CENTERS = 3, 4, 5, 10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weather:
    """What happens to a site whatever the split.

    Attributes:
        time_s: (n,) UTC epoch seconds of the end of each minute.
        arrival_rps: (n,) requests that come; with closed-loop users: that they would ask of a
            site that answers at once.
        batch: (centers, n) load of its own, share of capacity; slowdown: (centers, n) cost of a
            request, >= 1; available: (centers, n) share of the machines that are there.
        disk: (centers, n) 0..1; noise: (kinds, centers, n) standard normal, see `NOISES`.
        reporting: what monitoring spoils, None where it works.
    """

    time_s: FloatArray
    arrival_rps: FloatArray
    batch: FloatArray
    slowdown: FloatArray
    available: FloatArray
    disk: FloatArray
    noise: FloatArray
    reporting: Reporting | None

    @property
    def minutes(self) -> int:
        """Length of the run."""
        return int(self.time_s.size)


def draw(
    world: World,
    minutes: int,
    seed: int,
    arrival_rps: FloatArray | None = None,
    first_day: int = 0,
) -> Weather:
    """Draw the weather of `minutes` minutes.

    Args:
        world: the place.
        minutes: length.
        seed: the same seed, the same weather.
        arrival_rps: (minutes or more,), replaces the drawn arrivals.
        first_day: day with which the run begins; negative for logs from before the run.
    """
    streams = _streams(seed, first_day, len(world.centers))
    if arrival_rps is None:
        arrival_rps = arrivals.draw(world.arrivals, minutes, streams[0], first_day)
    drawn = [
        _center(center, minutes, stream)
        for center, stream in zip(world.centers, streams[1:], strict=True)
    ]
    batch, slowdown, disk_noise, noise = (np.stack(parts) for parts in zip(*drawn, strict=True))
    trouble = np.random.default_rng(_entropy(seed, _TROUBLES, first_day))
    when = troubles.Span(first_day=first_day, minutes=minutes, centers=len(world.centers))
    start_s = world.arrivals.start_time_s + first_day * DAY_MINUTES * MINUTE_S
    return Weather(
        time_s=start_s + MINUTE_S * np.arange(minutes, dtype=np.float64),
        arrival_rps=arrival_rps[:minutes],
        batch=batch,
        slowdown=slowdown,
        available=troubles.draw_available(world.losses, when, trouble),
        disk=_disk(disk_noise, seed, first_day),
        noise=np.ascontiguousarray(noise.swapaxes(0, 1)),
        reporting=troubles.draw_reporting(world.faults, when, trouble),
    )


def operator_shares(world: World, minutes: int, seed: int, first_day: int = 0) -> FloatArray:
    """The historical shares: (centers, minutes), held for some minutes, from experience."""
    operator = world.operator
    steps = -(-minutes // operator.hold_minutes)
    rng = np.random.default_rng(_entropy(seed, _OPERATOR, first_day))
    draws = rng.standard_normal((len(operator.shares) - 1, steps))
    mean = np.array(operator.shares)[:-1, None]
    shares = mean + operator.share_sd * arrivals.remembering(draws, 0.7)
    shares = np.clip(np.round(shares, 2), 0.4 * mean, 1.6 * mean)
    shares = np.concatenate([shares, 1.0 - shares.sum(axis=0, keepdims=True)])
    return np.repeat(shares, operator.hold_minutes, axis=1)[:, :minutes]


def operator_ratio(world: World, minutes: int, seed: int, first_day: int = 0) -> FloatArray:
    """The historical ratio of the primary: (minutes,)."""
    return np.asarray(operator_shares(world, minutes, seed, first_day)[0])


def _streams(seed: int, first_day: int, centers: int) -> list[Generator]:
    numbers = [0, 1, 2, *range(_MORE_CENTERS, _MORE_CENTERS + centers - 2)]
    return [np.random.default_rng(_entropy(seed, number, first_day)) for number in numbers]


def _entropy(seed: int, stream: int, first_day: int) -> list[int]:
    # Logs from before the run and the run itself under one seed are different draws.
    return [seed, stream, -first_day] if first_day < 0 else [seed, stream]


def _center(
    center: CenterWorld, minutes: int, rng: Generator
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Batch load, slowdown and noise of the disk, each (minutes,), and noise (kinds, minutes)."""
    batch = center.batch_mean + center.batch_sd * arrivals.remembering(
        rng.standard_normal(minutes), float(np.exp(-1.0 / center.batch_minutes))
    )
    since_job = np.arange(minutes) % DAY_MINUTES - center.nightly_hour * 60.0
    batch += np.where((since_job >= 0) & (since_job < 60), center.nightly_load, 0.0)
    slowdown = _slowdown(center, minutes, rng)
    disk_noise = 0.002 * rng.standard_normal(minutes)
    noise = np.stack([rng.standard_normal(minutes) for _ in NOISES])
    return np.clip(batch, 0.0, 0.9), slowdown, disk_noise, noise


def _disk(noise: FloatArray, seed: int, first_day: int) -> FloatArray:
    """Disks (centers, n) that fill up over a week and are cleaned, 0..1.

    They are the same before the run and in it: a disk does not jump when the logs end.
    """
    level = np.random.default_rng([seed, _DISK]).uniform(0.3, 0.5, (noise.shape[0], 1))
    day = first_day + np.arange(noise.shape[1]) / DAY_MINUTES
    return np.clip(level + 0.1 * (day % 7) / 7 + noise, 0.0, 1.0)


def _slowdown(center: CenterWorld, minutes: int, rng: Generator) -> FloatArray:
    slowdown = np.ones(minutes)
    for start in np.flatnonzero(rng.random(minutes) < center.slowdowns_per_day / DAY_MINUTES):
        length = 1 + int(rng.exponential(center.slowdown_minutes))
        height = 1.0 + (center.slowdown_factor - 1.0) * rng.uniform(0.3, 1.0)
        part = slowdown[start : start + length]
        np.maximum(part, height, out=part)
    return slowdown
