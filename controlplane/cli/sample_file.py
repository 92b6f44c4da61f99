"""Reads samples from a file: JSON lines, a JSON array, or CSV with a header.

Called by `samples`. Only the form of the file is checked here; whether a value can be a fact is
the server's to say, so that one rule holds for every sender.
"""

import csv
import io
import json
import math
from collections.abc import Iterator

from controlplane.domain.errors import Invalid

Row = dict[str, object]

TOO_DEEP = "is nested too deeply for samples"
# Columns of a CSV file that stay text; every other cell is a number, an empty one is missing.
TEXT_COLUMNS = frozenset({"service", "datacenter", "time"})


def read_samples(text: str, name: str) -> list[Row]:
    """Rows of a file's text, in order.

    Args:
        name: the file's name, for its ending (`.csv`) and for findings.

    Raises:
        Invalid: `samples_unreadable`, with every bad line at its place.
    """
    if name.endswith(".csv") or _looks_like_csv(text):
        rows, findings = _from_csv(text)
    elif text.lstrip().startswith("["):
        rows, findings = _from_array(text)
    else:
        rows, findings = _from_lines(text)
    if findings:
        raise Invalid(
            "samples_unreadable",
            f"{len(findings)} lines cannot be read; nothing was sent",
            {"errors": findings, "file": name},
        )
    return rows


def batches(rows: list[Row], size: int) -> Iterator[tuple[int, list[Row]]]:
    """The rows in order, at most `size` at a time, each batch with the number of its first row."""
    for start in range(0, len(rows), size):
        yield start, rows[start : start + size]


def _looks_like_csv(text: str) -> bool:
    head = text.partition("\n")[0]
    return "{" not in head and "[" not in head and "," in head


def _from_lines(text: str) -> tuple[list[Row], list[Row]]:
    rows: list[Row] = []
    findings: list[Row] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            findings.append(_finding(number, error.colno, f"is not JSON: {error.msg}"))
            continue
        except RecursionError:
            findings.append(_finding(number, 1, TOO_DEEP))
            continue
        if isinstance(row, dict):
            rows.append(row)
            findings.extend(_not_finite(row, number))
        else:
            findings.append(_finding(number, 1, "must be one JSON object: one sample a line"))
    return rows, findings


def _from_array(text: str) -> tuple[list[Row], list[Row]]:
    try:
        rows = json.loads(text)
    except json.JSONDecodeError as error:
        return [], [_finding(error.lineno, error.colno, f"is not JSON: {error.msg}")]
    except RecursionError:
        return [], [_finding(1, 1, TOO_DEEP)]
    if all(isinstance(row, dict) for row in rows):
        return rows, [
            _finding(1, 1, f"sample {index}: {finding['message']}")
            for index, row in enumerate(rows)
            for finding in _not_finite(row, 1)
        ]
    return [], [_finding(1, 1, "the array must hold JSON objects only, one for each sample")]


def _from_csv(text: str) -> tuple[list[Row], list[Row]]:
    reader = csv.DictReader(io.StringIO(text), skipinitialspace=True, restkey="", strict=True)
    rows: list[Row] = []
    findings: list[Row] = []
    try:
        for cells in reader:
            if "" in cells or None in cells.values():
                head = len(reader.fieldnames or ())
                findings.append(_finding(reader.line_num, 1, f"must have {head} cells"))
                continue
            row, bad = _csv_row(cells, reader.line_num)
            rows.append(row)
            findings.extend(bad)
    except csv.Error as error:
        # DictReader's own count still stands at the line before.
        findings.append(_finding(reader.reader.line_num, 1, f"is not CSV: {error}"))
    return rows, findings


def _csv_row(cells: dict[str, str], line: int) -> tuple[Row, list[Row]]:
    row: Row = {}
    findings: list[Row] = []
    for name, cell in cells.items():
        if cell == "":
            continue
        if name in TEXT_COLUMNS:
            row[name] = cell
            continue
        try:
            row[name] = float(cell)
        except ValueError:
            findings.append(
                _finding(line, 1, f"{name} is {cell!r}; give a number, or nothing when missing")
            )
    return row, findings + _not_finite(row, line)


def _not_finite(row: Row, line: int) -> list[Row]:
    """Findings about numbers that JSON cannot carry: one would make the whole call unreadable."""
    return [
        _finding(line, 1, f"{name} is {value}; give a finite number, or nothing when missing")
        for name, value in row.items()
        if isinstance(value, float) and not math.isfinite(value)
    ]


def _finding(line: int, column: int, message: str) -> Row:
    return {"line": line, "column": column, "message": message}
