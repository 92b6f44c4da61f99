"""From values of each period to training rows.

A row needs the load of every center in its period, a ratio, and the label: the request-weighted
mean response time of the period after it. Every other metric may be missing.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from controlplane.domain.errors import Invalid
from controlplane.domain.telemetry import LEAST_RESPONSE_MS
from training.dataset import METRICS, CenterSeries, Dataset
from training.dataset_text import most_of
from training.importers.account import Account, Reason
from training.importers.mapping import Mapping
from training.importers.recorded import Collection, Key
from training.importers.resampling import Grid, grid_over, resampled
from training.importers.times import moment
from training.importers.units import BANDWIDTH, RATE, RESPONSE
from training.site_dataset import SiteDataset

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# Metric -> one value a period, (n,).
Columns = dict[str, FloatArray]


def joined(mapping: Mapping, collection: Collection) -> Dataset | SiteDataset:
    """Align everything that was recorded and make the rows, of more than two centers by name.

    Raises:
        Invalid: `import_empty`: not one row is complete; the message says what is missing most.
    """
    grid = grid_over(
        [series.arrays()[0] for series in collection.series.values()],
        mapping.period_s,
        mapping.phase_s,
    )
    columns = [_columns(one.name, collection, grid) for one in mapping.centers]
    return _rows(_Periods(mapping=mapping, grid=grid, columns=columns), collection.account)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Periods:
    mapping: Mapping
    grid: Grid
    columns: list[Columns]

    def loads(self) -> FloatArray:
        """(centers, n): requests/s, or bit/s where a center never tells its rate."""
        told = all(np.isfinite(one[RATE]).any() for one in self.columns)
        return np.stack([one[RATE if told else BANDWIDTH] for one in self.columns])


def _columns(center: str, collection: Collection, grid: Grid) -> Columns:
    made = {name: np.full(grid.count, np.nan) for name in (*METRICS, "scheduling_ratio")}
    for key, series in collection.series.items():
        if key[0] == center:
            values = resampled(key, series, grid, collection.account)
            made[key[1]] = _possible(key, values, grid, collection.account)
    return made


def _possible(key: Key, values: FloatArray, grid: Grid, account: Account) -> FloatArray:
    """Without what counters cannot have grown by."""
    most = most_of(key[1])
    for at in np.flatnonzero(values > most):
        words = f"{values[at]:g} is impossible, it must be 0 to {most:g}"
        place = f"{' '.join(key)} at {moment(grid.ends_s()[at])}"
        account.add(Reason.VALUE_IMPOSSIBLE, place, words)
    return np.where(values > most, np.nan, values)


def _rows(periods: _Periods, account: Account) -> Dataset | SiteDataset:
    loads = periods.loads()
    total = loads.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(total > 0, loads / total, np.nan)
    label = _next(_mean_response(periods, loads))
    applied = _applied(periods, shares)
    complete = _complete(periods, (loads, applied, label), account)
    for one, share in zip(periods.columns, shares, strict=True):
        told = np.isfinite(one["traffic_share"])
        one["traffic_share"] = np.where(told, one["traffic_share"], share)
    series = [
        CenterSeries(**{name: one[name][complete] for name in METRICS}) for one in periods.columns
    ]
    if len(series) > 2:
        return SiteDataset(
            centers=tuple(center.name for center in periods.mapping.centers),
            time_s=periods.grid.ends_s()[complete],
            series=tuple(series),
            shares=applied[:, complete],
            response_time_ms=label[complete],
        )
    return Dataset(
        time_s=periods.grid.ends_s()[complete],
        primary=series[0],
        secondary=series[1],
        ratio=applied[0, complete],
        response_time_ms=label[complete],
    )


def _next(values: FloatArray) -> FloatArray:
    return np.append(values[..., 1:], np.full((*values.shape[:-1], 1), np.nan), axis=-1)


def _mean_response(periods: _Periods, loads: FloatArray) -> FloatArray:
    """(n,) ms; a center without load needs no response time."""
    response = np.stack([one[RESPONSE] for one in periods.columns])
    weighted = np.where(loads == 0, 0.0, loads * response).sum(axis=0)
    total = loads.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(total > 0, weighted / total, np.nan)
    return np.where(mean >= LEAST_RESPONSE_MS, mean, np.nan)


def _applied(periods: _Periods, shares: FloatArray) -> FloatArray:
    """Shares over the next period, (centers, n): recorded, fixed, or what that period shows.

    Of two centers the primary's is enough, and only it is there.
    """
    mapping = periods.mapping
    deciding = periods.columns[:1] if len(periods.columns) == 2 else periods.columns
    recorded = [one["scheduling_ratio"] for one in deciding]
    if all(np.isfinite(one).any() for one in recorded):
        return np.stack([_held(one) if mapping.hold_ratio else one for one in recorded])
    if mapping.fixed_ratio is not None:
        return np.full((1, periods.grid.count), mapping.fixed_ratio)
    return _next(shares[: len(deciding)])


def _held(recorded: FloatArray) -> FloatArray:
    """Each value until the next one."""
    last = np.maximum.accumulate(np.where(np.isfinite(recorded), np.arange(recorded.size), -1))
    return np.where(last >= 0, recorded[last], np.nan)


def _complete(
    periods: _Periods, needed: tuple[FloatArray, FloatArray, FloatArray], account: Account
) -> BoolArray:
    """Which periods become rows; each of the others counts once, by its first reason."""
    loads, applied, label = needed
    ends_s = periods.grid.ends_s()
    anything = np.zeros(ends_s.size, dtype=np.bool_)
    for one in periods.columns:
        for values in one.values():
            anything |= np.isfinite(values)
    left = np.ones(ends_s.size, dtype=np.bool_)
    # The last period is only the label of the one before it.
    left[-1] = False
    for reason, good, words in (
        (Reason.PERIOD_EMPTY, anything, "nothing was recorded"),
        (Reason.LOAD_MISSING, np.isfinite(loads).all(axis=0), "the load of a center is missing"),
        (Reason.LABEL_MISSING, np.isfinite(label), "the period after it has no mean response time"),
        (Reason.RATIO_MISSING, np.isfinite(applied).all(axis=0), "the ratio is missing"),
    ):
        for run in _runs(np.flatnonzero(left & ~good)):
            first, last = moment(ends_s[run[0]]), moment(ends_s[run[-1]])
            place = f"period {first}" if run.size == 1 else f"{run.size} periods, {first} to {last}"
            account.add(reason, place, words, run.size)
        left &= good
    if not left.any():
        raise Invalid(
            "import_empty", f"not one of {ends_s.size} periods is complete: {_most(account)}"
        )
    return left


def _runs(numbers: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Cut rising numbers where one is left out."""
    parts = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
    return [part for part in parts if part.size]


def _most(account: Account) -> str:
    periods = (
        Reason.PERIOD_EMPTY, Reason.LOAD_MISSING, Reason.LABEL_MISSING, Reason.RATIO_MISSING,
    )  # fmt: skip
    counts = [f"{account.counts[one]} {one}" for one in periods if account.counts[one]]
    return (
        f"{', '.join(counts) or 'one period has no other after it'}; look at period_s and phase_s"
    )
