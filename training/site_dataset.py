"""A data set of any number of data centers, by their names: what queue laws are fitted on.

The same format comes from GET /v1/services/{service}/dataset for services in more than two
centers. Networks know two centers by their place and have `dataset`; here every center has a
block of columns `NAME:metric`, primary first. An empty cell is missing.
"""

import csv
import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from controlplane.domain.errors import Invalid
from training.dataset import METRICS, CenterSeries
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

SHARE = "scheduling_ratio"
BLOCK = (*METRICS, SHARE)
TIME, LABEL = "time_s", "response_time_ms"
# A name may be anything but this: it parts name and metric.
MARK = ":"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SiteDataset:
    """Rows in order of time.

    Attributes:
        centers: names, primary first, two or more.
        time_s: (n,) UTC epoch seconds at the end of the period that the metrics describe.
        series: of each center.
        shares: (centers, n) applied over the next period, 0..1.
        response_time_ms: (n,) the label, > 0.
    """

    centers: tuple[str, ...]
    time_s: FloatArray
    series: tuple[CenterSeries, ...]
    shares: FloatArray
    response_time_ms: FloatArray

    def __len__(self) -> int:
        """Rows."""
        return int(self.time_s.size)

    def digest(self) -> str:
        """sha256 over the column names and the numbers; the same rows give the same digest."""
        digest = hashlib.sha256(",".join(columns_of(self.centers)).encode())
        digest.update(np.ascontiguousarray(_table(self)).tobytes())
        return digest.hexdigest()


def columns_of(centers: tuple[str, ...]) -> tuple[str, ...]:
    """The header for these centers."""
    blocks = (f"{name}{MARK}{metric}" for name in centers for metric in BLOCK)
    return (TIME, *blocks, LABEL)


def is_site(path: Path) -> bool:
    """Whether the file's header names its centers; False of what cannot be read."""
    try:
        with path.open(encoding="utf-8") as file:
            return MARK in file.readline(1_000_000)
    except (OSError, UnicodeDecodeError):
        return False


def write_csv(dataset: SiteDataset, path: Path) -> None:
    """Write the rows; a missing number is an empty cell."""
    with whole(path) as place, place.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns_of(dataset.centers))
        for row in _table(dataset):
            writer.writerow(["" if value != value else f"{value:.13g}" for value in row.tolist()])


def read_csv(path: Path) -> SiteDataset:
    """Read a data set; rows without a label are left out, the rest is ordered by time.

    Raises:
        Invalid: not a file, a column is missing or unknown, a cell is no number or impossible.
    """
    rows = records(read_text(path), str(path))
    header = tuple(rows[0]) if rows else ()
    centers = _centers(header, str(path))
    table = numbers(rows[1:], len(header), str(path))
    table = in_order(table[np.isfinite(table[:, [0, -1]]).all(axis=1)], str(path))
    _check(header, table, str(path))
    return _from_table(centers, table)


def _centers(header: tuple[str, ...], source: str) -> tuple[str, ...]:
    """The names in the header, whose columns must be whole and in order."""
    named = (column.rpartition(MARK)[0] for column in header[1:-1])
    centers = tuple(dict.fromkeys(named))
    if len(centers) < 2 or header != columns_of(centers):
        raise Invalid(
            "dataset_columns",
            f"{source}: the columns must be {TIME}, for each of two or more centers "
            f"NAME{MARK}{BLOCK[0]} to NAME{MARK}{BLOCK[-1]} ({', '.join(BLOCK)}), and {LABEL}; "
            "the dataset export of the API writes the right ones",
        )
    return centers


def _check(header: tuple[str, ...], table: FloatArray, source: str) -> None:
    for name, values in zip(header[1:-1], table.T[1:-1], strict=True):
        share = name.rpartition(MARK)[2] in (*SHARES, SHARE)
        (check_share if share else check_amount)(name, values, source)
    check_label(table[:, -1], source)


def _table(dataset: SiteDataset) -> FloatArray:
    columns = [dataset.time_s]
    for series, share in zip(dataset.series, dataset.shares, strict=True):
        columns += [getattr(series, metric) for metric in METRICS]
        columns.append(share)
    return np.column_stack([*columns, dataset.response_time_ms])


def _from_table(centers: tuple[str, ...], table: FloatArray) -> SiteDataset:
    blocks = np.split(table[:, 1:-1].T.copy(), len(centers))
    return SiteDataset(
        centers=centers,
        time_s=table[:, 0].copy(),
        series=tuple(
            CenterSeries(**dict(zip(METRICS, block[:-1], strict=True))) for block in blocks
        ),
        shares=np.stack([block[-1] for block in blocks]),
        response_time_ms=table[:, -1].copy(),
    )
