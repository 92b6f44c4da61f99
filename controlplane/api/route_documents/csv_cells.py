"""CSV (RFC 4180) -> rows of cells that know their line and column.

Called by `csv_routes`. Spreadsheets write commas, semicolons or tabs between the cells, depending
on their language; the first line tells which.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from controlplane.api.fleet_document.nodes import MOST_NODES, Scalar
from controlplane.api.route_documents.documents import not_readable

SEPARATORS = ",;\t"
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_BREAK = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row; `line` counts from 1, as the cells' places do."""

    line: int
    cells: tuple[Scalar, ...]


def rows(text: str) -> list[Row]:
    """The rows that have something in them; Invalid `route_file_unreadable`."""
    text = text.removeprefix("\ufeff")
    first = _BREAK.split(_QUOTED.sub("", text), maxsplit=1)[0]
    separator = max(SEPARATORS, key=first.count)
    found: dict[int, list[Scalar]] = {}
    for number, (row, cell) in enumerate(_cells(text, separator)):
        if number >= MOST_NODES:
            raise not_readable((cell.line, cell.column), f"more than {MOST_NODES} cells up to here")
        found.setdefault(row, []).append(cell)
    kept = (cells for cells in found.values() if any(cell.text for cell in cells))
    return [Row(line=cells[0].line, cells=tuple(cells)) for cells in kept]


def _cells(text: str, separator: str) -> Iterator[tuple[int, Scalar]]:
    """The number of its row and each cell."""
    cell = re.compile(rf'(?:({_QUOTED.pattern})|([^"{separator}\r\n]*))({separator}|\r\n|\r|\n|\Z)')
    position, row, line, begins = 0, 0, 1, 0
    while position < len(text) or (position and text[position - 1] == separator):
        match = cell.match(text, position)
        column = position - begins + 1
        if match is None:
            raise not_readable((line, column), 'a quotation mark stands alone; write it as ""')
        quoted, plain, end = match.groups()
        value = quoted[1:-1].replace('""', '"') if quoted is not None else plain.strip()
        yield row, Scalar(line, column, value, True)
        breaks = list(_BREAK.finditer(match[0]))
        if breaks:
            line += len(breaks)
            begins = position + breaks[-1].end()
        row += end != separator
        position = match.end()
        if end == "":
            return
