"""CSV -> routes: one row a route, the first row names the columns.

Called by `formats`. Only `path` is needed. What no column says stands in `more`, as JSON in the
words of the fleet document, so that every route can be written.
"""

from collections.abc import Callable, Mapping

from controlplane.api.fleet_document.findings import Findings, quoted
from controlplane.api.fleet_document.findings import listed as names_listed
from controlplane.api.fleet_document.nodes import Listing, Node, Scalar, Table, compose
from controlplane.api.fleet_document.reading import Place
from controlplane.api.route_documents.csv_cells import Row, rows
from controlplane.api.route_documents.documents import not_readable
from controlplane.api.route_documents.imports import ImportWish
from controlplane.api.route_documents.naming import Wanted, of_path
from controlplane.api.route_documents.path_templates import path_match
from controlplane.api.route_documents.sketches import Sketch, listing, table, text, texts
from controlplane.domain.errors import Invalid

COLUMNS = (
    "id",
    "hosts",
    "match",
    "path",
    "methods",
    "service",
    "versions",
    "conditions",
    "sources",
    "gateways",
    "priority",
    "timeout_ms",
    "retries",
    "authentication",
    "valid_from",
    "valid_until",
    "tls",
    "more",
)
PLAIN = frozenset(
    {
        "id",
        "service",
        "priority",
        "timeout_ms",
        "retries",
        "valid_from",
        "valid_until",
        "tls",
    }
)


def read(content: str, wish: ImportWish, findings: Findings) -> list[Sketch]:
    """The routes of a table; Invalid when it cannot be read at all."""
    table_rows = rows(content)
    if not table_rows:
        return []
    columns = _columns(table_rows[0])
    return [
        sketch
        for number, row in enumerate(table_rows[1:], 2)
        if (sketch := _sketch(row, columns, wish, _place(row, number, findings))) is not None
    ]


def _columns(row: Row) -> list[str]:
    """The names of the columns; an unknown one ends the import, for it may be a condition."""
    names = [cell.text.strip().lower() for cell in row.cells]
    for cell, name in zip(row.cells, names, strict=True):
        if name not in COLUMNS or names.count(name) > 1:
            problem = f"the column {quoted(name)}; each once of {names_listed(COLUMNS)}"
            raise not_readable((cell.line, cell.column), problem)
    if "path" not in names:
        raise not_readable((row.line, 1), "no column `path`")
    return names


def _place(row: Row, number: int, findings: Findings) -> Place:
    return Place(node=row.cells[0], path=f"row {number}", findings=findings)


def _sketch(row: Row, columns: list[str], wish: ImportWish, place: Place) -> Sketch | None:
    faults = place.findings.count
    if len(row.cells) != len(columns):
        place.report(f"{len(columns)} cells, as the first row has", f"{len(row.cells)} cells")
        return None
    cells = {
        name: place.child(name, cell)
        for name, cell in zip(columns, row.cells, strict=True)
        if cell.text
    }
    entries: dict[str, Node] = {}
    if "path" not in cells:
        place.report("a path in each row", "without a path")
        return None
    for name, cell in cells.items():
        if name in PLAIN:
            entries[name] = cell.node
        elif name in _READERS:
            entries[name] = _READERS[name](cell)
    entries["path"] = _path(cells)
    if "more" in cells:
        _add_more(entries, cells["more"])
    if wish.service and not {"service", "redirect", "response"} & entries.keys():
        entries["service"] = text(place, wish.service)
    if place.findings.count > faults:
        return None
    return Sketch(place=place, entries=entries, wanted=_wanted(cells, wish))


def _wanted(cells: Mapping[str, Place], wish: ImportWish) -> Wanted:
    words = {name: _word(cell) for name, cell in cells.items()}
    owner = wish.collection or words.get("service") or wish.service
    name = of_path(words["path"])
    return Wanted(
        name=f"{owner}.{name}" if owner else name,
        seed=" ".join(f"{key}={words[key]}" for key in sorted(words)),
    )


def _path(cells: Mapping[str, Place]) -> Node:
    """Without `match` a path is exact, or a template when it has parameters."""
    cell = cells["path"]
    if "match" in cells:
        return table(cell, {"type": cells["match"].node, "value": cell.node})
    return path_match(cell, _word(cell))


def _words(place: Place) -> Node:
    """Words with spaces between."""
    return texts(place, _word(place).split())


def _versions(place: Place) -> Node:
    """`stable=9000 canary=1000`."""
    pairs = [word.partition("=") for word in _word(place).split()]
    nodes = []
    for version, _, weight in pairs:
        at = Scalar(place.node.line, place.node.column, weight, True)
        nodes.append(table(place, {"version": text(place, version), "weight": at}))
    return listing(place, nodes)


def _conditions(place: Place) -> Node:
    """A line for each: `header x-channel Exact mini-program`."""
    nodes = []
    for line in _word(place).splitlines():
        words = line.split(maxsplit=3)
        if len(words) < 3:
            place.report(
                "lines of PART NAME TYPE VALUE, as header x-channel Exact app", quoted(line)
            )
            continue
        names = ("part", "name", "type", "value")
        pairs = zip(names, words, strict=False)
        nodes.append(table(place, {name: text(place, word) for name, word in pairs}))
    return listing(place, nodes)


def _add_more(entries: dict[str, Node], place: Place) -> None:
    """What stands in `more`, as if it stood in the cell's place."""
    findings = Findings()
    try:
        root = compose(_word(place), findings)
    except Invalid as error:
        place.report("a JSON object with keys of the fleet document", f"no JSON: {error.message}")
        return
    if not isinstance(root, Table) or findings.count:
        place.report("a JSON object with keys of the fleet document")
        return
    for key, value in root.entries:
        name = key.text if isinstance(key, Scalar) else ""
        if name in entries or name in COLUMNS:
            place.report("keys that have no column", f"with the key {quoted(name)}")
        entries[name] = _moved(value, place)


def _moved(node: Node, place: Place) -> Node:
    """The node as if all of it stood at the place."""
    line, column = place.node.line, place.node.column
    if isinstance(node, Scalar):
        return Scalar(line, column, node.text, node.plain)
    if isinstance(node, Listing):
        return Listing(line, column, tuple(_moved(item, place) for item in node.items), node.size)
    pairs = tuple((_moved(key, place), _moved(value, place)) for key, value in node.entries)
    return Table(line, column, pairs, node.size)


def _word(place: Place) -> str:
    return place.node.text if isinstance(place.node, Scalar) else ""


_READERS: Mapping[str, Callable[[Place], Node]] = {
    "hosts": _words,
    "methods": _words,
    "versions": _versions,
    "conditions": _conditions,
    "sources": _words,
    "gateways": _words,
    "authentication": _words,
}
