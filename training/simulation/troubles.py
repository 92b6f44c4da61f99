"""What goes wrong: machines that are lost, and monitoring that is late, stuck, blind or silent.

Called by simulation.weather. Nothing here depends on the split, so every strategy meets the same
troubles; a stuck reading repeats what that strategy's own site last reported.
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from training.dataset import METRICS
from training.simulation.arrivals import DAY_MINUTES
from training.simulation.world import Faults, Losses

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int32]

# Metrics that a center reports, in the order of the first axis of `Reporting.missing`.
READINGS = tuple(metric for metric in METRICS if metric != "traffic_share")


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Which minutes of which centers; `first_day` is negative for logs from before the run."""

    first_day: int
    minutes: int
    centers: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reporting:
    """How monitoring spoils what it reports.

    Attributes:
        source: (centers, n) int32, the minute whose readings are reported: its own, or the last
            one before the readings stood still (-1: they stand still from the beginning).
        missing: (readings, centers, n), see `READINGS`.
        arrives_minute: (centers, n) minute by the end of which the sample is there; inf: never.
    """

    source: IntArray
    missing: BoolArray
    arrives_minute: FloatArray


def draw_available(losses: Losses | None, span: Span, rng: Generator) -> FloatArray:
    """Share of the machines that are there, (centers, n): 1 but for the losses."""
    available = np.ones((span.centers, span.minutes))
    if losses is None:
        return available
    for day in range(-(-span.minutes // DAY_MINUTES)):
        draws = rng.random(5)
        if span.first_day + day < 0 or draws[0] >= 1.0 / losses.days_between:
            continue
        hour = losses.first_hour + (losses.last_hour - losses.first_hour) * draws[1]
        start = day * DAY_MINUTES + int(hour * 60)
        spread = losses.longest_minutes - losses.shortest_minutes
        end = start + losses.shortest_minutes + int(spread * draws[2])
        left = losses.least_left + (losses.most_left - losses.least_left) * draws[3]
        available[int(span.centers * draws[4]), start:end] = left
    return available


def draw_reporting(faults: Faults | None, span: Span, rng: Generator) -> Reporting | None:
    """Draw the episodes in which monitoring fails; None where it never does."""
    if faults is None:
        return None
    shape = (span.centers, span.minutes)
    minute = np.arange(span.minutes, dtype=np.int32)
    source = np.broadcast_to(minute, shape).copy()
    missing = np.zeros((len(READINGS), *shape), dtype=np.bool_)
    arrives = np.broadcast_to(minute, shape).astype(np.float64)
    for center in range(span.centers):
        for start, end in _episodes(faults.stuck_per_day, faults.mean_minutes, span, rng):
            source[center, start:end] = start - 1
        for start, end in _episodes(faults.missing_per_day, faults.mean_minutes, span, rng):
            missing[rng.integers(len(READINGS)), center, start:end] = True
        for start, end in _episodes(faults.late_per_day, faults.mean_minutes, span, rng):
            arrives[center, start:end] = minute[start:end] + faults.late_minutes
        for start, end in _episodes(faults.gap_per_day, faults.mean_minutes, span, rng):
            arrives[center, start:end] = np.inf
    # Episodes may meet: what stands still repeats what was reported before both began.
    for center in range(span.centers):
        reported = np.where(source[center] == minute, minute, -1)
        source[center] = np.maximum.accumulate(reported)
    return Reporting(source=source, missing=missing, arrives_minute=arrives)


def _episodes(
    per_day: float, mean_minutes: float, span: Span, rng: Generator
) -> list[tuple[int, int]]:
    starts = np.flatnonzero(rng.random(span.minutes) < per_day / DAY_MINUTES)
    lengths = 1 + rng.exponential(mean_minutes, starts.size).astype(int)
    first = max(-span.first_day, 0) * DAY_MINUTES
    return [
        (int(start), int(start + length))
        for start, length in zip(starts, lengths, strict=True)
        if start >= first
    ]
