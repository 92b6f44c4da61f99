"""A fleet document as a tree of nodes that know their line and column.

Called by `parsing`. It reads libyaml's events itself, so that limits hold while reading: size,
depth, anchors, aliases, and the number of nodes that aliases stand for. Scalars stay text; which
type a text must have is the reader's question, so `no` is never a truth value by accident.
"""

from collections.abc import Iterable, Iterator
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
    """Read one document; None when it is empty; a second one is an error. Raises as
    `compose_all`."""
    roots = compose_all(text, findings)
    if len(roots) > 1:
        second = roots[1]
        problem = "a second document begins; give one"
        raise _failure("fleet_unreadable", problem, second.line, second.column)
    return roots[0] if roots else None


def compose_all(text: str, findings: Findings) -> list[Node]:
    """Read every document that is not empty. A tag is a finding: nothing here needs one.

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
        return _Composer(findings).documents(_events(_without_tabs(text)))
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


class _Composer:
    """Turns events into nodes.

    One loop with little in it: a document may have a quarter of a million nodes, and its sender
    waits. `_children` are those of the innermost open node; a node's size is the number of nodes
    that came since it began.
    """

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._children: list[Node] = []
        self._open: list[tuple[yaml.CollectionStartEvent, list[Node], int]] = []
        self._anchors: dict[str, Node] = {}
        self._aliases = 0

    def documents(self, events: Iterable[yaml.Event]) -> list[Node]:
        """The roots that are not empty."""
        nodes = 0
        node: Node
        for event in events:
            if isinstance(event, yaml.ScalarEvent):
                line, column = _place(event)
                node = Scalar(line, column, event.value, not event.style)
                nodes += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                event, node = self._end(nodes)
            elif isinstance(event, yaml.CollectionStartEvent):
                self._begin(event, nodes)
                nodes += 1
                continue
            elif isinstance(event, yaml.AliasEvent):
                node = self._alias(event)
                nodes += node.size
            else:
                # An anchor holds in its own document.
                self._anchors.clear()
                continue
            if nodes > MOST_NODES:
                raise _at(event, "fleet_too_complex", f"more than {MOST_NODES} values up to here")
            if event.anchor is not None or getattr(event, "tag", None) is not None:
                self._note(event, node)
            self._children.append(node)
        return [root for root in self._children if _filled(root)]

    def _begin(self, event: yaml.CollectionStartEvent, nodes: int) -> None:
        if len(self._open) > MOST_DEPTH:
            raise _at(event, "fleet_too_complex", f"nested deeper than {MOST_DEPTH} levels")
        self._open.append((event, self._children, nodes))
        self._children = []

    def _end(self, nodes: int) -> tuple[yaml.CollectionStartEvent, Node]:
        event, outer, before = self._open.pop()
        inner, self._children = tuple(self._children), outer
        line, column = _place(event)
        if isinstance(event, yaml.SequenceStartEvent):
            return event, Listing(line, column, inner, nodes - before)
        entries = tuple(zip(inner[::2], inner[1::2], strict=True))
        return event, Table(line, column, entries, nodes - before)

    def _note(self, event: yaml.NodeEvent, node: Node) -> None:
        """Remember an anchor's node; report a tag."""
        if isinstance(event, yaml.AliasEvent):
            return
        tag = getattr(event, "tag", None)
        if tag is not None:
            self._findings.add(_tagged(event, tag))
        if event.anchor is not None:
            if len(self._anchors) >= MOST_ALIASES:
                raise _at(event, "fleet_too_complex", f"more than {MOST_ALIASES} anchors")
            self._anchors[event.anchor] = node

    def _alias(self, event: yaml.AliasEvent) -> Node:
        self._aliases += 1
        if self._aliases > MOST_ALIASES:
            raise _at(event, "fleet_too_complex", f"more than {MOST_ALIASES} aliases")
        anchor = event.anchor or ""
        if anchor not in self._anchors:
            problem = f"alias *{quoted(anchor)} has no anchor before it"
            raise _at(event, "fleet_unreadable", problem)
        return self._anchors[anchor]


def _filled(root: Node) -> bool:
    return not (isinstance(root, Scalar) and root.plain and not root.text)


def _tagged(event: yaml.NodeEvent, tag: str) -> Finding:
    line, column = _place(event)
    return Finding(
        line=line,
        column=column,
        path="the value",
        found=f"tagged {quoted(tag)}",
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
