"""What instruments measure of a minute: noise, a range, and a lag are theirs.

Called by simulation.site. CPU, bandwidth and memory are consequences of what a center does with
its requests; the draws come with the weather.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from training.simulation.physics import Constants
from training.simulation.troubles import READINGS
from training.simulation.weather import MINUTE_S, NOISES
from training.simulation.world import World

FloatArray = NDArray[np.float64]

# Noise, relative where the metric is an amount.
_CPU_NOISE = 0.012
_CPU_MAX_SPREAD = 0.07
_BANDWIDTH_NOISE = 0.03
_MEMORY_NOISE = 0.006
_MEMORY_LAG_MINUTES = 60.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Happened:
    """What there is to be measured, (lanes, centers, m); `noise` has (kinds,) in front."""

    rate_rps: FloatArray
    utilization: FloatArray
    response_ms: FloatArray
    disk: FloatArray
    noise: FloatArray


def observe(
    world: World, centers: Constants, happened: Happened, memory: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Measure some minutes.

    Args:
        world: its noise of the response time.
        centers: its constants.
        happened: what there is to be measured.
        memory: (lanes, centers) smoothed load of the minute before; NaN before the first.

    Returns:
        (readings, lanes, centers, m) in the order of `READINGS`, and `memory` for what follows.
    """
    noise = dict(zip(NOISES, happened.noise, strict=True))
    rate_rps = happened.rate_rps
    busy = np.minimum(happened.utilization, 1.0)
    cpu = centers.idle_cpu + (centers.full_cpu - centers.idle_cpu) * centers.saturation * busy
    # A minute's count is Poisson; a rate below one request a minute has the noise of one.
    count = np.maximum(rate_rps * MINUTE_S, 1.0)
    seen_rps = np.maximum(rate_rps * (1.0 + noise["rate"] / np.sqrt(count)), 0.0)
    spread = np.maximum(_CPU_MAX_SPREAD * (1.0 + 0.3 * noise["cpu_max"]), 0.0)
    bits = seen_rps * centers.request_bytes * 8.0
    slow = _follow(busy, memory)
    used = centers.memory_idle + centers.memory_load * slow + _MEMORY_NOISE * noise["memory"]
    # A center without requests has no response time.
    answered_ms = np.where(rate_rps > 0, happened.response_ms, np.nan)
    by_name = {
        "request_rate_rps": seen_rps,
        "response_time_ms": answered_ms * np.exp(world.response_noise * noise["response"]),
        "cpu_avg": np.clip(cpu + _CPU_NOISE * noise["cpu_avg"], 0.0, 1.0),
        "cpu_max": np.clip(cpu + spread, 0.0, 1.0),
        "ingress_bandwidth_bps": bits * np.exp(_BANDWIDTH_NOISE * noise["bandwidth"]),
        "memory": np.clip(used, 0.0, 1.0),
        "disk": happened.disk,
    }
    return np.stack([by_name[name] for name in READINGS]), slow[..., -1]


def _follow(busy: FloatArray, last: FloatArray) -> FloatArray:
    """Smooth (lanes, centers, m) with an hour's lag, going on from `last`."""
    lag = 1.0 / _MEMORY_LAG_MINUTES
    known = np.where(np.isnan(last), busy[..., 0], last)
    zi = ((1.0 - lag) * known)[..., None]
    slow, _ = lfilter([lag], [1.0, lag - 1.0], busy, axis=-1, zi=zi)
    return np.asarray(slow)
