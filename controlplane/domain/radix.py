"""A compressed tree over path segments: the longest matching pattern at the cost of a short walk.

S4's route algorithm: identifiers split by their separator, one node for each piece. Here chains
of nodes without a choice are one node, and a piece may be a parameter. A tree is a value: a
change gives a new tree that shares what did not change, so that a reader never sees half of one.
Used by `routing.matching`. The same patterns give the same tree, in whatever order they came.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, NamedTuple, TypeVar

V = TypeVar("V")


class Pattern(NamedTuple):
    """Segments of a path, None standing for any one that is not empty.

    Attributes:
        whole: the path must end there; otherwise it may go on with further segments.
    """

    segments: tuple[str | None, ...]
    whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Node(Generic[V]):
    """A place in the tree.

    Attributes:
        rest: literal segments between the choice above and this place.
        children: segment -> where it leads.
        parameter: where every segment that is not empty leads.
        whole: value of the pattern that ends here with the path.
        prefix: value of the pattern that ends here and lets the path go on.
    """

    rest: tuple[str, ...] = ()
    children: Mapping[str, "Node[V]"] = field(default_factory=dict)
    parameter: "Node[V] | None" = None
    whole: V | None = None
    prefix: V | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no pattern ends here or below."""
        return (
            not (self.children or self.parameter is not None or self.whole is not None)
            and self.prefix is None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree(Generic[V]):
    """Patterns and their values, which are not None.

    Attributes:
        depths: how many patterns have 0, 1, 2... segments; the last number is positive.
    """

    root: Node[V] = field(default_factory=Node)
    depths: tuple[int, ...] = ()

    @classmethod
    def of(cls, values: Mapping[Pattern, V]) -> "Tree[V]":
        """The tree of some patterns, faster than one by one."""
        draft: _Draft[V] = _Draft()
        depths: list[int] = []
        for pattern, value in values.items():
            draft.put(pattern, value)
            count = len(pattern.segments)
            depths.extend([0] * (count + 1 - len(depths)))
            depths[count] += 1
        return cls(root=draft.node(()), depths=tuple(depths))

    def find(self, path: str) -> V | None:
        """Value of the first pattern that matches a path in normal form, in the order of
        `candidates`."""
        segments = path.split("/", len(self.depths))
        end = len(segments)
        best: V | None = None
        choices: list[tuple[V | None, Node[V], int]] = []
        node, at = self.root, 1
        while True:
            count = len(node.rest)
            if not count or tuple(segments[at : at + count]) == node.rest:
                at += count
                if node.prefix is not None:
                    best = node.prefix
                if at == end:
                    if node.whole is not None:
                        return node.whole
                else:
                    segment = segments[at]
                    at += 1
                    child = node.children.get(segment)
                    parameter = node.parameter if segment else None
                    if child is not None:
                        if parameter is not None:
                            choices.append((best, parameter, at))
                            best = None
                        node = child
                        continue
                    if parameter is not None:
                        node = parameter
                        continue
            if best is not None or not choices:
                return best
            best, node, at = choices.pop()

    def candidates(self, path: str) -> Iterator[V]:
        """Values of all patterns that match a path in normal form.

        Segment by segment literals come before the parameter, longer patterns before shorter
        ones, and the whole path before what lets it go on.
        """
        return _walk(self.root, path.split("/", len(self.depths)), 1)

    def get(self, pattern: Pattern) -> V | None:
        """Value of one pattern."""
        node: Node[V] | None = self.root
        segments = pattern.segments
        while node is not None:
            count = len(node.rest)
            if segments[:count] != node.rest:
                return None
            if len(segments) == count:
                return node.whole if pattern.whole else node.prefix
            first, segments = segments[count], segments[count + 1 :]
            node = node.parameter if first is None else node.children.get(first)
        return None

    def inserted(self, pattern: Pattern, value: V) -> "Tree[V]":
        """The tree with a pattern more, or with another value of it."""
        depths = self.depths if self.get(pattern) is not None else self._counted(pattern, 1)
        return Tree(root=_with(self.root, pattern, value), depths=depths)

    def removed(self, pattern: Pattern) -> "Tree[V]":
        """The tree without a pattern; the same when it has none."""
        if self.get(pattern) is None:
            return self
        root = _without(self.root, pattern) or Node()
        if root.rest:
            root = Node(children={root.rest[0]: replace(root, rest=root.rest[1:])})
        return Tree(root=root, depths=self._counted(pattern, -1))

    def _counted(self, pattern: Pattern, change: int) -> tuple[int, ...]:
        count = len(pattern.segments)
        depths = [*self.depths, *[0] * (count + 1 - len(self.depths))]
        depths[count] += change
        while depths and not depths[-1]:
            depths.pop()
        return tuple(depths)

    def items(self) -> Iterator[tuple[Pattern, V]]:
        """Every pattern with its value; sorted, literals before the parameter."""
        return _items(self.root, ())


class _Draft(Generic[V]):
    """A node while a tree is built: one for each segment, and it may change."""

    __slots__ = ("children", "parameter", "prefix", "whole")

    def __init__(self) -> None:
        self.children: dict[str, _Draft[V]] = {}
        self.parameter: _Draft[V] | None = None
        self.whole: V | None = None
        self.prefix: V | None = None

    def put(self, pattern: Pattern, value: V) -> None:
        draft = self
        for segment in pattern.segments:
            if segment is None:
                if draft.parameter is None:
                    draft.parameter = _Draft()
                draft = draft.parameter
            else:
                child = draft.children.get(segment)
                if child is None:
                    child = draft.children[segment] = _Draft()
                draft = child
        if pattern.whole:
            draft.whole = value
        else:
            draft.prefix = value

    def node(self, rest: tuple[str, ...]) -> Node[V]:
        """The draft as a node of a tree, which is reached by `rest`."""
        return Node(
            rest=rest,
            children={segment: child.compressed() for segment, child in self.children.items()},
            parameter=None if self.parameter is None else self.parameter.compressed(),
            whole=self.whole,
            prefix=self.prefix,
        )

    def compressed(self) -> Node[V]:
        """The node at the next choice, value or parameter below."""
        rest: list[str] = []
        draft = self
        while len(draft.children) == 1 and draft.parameter is None and draft.has_no_value():
            [(segment, draft)] = draft.children.items()
            rest.append(segment)
        return draft.node(tuple(rest))

    def has_no_value(self) -> bool:
        return self.whole is None and self.prefix is None


def _walk(node: Node[V], segments: list[str], at: int) -> Iterator[V]:
    count = len(node.rest)
    if tuple(segments[at : at + count]) != node.rest:
        return
    at += count
    if at < len(segments):
        segment = segments[at]
        if (child := node.children.get(segment)) is not None:
            yield from _walk(child, segments, at + 1)
        if segment and node.parameter is not None:
            yield from _walk(node.parameter, segments, at + 1)
    elif node.whole is not None:
        yield node.whole
    if node.prefix is not None:
        yield node.prefix


def _items(node: Node[V], above: tuple[str | None, ...]) -> Iterator[tuple[Pattern, V]]:
    here = above + node.rest
    if node.whole is not None:
        yield Pattern(here, whole=True), node.whole
    for segment in sorted(node.children):
        yield from _items(node.children[segment], (*here, segment))
    if node.parameter is not None:
        yield from _items(node.parameter, (*here, None))
    if node.prefix is not None:
        yield Pattern(here, whole=False), node.prefix


def _with(node: Node[V], pattern: Pattern, value: V) -> Node[V]:
    """The node with a pattern more, whose segments begin with `rest` of the node."""
    common = _common(node.rest, pattern.segments)
    if common < len(node.rest):
        lower = replace(node, rest=node.rest[common + 1 :])
        node = Node(rest=node.rest[:common], children={node.rest[common]: lower})
    if common == len(pattern.segments):
        return replace(node, whole=value) if pattern.whole else replace(node, prefix=value)
    first = pattern.segments[common]
    below = Pattern(pattern.segments[common + 1 :], pattern.whole)
    child = node.parameter if first is None else node.children.get(first)
    changed = _chain(below, value) if child is None else _with(child, below, value)
    if first is None:
        return replace(node, parameter=changed)
    return replace(node, children={**node.children, first: changed})


def _common(rest: tuple[str, ...], segments: tuple[str | None, ...]) -> int:
    """How many first segments are the same."""
    count = 0
    for mine, other in zip(rest, segments, strict=False):
        if mine != other:
            break
        count += 1
    return count


def _chain(pattern: Pattern, value: V) -> Node[V]:
    """The nodes of one pattern alone."""
    draft: _Draft[V] = _Draft()
    draft.put(pattern, value)
    return draft.compressed()


def _without(node: Node[V], pattern: Pattern) -> Node[V] | None:
    """The node without a pattern that is there; None when nothing is left."""
    count = len(node.rest)
    if len(pattern.segments) == count:
        left = replace(node, whole=None) if pattern.whole else replace(node, prefix=None)
    else:
        first = pattern.segments[count]
        below = Pattern(pattern.segments[count + 1 :], pattern.whole)
        left = _without_below(node, first, below)
    return None if left.is_empty else _merged(left)


def _without_below(node: Node[V], first: str | None, below: Pattern) -> Node[V]:
    if first is None:
        assert node.parameter is not None
        return replace(node, parameter=_without(node.parameter, below))
    children = dict(node.children)
    child = _without(children.pop(first), below)
    if child is not None:
        children[first] = child
    return replace(node, children=children)


def _merged(node: Node[V]) -> Node[V]:
    """One node instead of two where there is no choice."""
    if len(node.children) != 1 or node.parameter is not None:
        return node
    if node.whole is not None or node.prefix is not None:
        return node
    [(segment, child)] = node.children.items()
    return replace(child, rest=(*node.rest, segment, *child.rest))
