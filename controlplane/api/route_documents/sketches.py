"""A route of another format in the words of the fleet document, each value with its own place.

Readers make sketches; the fleet document's own rules read them, so that an imported route is
held to what a declared one is, and its errors point into the imported file.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from controlplane.api.fleet_document.nodes import Listing, Node, Scalar, Table
from controlplane.api.fleet_document.reading import Place
from controlplane.api.route_documents.naming import Wanted, unique
from controlplane.domain.routing.route import Route


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """Entries of a route; without an `id` among them it gets the one that is wanted."""

    place: Place
    entries: Mapping[str, Node]
    wanted: Wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A route with the place that it was read from."""

    route: Route
    place: Place


Read = Callable[[Place], Route]


def drafts(sketches: Iterable[Sketch], read: Read) -> list[Draft]:
    """The routes of those sketches in which nothing is wrong; the others have their findings."""
    found = []
    for sketch in _named(list(sketches)):
        faults = sketch.place.findings.count
        route = read(replace(sketch.place, node=table(sketch.place, sketch.entries)))
        if sketch.place.findings.count == faults:
            found.append(Draft(route=route, place=sketch.place))
    return found


def _named(sketches: list[Sketch]) -> list[Sketch]:
    nameless = [index for index, sketch in enumerate(sketches) if "id" not in sketch.entries]
    names = unique([sketches[index].wanted for index in nameless])
    for index, name in zip(nameless, names, strict=True):
        sketch = sketches[index]
        entries = {"id": text(sketch.place, name), **sketch.entries}
        sketches[index] = replace(sketch, entries=entries)
    return sketches


def table(place: Place, entries: Mapping[str, Node]) -> Table:
    """A mapping that stands at the place."""
    line, column = place.node.line, place.node.column
    pairs = tuple((Scalar(line, column, key, False), node) for key, node in entries.items())
    return Table(line, column, pairs, len(pairs))


def text(place: Place, value: str) -> Scalar:
    """A text that stands at the place."""
    return Scalar(place.node.line, place.node.column, value, False)


def number(place: Place, value: int) -> Scalar:
    """A whole number that stands at the place."""
    return Scalar(place.node.line, place.node.column, str(value), True)


def listing(place: Place, items: Iterable[Node]) -> Listing:
    """A list that stands at the place."""
    nodes = tuple(items)
    return Listing(place.node.line, place.node.column, nodes, len(nodes))


def texts(place: Place, values: Iterable[str]) -> Listing:
    """A list of texts that stands at the place."""
    return listing(place, (text(place, value) for value in values))
