"""What the two forms of a data set have in common as text: reading, cells, and possible ranges.

Called by `dataset` and `site_dataset`; `source` names the text in errors.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from controlplane.domain.errors import Invalid

FloatArray = NDArray[np.float64]

# Metrics that are 0..1; all others are amounts.
SHARES = ("cpu_avg", "cpu_max", "memory", "disk", "traffic_share")


def read_text(path: Path) -> str:
    """Read a whole file.

    Raises:
        Invalid: `dataset_unreadable`.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid("dataset_unreadable", f"{path}: {error}") from error


def numbers(rows: list[list[str]], width: int, source: str) -> FloatArray:
    """Read the rows below a header of `width` columns: (rows, width) float64, empty is NaN.

    Raises:
        Invalid: `dataset_row`: another number of cells; `dataset_cell`: no number.
    """
    table = [_numbers(row, width, f"{source} line {at}") for at, row in enumerate(rows, 2) if row]
    return np.array(table, dtype=np.float64).reshape(-1, width)


def check_share(name: str, values: FloatArray, source: str) -> None:
    """Refuse what is not 0..1; NaN is missing.

    Raises:
        Invalid: `dataset_range`.
    """
    if ((values < 0) | (values > 1)).any():
        raise Invalid("dataset_range", f"{source}: {name} must be 0..1 (shares, not percent)")


def check_amount(name: str, values: FloatArray, source: str) -> None:
    """Refuse what is negative or infinite; NaN is missing.

    Raises:
        Invalid: `dataset_range`.
    """
    if ((values < 0) | np.isinf(values)).any():
        raise Invalid("dataset_range", f"{source}: {name} must be finite and not negative")


def check_label(values: FloatArray, source: str) -> None:
    """Refuse response times that are not above 0.

    Raises:
        Invalid: `dataset_range`.
    """
    check_amount("response_time_ms", values, source)
    if (values <= 0).any():
        raise Invalid("dataset_range", f"{source}: response_time_ms must be above 0")


def _numbers(row: list[str], width: int, place: str) -> list[float]:
    if len(row) != width:
        raise Invalid("dataset_row", f"{place}: {len(row)} cells, expected {width}")
    try:
        return [float(cell) if cell else np.nan for cell in row]
    except ValueError as error:
        raise Invalid("dataset_cell", f"{place}: {error}") from error
