"""What commands print: data on standard output, words about it on standard error.

On a terminal tables are drawn, long text folded; in a pipe they are plain columns without frames,
one line a row. Neither cuts an id, so it can be copied. `--json` prints the API's own answer.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

# Cells up to this length (ids, times, shares) are not folded, however narrow the terminal is: it
# wraps the lines of a table that is still wider.
WHOLE_LENGTH = 24
# What a column of a drawn table needs beside its text.
FRAME = 3


def emit(value: object) -> None:
    """Print one JSON document."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


def emit_line(value: object) -> None:
    """Print one JSON document on one line, at once, for streams."""
    print(json.dumps(value, ensure_ascii=False, separators=(",", ":")), flush=True)


def note(message: str) -> None:
    """Say something that is not data."""
    print(message, file=sys.stderr)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows under column heads; an absent value (None) shows as a dash."""
    cells = [["-" if cell is None else str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    if sys.stdout.isatty():
        _draw(columns, cells, widths)
        return
    for row in (columns, *cells):
        print(
            "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        )


def listing(
    items: Sequence[Mapping[str, Any]],
    as_json: bool,
    columns: Sequence[str],
    cells: Callable[[Mapping[str, Any]], Sequence[object]],
) -> None:
    """Print what the API lists: with `--json` as it stands, else a row of `cells` for each item."""
    if as_json:
        emit(items)
    else:
        table(columns, map(cells, items))


def facts(pairs: Iterable[tuple[str, object]]) -> None:
    """Print `name: value` lines with the values aligned; None shows as a dash."""
    known = [(name, "-" if value is None else str(value)) for name, value in pairs]
    width = max((len(name) for name, _ in known), default=0)
    for name, value in known:
        print(f"{name + ':':<{width + 2}}{value}")


def differences(
    before: Mapping[str, object], after: Mapping[str, object], indent: str = ""
) -> None:
    """Print one line for each member of a JSON object that a change makes another one.

    Objects are gone into (`flash_sale.stock`), and so are lists of as many objects as before
    (`clusters[0].servers`): whole, the one number that has changed is not to be found in them.
    """
    for path, old, new in _changed("", before, after):
        print(f"{indent}{path}: {json.dumps(old)} -> {json.dumps(new)}")


def _changed(path: str, old: object, new: object) -> Iterator[tuple[str, object, object]]:
    """Path, old and new value of each smallest part that differs."""
    if old == new:
        return
    for key, parts in _parts(old, new):
        yield from _changed(f"{path}{key}" if path else key.lstrip("."), *parts)
    if not _parts(old, new):
        yield path, old, new


def _parts(old: object, new: object) -> Sequence[tuple[str, tuple[object, object]]]:
    """What two values are made of, side by side; () for values that are told whole."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [(f".{name}", (old.get(name), new.get(name))) for name in sorted({*old, *new})]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = list(zip(old, new, strict=True))
        if all(isinstance(one, dict) for pair in pairs for one in pair):
            return [(f"[{place}]", pair) for place, pair in enumerate(pairs)]
    return ()


def members(value: Mapping[str, object], indent: str = "") -> None:
    """Print one line for each member of a JSON object, in its own order."""
    for name, member in value.items():
        print(f"{indent}{name}: {json.dumps(member)}")


def when(value: object) -> str | None:
    """A time of the API (RFC 3339 text or UTC epoch seconds) as local clock time to the second."""
    if isinstance(value, str) and value:
        moment = datetime.fromisoformat(value)
    elif isinstance(value, int | float) and value > 0:
        moment = datetime.fromtimestamp(value, UTC)
    else:
        return None
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def percent(share: object) -> str | None:
    """A share 0..1 as a percentage with one decimal."""
    return f"{100 * share:.1f} %" if isinstance(share, int | float) else None


def short(digest: object) -> str | None:
    """The first 12 characters of a digest; None when there is none."""
    return digest[:12] if isinstance(digest, str) and digest else None


def number(value: object) -> str | None:
    """A number with one decimal; None when it is missing."""
    return f"{value:,.1f}" if isinstance(value, int | float) else None


def clipped(text: str, length: int) -> str | None:
    """The beginning of a text; None when it is empty."""
    return (text if len(text) <= length else text[: length - 3] + "...") or None


def _draw(columns: Sequence[str], cells: Sequence[Sequence[str]], widths: Sequence[int]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    fitting = _fitting(widths, console.width - FRAME * len(columns))
    console.width = max(console.width, sum(fitting) + FRAME * len(columns))
    drawn = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name, width in zip(columns, fitting, strict=True):
        drawn.add_column(name, overflow="fold", width=width)
    for row in cells:
        drawn.add_row(*map(Text, row))
    console.print(drawn)


def _fitting(widths: Sequence[int], room: int) -> list[int]:
    """The widths, the widest first made less until all fit, none below what stays whole."""
    fitting = list(widths)
    for index in sorted(range(len(widths)), key=lambda index: -widths[index]):
        least = min(widths[index], WHOLE_LENGTH)
        fitting[index] = max(least, widths[index] - max(0, sum(fitting) - room))
    return fitting
