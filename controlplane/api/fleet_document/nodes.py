"""A fleet document as a tree of nodes that know their line and column.

Called by `parsing`. It reads libyaml's events itself, so that limits hold while reading: size,
depth, anchors, aliases, and the number of nodes that aliases stand for. Scalars stay text; which
type a text must have is the reader's question, so `no` is never a truth value by accident.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from controlplane.domain.errors import Invalid

MOST_BYTES = 5_000_000
MOST_DEPTH = 32
MOST_ALIASES = 100
MOST_NODES = 500_000

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """A text; `plain` when it stands without quotes."""

    line: int
    column: int
    text: str
    plain: bool
    size: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A list; `size` counts all nodes in it, aliases as what they stand for."""

    line: int
    column: int
    items: tuple["Node", ...]
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A mapping with its entries in the order of the document, repeated keys included."""

    line: int
    column: int
    entries: tuple[tuple["Node", "Node"], ...]
    size: int


Node = Scalar | Listing | Table


def compose(text: str) -> Node | None:
    """Read one document; None when it is empty.

    Raises:
        Invalid: `fleet_too_large`, `fleet_too_complex` (depth, anchors, aliases, nodes), or
            `fleet_unreadable` with line and column when it is neither YAML nor JSON.
    """
    size = len(text.encode(errors="surrogatepass"))
    if size > MOST_BYTES:
        raise Invalid(
            "fleet_too_large", f"the fleet document has {size} bytes; the limit is {MOST_BYTES}"
        )
    try:
        return _Composer(iter(yaml.parse(_without_tabs(text), Loader=_LOADER))).document()
    except yaml.MarkedYAMLError as error:
        raise _unreadable(error) from error
    except yaml.YAMLError as error:
        raise _failure("fleet_unreadable", f"the text is not YAML: {error}", 1, 1) from error


def _without_tabs(text: str) -> str:
    """JSON may be indented with tabs, which YAML forbids; inside JSON strings none can stand."""
    if "\t" not in text:
        return text
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text
    return text.replace("\t", " ")


class _Composer:
    """Turns events into nodes; recursion is bounded by MOST_DEPTH."""

    def __init__(self, events: Iterator[yaml.Event]) -> None:
        self._events = events
        self._anchors: dict[str, Node] = {}
        self._aliases = 0
        self._nodes = 0

    def document(self) -> Node | None:
        root: Node | None = None
        for event in self._events:
            if isinstance(event, yaml.StreamStartEvent | yaml.DocumentEndEvent):
                continue
            if isinstance(event, yaml.StreamEndEvent):
                break
            if root is not None:
                raise _at(event, "fleet_unreadable", "a second document begins; give one")
            if isinstance(event, yaml.DocumentStartEvent):
                root = self._node(next(self._events), 0)
        empty = isinstance(root, Scalar) and root.plain and not root.text
        return None if empty else root

    def _node(self, event: yaml.Event, depth: int) -> Node:
        if depth > MOST_DEPTH:
            raise _at(event, "fleet_too_complex", f"nested deeper than {MOST_DEPTH} levels")
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        self._count(1, event)
        node = self._fresh(event, depth)
        anchor = getattr(event, "anchor", None)
        if anchor is not None:
            self._keep(anchor, node, event)
        return node

    def _fresh(self, event: yaml.Event, depth: int) -> Node:
        line, column = _place(event)
        if isinstance(event, yaml.ScalarEvent):
            return Scalar(line=line, column=column, text=event.value, plain=not event.style)
        if isinstance(event, yaml.SequenceStartEvent):
            items = tuple(self._until(yaml.SequenceEndEvent, depth))
            return Listing(line=line, column=column, items=items, size=1 + _sizes(items))
        flat = tuple(self._until(yaml.MappingEndEvent, depth))
        entries = tuple(zip(flat[::2], flat[1::2], strict=True))
        return Table(line=line, column=column, entries=entries, size=1 + _sizes(flat))

    def _until(self, end: type[yaml.Event], depth: int) -> Iterator[Node]:
        for event in self._events:
            if isinstance(event, end):
                return
            yield self._node(event, depth + 1)

    def _alias(self, event: yaml.AliasEvent) -> Node:
        self._aliases += 1
        if self._aliases > MOST_ALIASES:
            raise _at(event, "fleet_too_complex", f"more than {MOST_ALIASES} aliases")
        anchor = event.anchor or ""
        if anchor not in self._anchors:
            raise _at(event, "fleet_unreadable", f"alias *{anchor[:80]} has no anchor")
        node = self._anchors[anchor]
        self._count(node.size, event)
        return node

    def _count(self, nodes: int, event: yaml.Event) -> None:
        self._nodes += nodes
        if self._nodes > MOST_NODES:
            raise _at(event, "fleet_too_complex", f"more than {MOST_NODES} values up to here")

    def _keep(self, anchor: str, node: Node, event: yaml.Event) -> None:
        if len(self._anchors) >= MOST_ALIASES:
            raise _at(event, "fleet_too_complex", f"more than {MOST_ALIASES} anchors")
        self._anchors[anchor] = node


def _sizes(nodes: tuple[Node, ...]) -> int:
    return sum(node.size for node in nodes)


def _place(event: yaml.Event) -> tuple[int, int]:
    mark = event.start_mark
    return (1, 1) if mark is None else (mark.line + 1, mark.column + 1)


def _at(event: yaml.Event, code: str, problem: str) -> Invalid:
    return _failure(code, problem, *_place(event))


def _unreadable(error: yaml.MarkedYAMLError) -> Invalid:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
    words = ", ".join(part for part in (error.context, error.problem) if part)
    return _failure("fleet_unreadable", words or "not YAML", line, column)


def _failure(code: str, problem: str, line: int, column: int) -> Invalid:
    message = f"line {line}, column {column}: {problem}"
    error = {"line": line, "column": column, "path": "", "found": problem, "message": message}
    return Invalid(code, f"cannot read the fleet document: {message}", {"errors": [error]})
