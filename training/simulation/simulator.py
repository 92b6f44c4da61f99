"""Two simulated data centres with known truth.

`draw_conditions` draws everything that does not depend on the split (arrivals, loads of their
own, slowdowns, noise); every other function is a plain function of (world, conditions, ratio).
So two strategies judged under one seed meet the same weather (common random numbers), and the
best ratio of each minute is known. Time is the last axis everywhere; leading axes (candidates,
strategies) broadcast. The physics of a centre is the queue law (domain.strategies.queue_law):

    rho = rate * slowdown / capacity + batch,   response = f(rho),   cpu = idle + span * s * rho
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.signal import lfilter

from controlplane.domain.strategies.queue_law import response_time_ms
from training.dataset import CenterSeries, Dataset
from training.simulation import arrivals
from training.simulation.arrivals import DAY_MINUTES
from training.simulation.world import CenterWorld, World

FloatArray = NDArray[np.float64]

MINUTE_S = 60
# Noise of the instruments, relative where the metric is an amount.
_CPU_NOISE = 0.012
_CPU_MAX_SPREAD = 0.07
_BANDWIDTH_NOISE = 0.03
_MEMORY_NOISE = 0.006
_MEMORY_LAG_MINUTES = 60.0
_NOISES = ("rate", "response", "cpu_avg", "cpu_max", "bandwidth", "memory")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CenterConditions:
    """What happens to one centre whatever the split.

    Attributes:
        batch: (n,) load of its own, share of capacity; slowdown: (n,) cost of a request, >= 1.
        disk: (n,) 0..1; noise: one (n,) of standard normal draws per name in `_NOISES`.
    """

    batch: FloatArray
    slowdown: FloatArray
    disk: FloatArray
    noise: dict[str, FloatArray]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Conditions:
    """What happens to both; `time_s` (n,) is the end of each minute, `arrival_rps` (n,)."""

    time_s: FloatArray
    arrival_rps: FloatArray
    primary: CenterConditions
    secondary: CenterConditions


def draw_conditions(
    world: World, minutes: int, seed: int, arrival_rps: FloatArray | None = None
) -> Conditions:
    """Draw the weather of `minutes` minutes; `arrival_rps` (minutes,) replaces drawn arrivals."""
    streams = [np.random.default_rng([seed, stream]) for stream in range(3)]
    if arrival_rps is None:
        arrival_rps = arrivals.draw(world.arrivals, minutes, streams[0])
    start_s = world.arrivals.start_time_s
    return Conditions(
        time_s=start_s + MINUTE_S * np.arange(minutes, dtype=np.float64),
        arrival_rps=arrival_rps[:minutes],
        primary=_center_conditions(world.primary, minutes, streams[1]),
        secondary=_center_conditions(world.secondary, minutes, streams[2]),
    )


def operator_ratio(world: World, minutes: int, seed: int) -> FloatArray:
    """The historical ratio: (minutes,), held for some minutes, about a value from experience."""
    hold = world.operator.hold_minutes
    draws = np.random.default_rng([seed, 3]).standard_normal(-(-minutes // hold))
    steps = world.operator.ratio + world.operator.ratio_sd * arrivals.remembering(draws, 0.7)
    return np.repeat(np.clip(np.round(steps, 2), 0.2, 0.8), hold)[:minutes]


def utilizations(
    world: World, conditions: Conditions, ratio: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Utilization of both centres, >= 0, under `ratio` (..., n) of the primary."""
    return (
        _utilization(world.primary, conditions.primary, conditions.arrival_rps * ratio),
        _utilization(world.secondary, conditions.secondary, conditions.arrival_rps * (1 - ratio)),
    )


def true_response_ms(world: World, conditions: Conditions, ratio: FloatArray) -> FloatArray:
    """Request-weighted expected response time in ms under `ratio` (..., n), without noise."""
    first, second = utilizations(world, conditions, ratio)
    return np.asarray(
        ratio * response_time_ms(world.primary.law, first)
        + (1.0 - ratio) * response_time_ms(world.secondary.law, second)
    )


