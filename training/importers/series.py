"""One column of numbers over time, as public traces have it: `timestamp,value`.

Read by the drift benchmark and tests. Real metrics of a service have columns and units of their
own and go through a mapping; here is none, and a bad row is an error.
"""

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from controlplane.domain.errors import Invalid
from training.importers.times import TimeFormat, reader

FloatArray = NDArray[np.float64]

TIME, VALUE = "timestamp", "value"


def read_series(path: Path) -> tuple[FloatArray, FloatArray]:
    """Read a series in order of time.

    Args:
        path: CSV with the columns timestamp (RFC 3339, UTC without an offset) and value.

    Returns:
        time_s: (n,) UTC epoch seconds, rising; value: (n,), NaN where the cell is empty.

    Raises:
        Invalid: no file, other columns, or a cell that is no time or number, with its line; a
            time that stands twice.
    """
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = csv.DictReader(file)
            if not {TIME, VALUE} <= set(rows.fieldnames or ()):
                found = ", ".join(rows.fieldnames or ()) or "nothing"
                message = f"{path}: the columns are {found}; {TIME} and {VALUE} are needed"
                raise Invalid("series_invalid", message)
            points = [_point(row, f"{path} line {rows.line_num}") for row in rows]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise Invalid("dataset_unreadable", f"{path}: {error}") from error
    table = np.array(points, dtype=np.float64).reshape(-1, 2)
    table = table[np.argsort(table[:, 0], kind="stable")]
    time_s, value = table.T.copy()
    if (np.diff(time_s) <= 0).any():
        twice = int(np.flatnonzero(np.diff(time_s) <= 0)[0])
        raise Invalid("series_invalid", f"{path}: the time {time_s[twice]:.0f} s stands twice")
    return time_s, value


_read_time = reader(TimeFormat())


def _point(row: dict[str, str], where: str) -> tuple[float, float]:
    try:
        cell = row[VALUE]
        return _read_time(row[TIME] or ""), float(cell) if cell else np.nan
    except ValueError as error:
        raise Invalid("series_invalid", f"{where}: {error}") from error
