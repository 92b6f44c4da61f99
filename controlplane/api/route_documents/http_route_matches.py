"""The matches of an HTTPRoute rule: path, method, headers, query parameters.

Called by `http_route`. Without matches a rule has every path.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from controlplane.api.fleet_document.nodes import Listing, Node, Scalar, Table
from controlplane.api.fleet_document.reading import Place, fields
from controlplane.api.route_documents.documents import listed, text_at
from controlplane.api.route_documents.imports import Notes
from controlplane.api.route_documents.sketches import listing, table, text
from controlplane.domain.routing.route import Part, PathMatchType, TextMatchType

MATCH_KEYS = ("path", "headers", "queryParams", "method")
# This one only asks that the header or argument is there.
ANYTHING = ".*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """One match, as entries of the fleet document; `kind` is that of its path."""

    place: Place
    kind: str
    path: Table
    methods: tuple[str, ...] = ()
    conditions: Listing | None = None


def matches(place: Place | None, rule: Place, notes: Notes) -> list[Match]:
    """The matches of a rule, those that differ in the method only together."""
    found: dict[object, Match] = {}
    for item in listed(place):
        match = _match(item, notes)
        key = (*_words(match.path), *_words(match.conditions), bool(match.methods))
        known = found.get(key)
        methods = match.methods if known is None else (*known.methods, *match.methods)
        found[key] = replace(known or match, methods=tuple(sorted(set(methods))))
    if found:
        return list(found.values())
    kind = PathMatchType.PATH_PREFIX
    return [Match(place=rule, kind=kind, path=_path(rule, kind, "/"))]


def _match(place: Place, notes: Notes) -> Match:
    entries = fields(place, MATCH_KEYS).places
    kind, value = str(PathMatchType.PATH_PREFIX), "/"
    if "path" in entries:
        path = fields(entries["path"], ("type", "value")).places
        kind = text_at(path.get("type")) or kind
        value = text_at(path.get("value")) or value
        if kind == PathMatchType.PATH_TEMPLATE:
            path["type"].report("Exact, PathPrefix or RegularExpression")
    if kind == PathMatchType.PATH_PREFIX:
        # The standard ignores one slash at the end.
        value = value.removesuffix("/") or "/"
    conditions = [
        *_conditions(entries.get("headers"), Part.HEADER, notes),
        *_conditions(entries.get("queryParams"), Part.QUERY_PARAM, notes),
    ]
    method = text_at(entries.get("method"))
    return Match(
        place=place,
        kind=kind,
        path=_path(entries.get("path", place), kind, value),
        methods=(method,) if method else (),
        conditions=listing(place, conditions) if conditions else None,
    )


def _path(place: Place, kind: str, value: str) -> Table:
    return table(place, {"type": text(place, kind), "value": text(place, value)})


def _conditions(place: Place | None, part: Part, notes: Notes) -> Iterator[Table]:
    seen = set()
    for item in listed(place):
        entries = fields(item, ("type", "name", "value")).places
        name = text_at(entries.get("name"))
        name = name.lower() if part is Part.HEADER else name
        if name in seen:
            notes.add(item, "of two matches of one name the first counts, as the standard says")
            continue
        seen.add(name)
        kind = text_at(entries.get("type")) or str(TextMatchType.EXACT)
        value = text_at(entries.get("value"))
        if kind not in (TextMatchType.EXACT, TextMatchType.REGULAR_EXPRESSION):
            entries["type"].report("Exact or RegularExpression")
        if kind == TextMatchType.REGULAR_EXPRESSION and value == ANYTHING:
            kind, value = TextMatchType.PRESENT, ""
        nodes: dict[str, Node] = {"part": text(item, part), "name": text(item, name)}
        nodes["type"] = text(item, kind)
        if kind != TextMatchType.PRESENT:
            nodes["value"] = text(item, value)
        yield table(item, nodes)


def _words(node: Node | None) -> tuple[object, ...]:
    """What a node says, without its place."""
    if node is None:
        return ()
    if isinstance(node, Scalar):
        return (node.text,)
    if isinstance(node, Listing):
        return tuple(_words(item) for item in node.items)
    return tuple((_words(key), _words(value)) for key, value in node.entries)
