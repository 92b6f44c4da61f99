"""Where in a TOML text a value stands, so that an error can say line and column.

tomllib tells values, not places. Read by `mapping_file` when something is wrong.
"""

import re
from collections.abc import Iterator

Path = tuple[str | int, ...]

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\]]+?)\s*\]\]?")
_KEY = re.compile(r"^\s*((?:[A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*[A-Za-z0-9_-]+)*)\s*=")


def place_of(text: str, path: Path) -> tuple[int, int]:
    """Line and column, from 1, of the key that is nearest to `path`; (1, 1) when none is."""
    best, place = 0, (1, 1)
    for line, column, key in _keys(text):
        # An array that is wrong as a whole stands where its first table does.
        shared = min(len(key), len(path)) if path[: len(key)] == key[: len(path)] else 0
        if shared > best:
            best, place = shared, (line, column)
    rest = [part for part in path[best:] if isinstance(part, str)]
    found = (
        re.search(rf"\b{re.escape(rest[0])}\s*=", text.splitlines()[place[0] - 1])
        if (rest and best)
        else None
    )
    return (place[0], found.start() + 1) if found else place


def _keys(text: str) -> Iterator[tuple[int, int, Path]]:
    """Every header and key with its whole path; [[name]] counts its tables."""
    prefix: Path = ()
    tables: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            names = _names(header[2])
            if header[1] == "[[":
                tables[names[-1]] = tables.get(names[-1], -1) + 1
            prefix = tuple(
                part
                for name in names
                for part in ((name, tables[name]) if name in tables else (name,))
            )
            yield number, header.start(1) + 1, prefix
        elif key := _KEY.match(line):
            yield number, key.start(1) + 1, (*prefix, *_names(key[1]))


def _names(dotted: str) -> list[str]:
    return [name.strip().strip("\"'") for name in dotted.split(".")]