def simulate(world: World, conditions: Conditions, ratio: FloatArray) -> Dataset:
    """Run both centres under `ratio` (n,) and write down what monitoring would have seen.

    Returns:
        n - 1 rows: the metrics of minute t, the ratio and the mean response time of minute t+1.
    """
    primary = _observe(world, world.primary, conditions.primary, conditions.arrival_rps * ratio)
    secondary = _observe(
        world, world.secondary, conditions.secondary, conditions.arrival_rps * (1.0 - ratio)
    )
    total_rps = primary.request_rate_rps + secondary.request_rate_rps
    with np.errstate(invalid="ignore", divide="ignore"):
        share = primary.request_rate_rps / total_rps
        mean_ms = share * primary.response_time_ms + (1.0 - share) * secondary.response_time_ms
    return Dataset(
        time_s=conditions.time_s[:-1],
        primary=_rows(primary, share),
        secondary=_rows(secondary, 1.0 - share),
        ratio=ratio[1:],
        response_time_ms=mean_ms[1:],
    )


def _center_conditions(center: CenterWorld, minutes: int, rng: Generator) -> CenterConditions:
    batch = center.batch_mean + center.batch_sd * arrivals.remembering(
        rng.standard_normal(minutes), float(np.exp(-1.0 / center.batch_minutes))
    )
    since_job = np.arange(minutes) % DAY_MINUTES - center.nightly_hour * 60.0
    batch += np.where((since_job >= 0) & (since_job < 60), center.nightly_load, 0.0)
    fill = rng.uniform(0.3, 0.5) + 0.1 * (np.arange(minutes) / DAY_MINUTES % 7) / 7
    return CenterConditions(
        batch=np.clip(batch, 0.0, 0.9),
        slowdown=_slowdown(center, minutes, rng),
        disk=np.clip(fill + 0.002 * rng.standard_normal(minutes), 0.0, 1.0),
        noise={name: rng.standard_normal(minutes) for name in _NOISES},
    )


def _slowdown(center: CenterWorld, minutes: int, rng: Generator) -> FloatArray:
    slowdown = np.ones(minutes)
    for start in np.flatnonzero(rng.random(minutes) < center.slowdowns_per_day / DAY_MINUTES):
        length = 1 + int(rng.exponential(center.slowdown_minutes))
        height = 1.0 + (center.slowdown_factor - 1.0) * rng.uniform(0.3, 1.0)
        part = slowdown[start : start + length]
        np.maximum(part, height, out=part)
    return slowdown


def _utilization(
    center: CenterWorld, conditions: CenterConditions, rate_rps: FloatArray
) -> FloatArray:
    return rate_rps * conditions.slowdown / center.capacity_rps + conditions.batch


def _observe(
    world: World, center: CenterWorld, conditions: CenterConditions, rate_rps: FloatArray
) -> CenterSeries:
    noise = conditions.noise
    rho = _utilization(center, conditions, rate_rps)
    busy = np.minimum(rho, 1.0)
    cpu = center.idle_cpu + (center.full_cpu - center.idle_cpu) * center.saturation * busy
    # A minute's count is Poisson; a rate below one request an hour stays what it is.
    count = np.maximum(rate_rps * MINUTE_S, 1.0)
    seen_rps = np.maximum(rate_rps * (1.0 + noise["rate"] / np.sqrt(count)), 0.0)
    spread = _CPU_MAX_SPREAD * (1.0 + 0.3 * noise["cpu_max"])
    lag = 1.0 / _MEMORY_LAG_MINUTES
    slow, _ = lfilter([lag], [1.0, lag - 1.0], busy, axis=-1, zi=(1.0 - lag) * busy[..., :1])
    return CenterSeries(
        request_rate_rps=seen_rps,
        response_time_ms=response_time_ms(center.law, rho)
        * np.exp(world.response_noise * noise["response"]),
        cpu_avg=np.clip(cpu + _CPU_NOISE * noise["cpu_avg"], 0.0, 1.0),
        cpu_max=np.clip(cpu + np.maximum(spread, 0.0), 0.0, 1.0),
        ingress_bandwidth_bps=seen_rps
        * center.request_bytes
        * 8.0
        * np.exp(_BANDWIDTH_NOISE * noise["bandwidth"]),
        memory=np.clip(
            center.memory_idle + center.memory_load * slow + _MEMORY_NOISE * noise["memory"], 0, 1
        ),
        disk=conditions.disk,
        traffic_share=np.full_like(seen_rps, np.nan),
    )


def _rows(series: CenterSeries, share: FloatArray) -> CenterSeries:
    return CenterSeries(
        request_rate_rps=series.request_rate_rps[:-1],
        response_time_ms=series.response_time_ms[:-1],
        cpu_avg=series.cpu_avg[:-1],
        cpu_max=series.cpu_max[:-1],
        ingress_bandwidth_bps=series.ingress_bandwidth_bps[:-1],
        memory=series.memory[:-1],
        disk=series.disk[:-1],
        traffic_share=share[:-1],
    )
