"""A site that is played minute by minute: many lanes of one world at once.

A lane is one weather (one seed) under one series of splits. Called by the backtest, a few minutes
at a time, and by simulation.simulator for a whole run: the same physics, and the same numbers
however a run is cut. What one stretch leaves behind for the next (caches, memory, readings that
stand still) is `SiteState`. Noise belongs to the weather, never to the lane.

    start -> play(minutes 0..4, shares) -> play(minutes 5..9, shares) -> ...
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from training.simulation import physics
from training.simulation.instruments import Happened, observe
from training.simulation.physics import Constants, Strain
from training.simulation.troubles import READINGS, Reporting
from training.simulation.weather import Weather
from training.simulation.world import World

Number = TypeVar("Number", bound=np.generic)
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lanes:
    """Weathers of one world, and which lane has which.

    Attributes:
        weather: arrays of `Weather` with an axis (weathers,) in front, behind (kinds,) and
            (readings,) where there is one; `time_s` stays (n,).
        index: (lanes,) weather of each lane: lanes of one seed share memory.
        cold_keep: (centers, 1) what caches keep of their share over a minute.
        cold: some center has caches that a move leaves cold.
    """

    world: World
    constants: Constants
    weather: Weather
    index: IntArray
    cold_keep: FloatArray
    cold: bool

    @property
    def minutes(self) -> int:
        """Length of the run."""
        return self.weather.minutes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SiteState:
    """What a minute leaves to the next one; NaN before the first.

    Attributes:
        memory: (lanes, centers) smoothed load; known_share: (lanes, centers) what caches know.
        reported: (readings, lanes, centers) last readings that did not stand still.
    """

    memory: FloatArray
    known_share: FloatArray
    reported: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Readings:
    """What monitoring has of each minute, (lanes, centers, m); NaN is a missing reading.

    Attributes:
        arrives_minute: minute of the run by the end of which the sample is there; inf: never.
    """

    request_rate_rps: FloatArray
    response_time_ms: FloatArray
    cpu_avg: FloatArray
    cpu_max: FloatArray
    ingress_bandwidth_bps: FloatArray
    memory: FloatArray
    disk: FloatArray
    arrives_minute: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Played:
    """What happened, and what monitoring saw of it.

    Attributes:
        seen: what monitoring saw.
        utilization, response_ms: (lanes, centers, m), expected, without noise.
        mean_ms: (lanes, m) request-weighted; requests_rps: (lanes, m) that were answered.
    """

    seen: Readings
    utilization: FloatArray
    response_ms: FloatArray
    mean_ms: FloatArray
    requests_rps: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Stretch:
    """The weather of some minutes, with an axis (lanes,) instead of (weathers,)."""

    arrival_rps: FloatArray
    strain: Strain
    disk: FloatArray
    noise: FloatArray


def gather(world: World, weathers: Sequence[Weather], index: IntArray | None = None) -> Lanes:
    """Put weathers side by side: one lane each, or lane i has weather `index[i]`."""
    stacked = Weather(
        time_s=weathers[0].time_s,
        arrival_rps=_side_by_side([one.arrival_rps for one in weathers]),
        batch=_side_by_side([one.batch for one in weathers]),
        slowdown=_side_by_side([one.slowdown for one in weathers]),
        available=_side_by_side([one.available for one in weathers]),
        disk=_side_by_side([one.disk for one in weathers]),
        noise=_side_by_side([one.noise for one in weathers], axis=1),
        reporting=_stack_reporting([one.reporting for one in weathers]),
    )
    minutes = np.array([[center.cold_minutes] for center in world.centers])
    return Lanes(
        world=world,
        constants=physics.constants(world),
        weather=stacked,
        index=np.arange(len(weathers)) if index is None else np.asarray(index, dtype=np.intp),
        cold_keep=np.exp(-1.0 / minutes),
        cold=any(center.cold_cost > 0 for center in world.centers),
    )


def start(lanes: Lanes) -> SiteState:
    """The state before the first minute: caches know the first split, memory the first load."""
    shape = (lanes.index.size, len(lanes.world.centers))
    return SiteState(
        memory=np.full(shape, np.nan),
        known_share=np.full(shape, np.nan),
        reported=np.full((len(READINGS), *shape), np.nan),
    )


def play(
    lanes: Lanes, state: SiteState, minutes: slice, shares: FloatArray
) -> tuple[Played, SiteState]:
    """Live through some minutes.

    Args:
        lanes: the weathers.
        state: what the minutes before left behind.
        minutes: which of the run, with start and stop and step 1.
        shares: (lanes, centers) held over these minutes, or (lanes, centers, m); they sum to 1.

    Returns:
        What happened, and the state for the minutes that follow.
    """
    stretch = _stretch(lanes, minutes)
    if shares.ndim == 2:
        shares = np.broadcast_to(shares[..., None], stretch.disk.shape)
    happened, requests_rps, known_share = _live(lanes, state, stretch, shares)
    values, memory = observe(lanes.world, lanes.constants, happened, state.memory)
    seen, reported = _report(lanes, state, minutes, values)
    played = Played(
        seen=seen,
        utilization=happened.utilization,
        response_ms=happened.response_ms,
        mean_ms=(shares * happened.response_ms).sum(axis=1),
        requests_rps=requests_rps,
    )
    return played, SiteState(memory=memory, known_share=known_share, reported=reported)


def _stretch(lanes: Lanes, minutes: slice) -> _Stretch:
    weather, index = lanes.weather, lanes.index
    return _Stretch(
        arrival_rps=weather.arrival_rps[index, minutes],
        strain=Strain(
            batch=weather.batch[index, :, minutes],
            slowdown=weather.slowdown[index, :, minutes],
            available=weather.available[index, :, minutes],
        ),
        disk=weather.disk[index, :, minutes],
        noise=weather.noise[:, index, :, minutes],
    )


def _live(
    lanes: Lanes, state: SiteState, stretch: _Stretch, shares: FloatArray
) -> tuple[Happened, FloatArray, FloatArray]:
    """What happens, requests per second (lanes, m), and what caches know afterwards."""
    rps, edge = stretch.arrival_rps, physics.tangent_from(lanes.world)
    if lanes.world.users is not None:
        rps = physics.closed_loop_rps(lanes.world, lanes.constants, stretch.strain, (rps, shares))
    rate_rps = rps[:, None, :] * shares
    rho = physics.utilization(lanes.constants, stretch.strain, rate_rps)
    cost, known_share = _cold(lanes, state, shares)
    happened = Happened(
        rate_rps=rate_rps,
        utilization=rho,
        response_ms=cost * physics.response_ms(lanes.constants, stretch.strain, rho, edge),
        disk=stretch.disk,
        noise=stretch.noise,
    )
    return happened, rps, known_share


def _cold(
    lanes: Lanes, state: SiteState, shares: FloatArray
) -> tuple[FloatArray | float, FloatArray]:
    """Factor on response times of the requests whose data is not in the caches yet.

    The caches' share follows the real one, k[t] = k[t-1] + (1 - keep) (s[t] - k[t-1]); what a
    minute has above k[t-1] is cold.
    """
    if not lanes.cold:
        return 1.0, state.known_share
    last = np.where(np.isnan(state.known_share), shares[..., 0], state.known_share)
    known = np.empty_like(shares)
    for center, keep in enumerate(lanes.cold_keep[:, 0]):
        zi = keep * last[:, center, None]
        known[:, center], _ = lfilter([1.0 - keep], [1.0, -keep], shares[:, center], zi=zi)
    before = np.concatenate([last[..., None], known[..., :-1]], axis=-1)
    cold = np.maximum(shares - before, 0.0) / np.maximum(shares, 1e-9)
    return 1.0 + lanes.constants.cold_cost * cold, known[..., -1]


def _report(
    lanes: Lanes, state: SiteState, minutes: slice, values: FloatArray
) -> tuple[Readings, FloatArray]:
    """Readings as they are reported, and the last that did not stand still."""
    reporting = lanes.weather.reporting
    if reporting is None:
        minute = np.arange(minutes.start, minutes.stop, dtype=np.float64)
        arrives = np.broadcast_to(minute, values.shape[1:])
        return _readings(values, arrives), values[..., -1]
    source = reporting.source[lanes.index, :, minutes]
    inside = source - minutes.start
    values = np.where(
        inside >= 0,
        np.take_along_axis(values, np.maximum(inside, 0)[None], axis=-1),
        state.reported[..., None],
    )
    reported = values[..., -1]
    missing = reporting.missing[:, lanes.index, :, minutes]
    seen = _readings(
        np.where(missing, np.nan, values), reporting.arrives_minute[lanes.index, :, minutes]
    )
    return seen, reported


def _readings(values: FloatArray, arrives_minute: FloatArray) -> Readings:
    return Readings(arrives_minute=arrives_minute, **dict(zip(READINGS, values, strict=True)))


def _stack_reporting(parts: list[Reporting | None]) -> Reporting | None:
    known = [part for part in parts if part is not None]
    if not known:
        return None
    return Reporting(
        source=_side_by_side([part.source for part in known]),
        missing=_side_by_side([part.missing for part in known], axis=1),
        arrives_minute=_side_by_side([part.arrives_minute for part in known]),
    )


def _side_by_side(arrays: list[NDArray[Number]], axis: int = 0) -> NDArray[Number]:
    # One alone is only looked at: a lane that is played a minute at a time copies no month.
    return np.expand_dims(arrays[0], axis) if len(arrays) == 1 else np.stack(arrays, axis=axis)
