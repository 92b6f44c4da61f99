"""From recorded readings to one value a period.

A period ends at a whole multiple of its length (plus the phase) and owns the times after the end
of the one before it, up to and including its own end. What was not recorded stays missing:
nothing is filled in.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from controlplane.domain.errors import Invalid
from training.importers.account import Account, Reason
from training.importers.mapping import Combine
from training.importers.recorded import Key, Recorded
from training.importers.times import moment
from training.importers.units import Kind

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Nearly six years of minutes; beyond, a time was read wrongly.
MOST_PERIODS = 3_000_000
# Times that were written with few digits belong to the period that they end.
_SLACK = 1e-6
# A counter says nothing about when within a longer silence its requests came.
_MOST_SILENCE = 2.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Periods `first` to `first + count - 1`; number k ends at k * period_s + phase_s."""

    period_s: float
    phase_s: float
    first: int
    count: int

    def ends_s(self) -> FloatArray:
        """(count,) UTC epoch seconds."""
        return np.arange(self.first, self.first + self.count, dtype=np.float64) * self.period_s + (
            self.phase_s
        )

    def places(self, time_s: FloatArray) -> IntArray:
        """The period of each time, from 0."""
        return _numbers(time_s, self.period_s, self.phase_s) - self.first


def grid_over(times: list[FloatArray], period_s: float, phase_s: float) -> Grid:
    """The periods from the first to the last of all times.

    Raises:
        Invalid: `import_empty`: no times; `import_too_large`: too many periods.
    """
    known = [time_s for time_s in times if time_s.size]
    if not known:
        raise Invalid(
            "import_empty",
            "no reading is left: look at the findings, and at names and columns of the mapping",
        )
    edges = np.array([edge for time_s in known for edge in (time_s.min(), time_s.max())])
    numbers = _numbers(edges, period_s, phase_s)
    first, count = int(numbers.min()), int(np.ptp(numbers)) + 1
    if count > MOST_PERIODS:
        raise Invalid(
            "import_too_large",
            f"the times span {count} periods of {period_s:g} s, at most {MOST_PERIODS} are taken: "
            "look at the format of the times, or import a part",
        )
    return Grid(period_s=period_s, phase_s=phase_s, first=first, count=count)


def resampled(key: Key, series: Recorded, grid: Grid, account: Account) -> FloatArray:
    """One value for each period of the grid, (count,), NaN where there is none."""
    time_s, value = _without_doubles(key, *series.arrays(), account)
    if series.reading.kind is Kind.COUNTER:
        return _per_second(key, (time_s, value), grid, account)
    place = grid.places(time_s)
    rows = np.bincount(place, minlength=grid.count)
    if series.reading.kind is Kind.COUNT:
        return _counted(key, (place, value), grid, account)
    if series.reading.combine is Combine.MEAN:
        with np.errstate(divide="ignore", invalid="ignore"):
            sums = np.bincount(place, weights=value, minlength=grid.count)
            return np.where(rows > 0, sums / rows, np.nan)
    made = np.full(grid.count, np.nan)
    if series.reading.combine is Combine.MAX:
        np.fmax.at(made, place, value)
    else:
        made[place] = value
    return made


def _numbers(time_s: FloatArray, period_s: float, phase_s: float) -> IntArray:
    return np.ceil((time_s - phase_s) / period_s - _SLACK).astype(np.int64)


def _without_doubles(
    key: Key, time_s: FloatArray, value: FloatArray, account: Account
) -> tuple[FloatArray, FloatArray]:
    """A time that stands twice with one value is one; with several, none can be believed."""
    moments, first, counts = np.unique(time_s, return_index=True, return_counts=True)
    if moments.size == time_s.size:
        return time_s, value
    low = np.minimum.reduceat(value, first)
    high = np.maximum.reduceat(value, first)
    for at in np.flatnonzero(counts > 1):
        words = "one value, taken once" if low[at] == high[at] else "several values, none taken"
        place = f"{' '.join(key)} at {moment(moments[at])}"
        account.add(Reason.TIME_TWICE, place, f"stands {counts[at]} times with {words}")
    kept = low == high
    return moments[kept], low[kept]


def _counted(
    key: Key, placed: tuple[IntArray, FloatArray], grid: Grid, account: Account
) -> FloatArray:
    """Amounts per second; a period with fewer rows than usual would look quiet: it is missing."""
    place, value = placed
    rows = np.bincount(place, minlength=grid.count)
    sums = np.bincount(place, weights=value, minlength=grid.count)
    usual = float(np.median(rows[rows > 0])) if value.size else 0.0
    partial = (rows > 0) & (rows < usual)
    for at in np.flatnonzero(partial):
        where = f"{' '.join(key)} at {moment(grid.ends_s()[at])}"
        account.add(Reason.COUNT_PARTIAL, where, f"{rows[at]} rows, usual are {usual:g}")
    return np.where((rows > 0) & ~partial, sums / grid.period_s, np.nan)


def _per_second(
    key: Key, recorded: tuple[FloatArray, FloatArray], grid: Grid, account: Account
) -> FloatArray:
    """Growth of a counter per second, by straight lines between its readings.

    A counter that fell has started again, and how far it had come before nobody knows: the
    periods that touch that interval are missing. So are those within a long silence.
    """
    time_s, value = recorded
    if time_s.size < 2:
        return np.full(grid.count, np.nan)
    step_s, growth = np.diff(time_s), np.diff(value)
    for at in np.flatnonzero(growth < 0):
        place = f"{' '.join(key)} at {moment(time_s[at + 1])}"
        account.add(Reason.COUNTER_RESET, place, f"fell from {value[at]:g} to {value[at + 1]:g}")
    most_s = _MOST_SILENCE * max(grid.period_s, float(np.median(step_s)))
    good = (growth >= 0) & (step_s <= most_s)
    grown = np.concatenate([[0.0], np.cumsum(np.where(good, growth, 0.0))])
    unknown_s = np.concatenate([[0.0], np.cumsum(np.where(good, 0.0, step_s))])
    ends_s = grid.ends_s()
    edges_s = np.append(ends_s[:1] - grid.period_s, ends_s)
    amount = np.diff(np.interp(edges_s, time_s, grown, left=np.nan, right=np.nan))
    gap_s = np.diff(np.interp(edges_s, time_s, unknown_s, left=np.nan, right=np.nan))
    return np.where(gap_s <= 0, amount / grid.period_s, np.nan)
