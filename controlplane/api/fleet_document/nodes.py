"""A fleet document as a tree of nodes that know their line and column.

Called by `parsing`. It reads libyaml's events itself, so that limits hold while reading: size,
depth, anchors, aliases, and the number of nodes that aliases stand for. Scalars stay text; which
type a text must have is the reader's question, so `no` is never a truth value by accident.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import yaml

from controlplane.api.fleet_document.findings import Finding, Findings, quoted
from controlplane.domain.errors import Invalid

MOST_BYTES = 5_000_000
MOST_DEPTH = 32
MOST_ALIASES = 100
# A thousand services in four data centres and ten thousand routes have some 200,000.
MOST_NODES = 250_000

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Fresh = yaml.ScalarEvent | yaml.CollectionStartEvent


# Tuples: there are hundreds of thousands of them, and a dataclass takes three times as long.
class Scalar(NamedTuple):
    """A text; `plain` when it stands without quotes."""

    line: int
    column: int
    text: str
    plain: bool
    size: int = 1


class Listing(NamedTuple):
    """A list; `size` counts all nodes in it, aliases as what they stand for."""

    line: int
    column: int
    items: tuple["Node", ...]
    size: int


class Table(NamedTuple):
    """A mapping with its entries in the order of the document, repeated keys included."""

    line: int
    column: int
    entries: tuple[tuple["Node", "Node"], ...]
    size: int


Node = Scalar | Listing | Table


def compose(text: str, findings: Findings) -> Node | None:
    """Read one document; None when it is empty. A tag is a finding: nothing here needs one.

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
        return _Composer(findings).document(_events(_without_tabs(text)))
    except yaml.MarkedYAMLError as error:
        raise _unreadable(error) from error
    except yaml.YAMLError as error:
        problem = f"the text is not YAML: {str(error).splitlines()[0]}"
        raise _failure("fleet_unreadable", problem, 1, 1) from error
    except UnicodeEncodeError as error:
        problem = f"character {error.start} is half of a surrogate pair, which is no character"
        raise _failure("fleet_unreadable", problem, 1, 1) from error


def _without_tabs(text: str) -> str:
    """JSON may begin with tabs, which YAML forbids; between brackets both allow them."""
    content = text.lstrip(" \t\r\n")
    if not content.startswith(("{", "[")):
        return text
    return text[: len(text) - len(content)].replace("\t", " ") + content


def _events(text: str) -> Iterator[yaml.Event]:
    """Up to the end of the stream; `yaml.parse` asks twice for each."""
    loader = _LOADER(text)
    try:
        while not isinstance(event := loader.get_event(), yaml.StreamEndEvent):
            yield event
    finally:
        loader.dispose()


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not come yet."""

    event: yaml.CollectionStartEvent
    children: list[Node] = field(default_factory=list)
    size: int = 1


class _Composer:
    """Turns events into nodes."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._open: list[_Open] = []
        self._anchors: dict[str, Node] = {}
        self._aliases = 0
        self._nodes = 0
        self._root: Node | None = None

    def document(self, events: Iterable[yaml.Event]) -> Node | None:
        for event in events:
            if isinstance(event, yaml.ScalarEvent):
                line, column = _place(event)
                self._fresh(event, Scalar(line, column, event.value, not event.style))
            elif isinstance(event, yaml.CollectionStartEvent):
                self._begin(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self._end()
            elif isinstance(event, yaml.AliasEvent):
                self._add(self._alias(event), event)
            elif isinstance(event, yaml.DocumentStartEvent) and self._root is not None:
                raise _at(event, "fleet_unreadable", "a second document begins; give one")
        root = self._root
        empty = isinstance(root, Scalar) and root.plain and not root.text
        return None if empty else root

    def _begin(self, event: yaml.CollectionStartEvent) -> None:
        if len(self._open) > MOST_DEPTH:
            raise _at(event, "fleet_too_complex", f"nested deeper than {MOST_DEPTH} levels")
        self._open.append(_Open(event))

    def _end(self) -> None:
        done = self._open.pop()
        event, children = done.event, done.children
        line, column = _place(event)
        if isinstance(event, yaml.SequenceStartEvent):
            self._fresh(event, Listing(line, column, tuple(children), done.size))
        else:
            entries = tuple(zip(children[::2], children[1::2], strict=True))
            self._fresh(event, Table(line, column, entries, done.size))

    def _fresh(self, event: _Fresh, node: Node) -> None:
        """Take a node that is written out here, not an alias."""
        if event.tag is not None:
            self._findings.add(_tagged(event))
        if event.anchor is not None:
            self._keep(event.anchor, node, event)
        # What is in a list or mapping was counted when it came.
        self._nodes += 1
        self._add(node, event)

    def _add(self, node: Node, event: yaml.Event) -> None:
        if self._nodes > MOST_NODES:
            raise _too_many(event)
        if self._open:
            parent = self._open[-1]
            parent.children.append(node)
            parent.size += node.size
        else:
            self._root = node

    def _alias(self, event: yaml.AliasEvent) -> Node:
        self._aliases += 1
        if self._aliases > MOST_ALIASES:
            raise _at(event, "fleet_too_complex", f"more than {MOST_ALIASES} aliases")
        anchor = event.anchor or ""
        if anchor not in self._anchors:
            problem = f"alias *{quoted(anchor)} has no anchor before it"
            raise _at(event, "fleet_unreadable", problem)
        node = self._anchors[anchor]
        self._nodes += node.size
        return node

    def _keep(self, anchor: str, node: Node, event: yaml.Event) -> None:
        if len(self._anchors) >= MOST_ALIASES:
            raise _at(event, "fleet_too_complex", f"more than {MOST_ALIASES} anchors")
        self._anchors[anchor] = node


def _too_many(event: yaml.Event) -> Invalid:
    return _at(event, "fleet_too_complex", f"more than {MOST_NODES} values up to here")


def _tagged(event: _Fresh) -> Finding:
    line, column = _place(event)
    return Finding(
        line=line,
        column=column,
        path="the value",
        found=f"tagged {quoted(event.tag or '')}",
        allowed="a plain value without a YAML tag; nothing is made from a tag",
    )


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
