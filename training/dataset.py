"""A data set: one row per period, its CSV form, and the 14 inputs and the label made from it.

The same format comes from GET /v1/services/{service}/dataset and from `signalbox simulate`. A
row is (metrics at t, ratio applied over the next period) -> request-weighted mean response time
of that next period, so that training sees what serving will see. An empty cell is missing.
"""

import csv
import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from controlplane.domain.errors import Invalid
from controlplane.domain.features import CENTERS, CenterColumns, design_matrix
from training.dataset_text import (
    SHARES,
    check_amount,
    check_label,
    check_share,
    in_order,
    numbers,
    read_text,
    records,
)
from training.whole_file import whole

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

METRICS = (
    "request_rate_rps",
    "response_time_ms",
    "cpu_avg",
    "cpu_max",
    "ingress_bandwidth_bps",
    "memory",
    "disk",
    "traffic_share",
)
COLUMNS = (
    "time_s",
    *(f"{center}_{metric}" for center in CENTERS for metric in METRICS),
    "ratio",
    "response_time_ms",
)
# Rows that are text at once: a year of minutes as text would be half a gigabyte.
_AT_ONCE = 50_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CenterSeries:
    """Metrics of one centre, each (n,) float64; NaN is missing, no unit in the name is 0..1."""

    request_rate_rps: FloatArray
    response_time_ms: FloatArray
    cpu_avg: FloatArray
    cpu_max: FloatArray
    ingress_bandwidth_bps: FloatArray
    memory: FloatArray
    disk: FloatArray
    traffic_share: FloatArray

    def at(self, rows: IntArray | BoolArray | slice) -> "CenterSeries":
        """The series of some rows: their indices in any order, a mask (n,), or a slice."""
        return CenterSeries(**{metric: getattr(self, metric)[rows] for metric in METRICS})

    @property
    def features(self) -> CenterColumns:
        """The metrics that are inputs of the network."""
        return CenterColumns(
            cpu_avg=self.cpu_avg,
            cpu_max=self.cpu_max,
            ingress_bandwidth_bps=self.ingress_bandwidth_bps,
            memory=self.memory,
            disk=self.disk,
            traffic_share=self.traffic_share,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dataset:
    """Rows in order of time.

    Attributes:
        time_s: (n,) UTC epoch seconds at the end of the period that the metrics describe.
        ratio: (n,) the primary's share over the next period, 0..1.
        response_time_ms: (n,) the label, > 0.
    """

    time_s: FloatArray
    primary: CenterSeries
    secondary: CenterSeries
    ratio: FloatArray
    response_time_ms: FloatArray

    def __len__(self) -> int:
        """Rows."""
        return int(self.time_s.size)

    def inputs(self) -> FloatArray:
        """The inputs of the network: (n, 14) float64, not scaled, NaN is missing."""
        return design_matrix(self.primary.features, self.secondary.features, self.ratio)

    def digest(self) -> str:
        """sha256 over the column names and the numbers; the same rows give the same digest."""
        digest = hashlib.sha256(",".join(COLUMNS).encode())
        digest.update(np.ascontiguousarray(table(self)).tobytes())
        return digest.hexdigest()


def write_csv(dataset: Dataset, path: Path) -> None:
    """Write the rows; numbers keep nine digits, a missing one is an empty cell."""
    rows = table(dataset)
    digits = [_digits(column) for column in rows.T]
    with whole(path) as place, place.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for start in range(0, len(rows), _AT_ONCE):
            part = rows[start : start + _AT_ONCE].T
            columns = [_cells(column, each) for column, each in zip(part, digits, strict=True)]
            writer.writerows(zip(*columns, strict=True))


def read_csv(path: Path) -> Dataset:
    """Read a data set; rows without ratio or label are left out, the rest is ordered by time.

    Raises:
        Invalid: not a file, a column is missing or unknown, a cell is no number or impossible.
    """
    return parse_csv(read_text(path), str(path))


def parse_csv(text: str, source: str) -> Dataset:
    """Read a data set from text; `source` names it in errors, else as `read_csv`."""
    rows = records(text, source)
    header = tuple(rows[0]) if rows else ()
    if set(header) != set(COLUMNS) or len(header) != len(COLUMNS):
        missing, unknown = sorted(set(COLUMNS) - set(header)), sorted(set(header) - set(COLUMNS))
        raise Invalid(
            "dataset_columns",
            f"{source}: missing columns {missing}, unknown columns {unknown}; "
            "`python -m training simulate` and the dataset export of the API write the right ones",
        )
    table = numbers(rows[1:], len(COLUMNS), source)
    table = table[:, [header.index(name) for name in COLUMNS]]
    complete = np.isfinite(table[:, [0, -2, -1]]).all(axis=1)
    dataset = _from_table(in_order(table[complete], source))
    _check(dataset, source)
    return dataset


def _check(dataset: Dataset, source: str) -> None:
    check_share("ratio", dataset.ratio, source)
    for center in CENTERS:
        series: CenterSeries = getattr(dataset, center)
        for metric in METRICS:
            check = check_share if metric in SHARES else check_amount
            check(f"{center}_{metric}", getattr(series, metric), source)
    check_label(dataset.response_time_ms, source)


def table(dataset: Dataset) -> FloatArray:
    """All numbers: (n, len(COLUMNS)) float64 in the order of `COLUMNS`."""
    metrics = [
        getattr(series, metric)
        for series in (dataset.primary, dataset.secondary)
        for metric in METRICS
    ]
    return np.column_stack([dataset.time_s, *metrics, dataset.ratio, dataset.response_time_ms])


def _from_table(table: FloatArray) -> Dataset:
    columns = dict(zip(COLUMNS, table.T.copy(), strict=True))
    series = {
        center: CenterSeries(**{metric: columns[f"{center}_{metric}"] for metric in METRICS})
        for center in CENTERS
    }
    return Dataset(
        time_s=columns["time_s"],
        primary=series["primary"],
        secondary=series["secondary"],
        ratio=columns["ratio"],
        response_time_ms=columns["response_time_ms"],
    )


def _digits(column: FloatArray) -> int:
    # Epoch seconds need ten digits before the point.
    return 13 if column.size and np.nanmax(np.abs(column), initial=0) > 1e9 else 9


def _cells(column: FloatArray, digits: int) -> list[str]:
    return ["" if value != value else f"{value:.{digits}g}" for value in column.tolist()]
