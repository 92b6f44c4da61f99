"""Readings from CSV files with the columns that a mapping names.

A cell that cannot be read is missing, and its row is one finding with line and column; the other
cells of the row count. A row without a readable time is left out.
"""

import csv
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TextIO

from controlplane.domain.errors import Invalid
from training.dataset_text import number
from training.importers.account import Reason
from training.importers.mapping import Center, Reading, Table
from training.importers.recorded import Collection, Recorded, Tell
from training.importers.times import reader

# A file without line ends must not come into memory as one line.
MOST_LINE = 1_000_000
_TELL_EVERY = 20_000
# What exporters write for a value that is not there.
_MISSING = frozenset({"", "nan", "null", "none", "-", "n/a", "na"})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Layout:
    """Where in a row of one file what stands.

    Attributes:
        columns: (index, series) of each metric; where: (index, text) that a row must have.
    """

    time: int
    where: tuple[tuple[int, str], ...]
    columns: tuple[tuple[int, Recorded], ...]
    width: int
    read_time: Callable[[str], float]


def read_center(center: Center, table: Table, into: Collection, tell: Tell) -> None:
    """Read every file of one center.

    Raises:
        Invalid: `dataset_unreadable`: no file, not UTF-8, no CSV; `import_columns`: a column is
            not there; `import_too_large`.
    """
    by_files = sorted(center.readings, key=lambda one: one.files)
    for files, readings in groupby(by_files, key=lambda one: one.files):
        wanted = list(readings)
        for path in files:
            _read_file(path, _Wanted(center=center, table=table, readings=wanted), into, tell)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    center: Center
    table: Table
    readings: Sequence[Reading]


def _read_file(path: Path, wanted: _Wanted, into: Collection, tell: Tell) -> None:
    try:
        if not path.is_file():
            raise Invalid("dataset_unreadable", f"{path}: there is no such file")
        size = max(path.stat().st_size, 1)
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = _Lines(file, str(path))
            rows = csv.reader(lines, delimiter=wanted.table.delimiter, strict=True)
            layout = _layout(next(rows, []), wanted, into, path)
            for count, row in enumerate(rows):
                if row:
                    _take(row, layout, into, (path, rows.line_num))
                if count % _TELL_EVERY == 0:
                    tell(path.name, min(lines.characters / size, 1.0))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise Invalid("dataset_unreadable", f"{path}: {error}") from error
    tell(path.name, 1.0)


class _Lines(Iterator[str]):
    """Lines of bounded length, with how much was read."""

    def __init__(self, file: TextIO, source: str) -> None:
        self._file = file
        self._source = source
        self.characters = 0

    def __next__(self) -> str:
        line = self._file.readline(MOST_LINE)
        if not line:
            raise StopIteration
        if len(line) == MOST_LINE:
            raise Invalid(
                "dataset_unreadable",
                f"{self._source}: a line has {MOST_LINE} characters or more; is it a CSV file?",
            )
        self.characters += len(line)
        return line


def _layout(header: list[str], wanted: _Wanted, into: Collection, path: Path) -> _Layout:
    names = [name.strip() for name in header]
    table, center = wanted.table, wanted.center
    needed = [table.time_column, *dict(center.where), *(one.column for one in wanted.readings)]
    missing = sorted({name for name in needed if name not in names})
    twice = sorted({name for name in needed if names.count(name) > 1})
    if missing or twice:
        raise Invalid(
            "import_columns",
            f"{path} line 1: for {center.name} these columns are missing: {missing}; these stand "
            f"more than once: {twice}; the file has {names}",
        )
    return _Layout(
        time=names.index(table.time_column),
        where=tuple((names.index(name), text) for name, text in center.where),
        columns=tuple(
            (names.index(one.column), into.of(center.name, one)) for one in wanted.readings
        ),
        width=len(names),
        read_time=reader(table.time),
    )


def _take(row: list[str], layout: _Layout, into: Collection, place: tuple[Path, int]) -> None:
    account = into.account
    if len(row) != layout.width:
        account.rows += 1
        words = f"{len(row)} cells, the header has {layout.width}"
        account.add(Reason.ROW_SHORT, _place(place), words)
        return
    if any(row[at].strip() != text for at, text in layout.where):
        return
    account.rows += 1
    try:
        time_s = layout.read_time(row[layout.time])
    except ValueError as error:
        account.add(Reason.TIME_UNREADABLE, _place(place, layout.time), str(error))
        return
    faults: list[tuple[Reason, int, str]] = []
    for at, series in layout.columns:
        value = _number(row[at])
        if value is None:
            faults.append((Reason.VALUE_UNREADABLE, at, f"{row[at][:40]!r} is no number"))
        elif words := into.take(series, time_s, value):
            faults.append((Reason.VALUE_IMPOSSIBLE, at, words))
    if faults:
        reason, at, words = faults[0]
        more = f" (and {len(faults) - 1} more cells)" if len(faults) > 1 else ""
        account.add(reason, _place(place, at), words + more)


def _number(cell: str) -> float | None:
    """The cell's number, NaN when it is missing, None when it is none."""
    try:
        return number(cell)
    except ValueError:
        return math.nan if cell.strip().lower() in _MISSING else None


def _place(place: tuple[Path, int], column: int | None = None) -> str:
    path, line = place
    return f"{path.name}:{line}" if column is None else f"{path.name}:{line}:{column + 1}"
