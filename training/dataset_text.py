"""What the two forms of a data set have in common as text: reading, cells, and possible ranges.

Called by `dataset` and `site_dataset`; `source` names the text in errors.
"""

import csv
import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from controlplane.domain.errors import Invalid
from controlplane.domain.telemetry import LEAST_RESPONSE_MS, LIMITS

FloatArray = NDArray[np.float64]

# Metrics that are 0..1; all others are amounts.
SHARES = ("cpu_avg", "cpu_max", "memory", "disk", "traffic_share")
# Year 2100: milliseconds read as seconds are far beyond.
LATEST_S = 4_102_444_800.0


def read_text(path: Path) -> str:
    """Read a whole file.

    Raises:
        Invalid: `dataset_unreadable`.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid("dataset_unreadable", f"{path}: {error}") from error


def records(text: str, source: str) -> list[list[str]]:
    """The cells of each line.

    Raises:
        Invalid: `dataset_unreadable`: a quote that does not end, for one.
    """
    try:
        return list(csv.reader(io.StringIO(text)))
    except csv.Error as error:
        raise Invalid("dataset_unreadable", f"{source} is no CSV: {error}") from error


def numbers(rows: list[list[str]], width: int, source: str) -> FloatArray:
    """Read the rows below a header of `width` columns: (rows, width) float64, empty is NaN.

    Raises:
        Invalid: `dataset_row`: another number of cells; `dataset_cell`: no number.
    """
    table = [_numbers(row, width, f"{source} line {at}") for at, row in enumerate(rows, 2) if row]
    return np.array(table, dtype=np.float64).reshape(-1, width)


def number(cell: str) -> float:
    """Read a number as other readers of the file would.

    Raises:
        ValueError: it is none; Python alone reads 1_000, and digits of any script.
    """
    if "_" in cell or not cell.isascii():
        raise ValueError(f"could not convert string to float: {cell[:40]!r}")
    return float(cell)


def in_order(table: FloatArray, source: str) -> FloatArray:
    """Rows by time, which stands first in each; one that stands several times counts once.

    Raises:
        Invalid: `dataset_range`: no time of UTC epoch seconds; `dataset_time_twice`: two rows are
            about one time and say different things.
    """
    table = table[np.argsort(table[:, 0], kind="stable")]
    if table.size and not 0.0 <= table[0, 0] <= table[-1, 0] <= LATEST_S:
        wrong = table[0, 0] if table[0, 0] < 0 else table[-1, 0]
        message = f"{source}: time_s must be UTC epoch seconds, from 1970 to 2100: {wrong:.13g}"
        raise Invalid("dataset_range", message)
    before, after = table[:-1], table[1:]
    same = ((before == after) | (np.isnan(before) & np.isnan(after))).all(axis=1)
    table = table[np.append(True, ~same)[: len(table)]]
    twice = table[1:, 0][np.diff(table[:, 0]) == 0]
    if twice.size:
        message = f"{source}: rows about one time differ: time_s {twice[0]:.13g}, one row each"
        raise Invalid("dataset_time_twice", message)
    return table


def check_share(name: str, values: FloatArray, source: str) -> None:
    """Refuse what is not 0..1; NaN is missing.

    Raises:
        Invalid: `dataset_range`.
    """
    if ((values < 0) | (values > 1)).any():
        raise Invalid("dataset_range", f"{source}: {name} must be 0..1 (shares, not percent)")


def check_amount(name: str, values: FloatArray, source: str) -> None:
    """Refuse what no sample may say; NaN is missing.

    Raises:
        Invalid: `dataset_range`.
    """
    most = next(most_of(metric) for metric in LIMITS if name.endswith(metric))
    if ((values < 0) | (values > most)).any():
        message = f"{source}: {name} must be finite and not negative, {most:g} at the most"
        raise Invalid("dataset_range", message)


def most_of(metric: str) -> float:
    """What a sample may say at the most; 1 of shares that no sample has."""
    return LIMITS[metric][1] if metric in LIMITS else 1.0


def check_label(values: FloatArray, source: str) -> None:
    """Refuse response times that are none.

    Raises:
        Invalid: `dataset_range`.
    """
    check_amount("response_time_ms", values, source)
    if (values < LEAST_RESPONSE_MS).any():
        message = f"{source}: response_time_ms must be above 0, {LEAST_RESPONSE_MS:g} at least"
        raise Invalid("dataset_range", message)


def _numbers(row: list[str], width: int, place: str) -> list[float]:
    if len(row) != width:
        raise Invalid("dataset_row", f"{place}: {len(row)} cells, expected {width}")
    try:
        return [number(cell) if cell else np.nan for cell in row]
    except ValueError as error:
        raise Invalid("dataset_cell", f"{place}: {error}") from error
