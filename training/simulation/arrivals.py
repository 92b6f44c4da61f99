"""Requests per second, minute by minute: a drawn year-round pattern, or a real trace.

Called by simulation.weather. The drawn pattern has what a ticketing site has: a day with two
humps, ticket-release times with a steep front and a crowd that stays for minutes, weekends, a
holiday, and noise that remembers the last minutes.
"""

import csv
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.signal import lfilter

from controlplane.domain.errors import Invalid
from training.simulation.world import Arrivals

FloatArray = NDArray[np.float64]

DAY_MINUTES = 1440
# Hours and widths (hours) of the morning and the evening hump, and their height.
_HUMPS = ((10.0, 2.6, 1.0), (19.5, 2.4, 0.9))
# One minute's noise keeps this share of the last minute's.
_NOISE_MEMORY = 0.8


def draw(pattern: Arrivals, minutes: int, rng: Generator, first_day: int = 0) -> FloatArray:
    """Draw `minutes` of arrivals from day `first_day` on, requests per second, all > 0.

    Raises:
        Invalid: as `read_trace`.
    """
    if pattern.trace:
        return _from_trace(pattern, minutes, rng, first_day)
    minute = np.arange(minutes)
    day = first_day + minute // DAY_MINUTES
    profile = _profile(pattern)[minute % DAY_MINUTES]
    # Day 0 is the weekday of start_time_s; 1 January 1970 was a Thursday.
    weekday = (pattern.start_time_s // 86_400 + 3 + day) % 7
    factor = np.where(weekday >= 5, pattern.weekend_factor, 1.0)
    last = pattern.holiday_first_day + pattern.holiday_days
    holiday = (day >= pattern.holiday_first_day) & (day < last)
    factor = np.where(holiday, factor * pattern.holiday_factor, factor)
    noise = remembering(rng.standard_normal(minutes), _NOISE_MEMORY)
    return np.asarray(pattern.peak_rps * factor * profile * np.exp(pattern.noise * noise))


def _from_trace(pattern: Arrivals, minutes: int, rng: Generator, first_day: int) -> FloatArray:
    """The world's trace, from a drawn day on; after its last minute it begins again."""
    rates = pattern.peak_rps * _shipped(pattern.trace)
    days = rates.size // DAY_MINUTES
    start = (int(rng.integers(days)) + first_day) * DAY_MINUTES
    return rates[(start + np.arange(minutes)) % (days * DAY_MINUTES)]


@cache
def _shipped(name: str) -> FloatArray:
    with as_file(files("data").joinpath("traces", name)) as path:
        rates = read_trace(path, 1.0)
    rates.flags.writeable = False
    return rates


def for_run(trace: Path | None, peak_rps: float, minutes: int) -> FloatArray | None:
    """The trace's first `minutes` minutes, None without a trace.

    Raises:
        Invalid: as `read_trace`, or the trace is shorter.
    """
    if trace is None:
        return None
    rates = read_trace(trace, peak_rps)
    if rates.size < minutes:
        raise Invalid(
            "trace_too_short",
            f"{trace} has {rates.size} minutes, {minutes} needed: give fewer --days",
        )
    return rates[:minutes]


def read_trace(path: Path, peak_rps: float) -> FloatArray:
    """Read the column `count` of a trace, scaled so that its 99.5 % quantile is `peak_rps`.

    Raises:
        Invalid: the file has no such columns, no rows, or a count that is no number.
    """
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = (line for line in file if not line.startswith("#"))
            counts = np.array([float(row["count"]) for row in csv.DictReader(rows)])
    except OSError as error:
        raise Invalid("trace_invalid", f"{path}: {error.strerror}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise Invalid("trace_invalid", f"{path}: needs a column count: {error}") from error
    if not ((counts >= 0) & (counts < np.inf)).all():
        message = f"{path}: a count is missing, negative or infinite; a minute without is 0"
        raise Invalid("trace_invalid", message)
    high = np.quantile(counts, 0.995) if counts.size else 0.0
    if not high > 0:
        raise Invalid("trace_invalid", f"{path} has no arrivals")
    return np.maximum(counts / high * peak_rps, peak_rps * 1e-3)


def remembering(draws: FloatArray, memory: float) -> FloatArray:
    """Turn independent draws (..., n) into an AR(1) series with the same spread.

    y[t] = memory y[t-1] + sqrt(1 - memory^2) e[t], started in its stationary state.
    """
    scaled = draws * np.sqrt(1.0 - memory**2)
    scaled[..., 0] = draws[..., 0]
    return np.asarray(lfilter([1.0], [1.0, -memory], scaled, axis=-1))


def _profile(pattern: Arrivals) -> FloatArray:
    """The day in 1,440 parts, about 0..1, with its release times on top."""
    hour = np.arange(DAY_MINUTES) / 60.0
    humps = sum(
        height * np.exp(-0.5 * ((hour - center) / width) ** 2) for center, width, height in _HUMPS
    )
    profile = pattern.night_share + (1.0 - pattern.night_share) * np.asarray(humps)
    for release in pattern.release_hours:
        since = (hour - release) * 60.0
        crowd = np.where(
            since >= 0, np.exp(-np.maximum(since, 0) / pattern.release_decay_minutes), 0
        )
        profile += pattern.release_height * crowd
    return profile
