"""The tree as a whole: what it holds, what it finds, and how it changes.

A tree is a value: a change gives a new one that shares what did not change, so that a reader
never sees half of it. The same patterns give the same tree, in whatever order they came.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from controlplane.domain.radix.building import root_of
from controlplane.domain.radix.changes import with_pattern, without_pattern
from controlplane.domain.radix.node import Node, items, walk
from controlplane.domain.radix.pattern import Pattern, of_literal

V = TypeVar("V")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree(Generic[V]):
    """Patterns and their values, which are not None.

    Attributes:
        literals: path -> value of the pattern that matches only this one.
        root: all other patterns; its `rest` is empty.
        depths: how many of these have 0, 1, 2... segments; the last number is positive.
    """

    literals: Mapping[str, V] = field(default_factory=dict)
    root: Node[V] = field(default_factory=Node)
    depths: tuple[int, ...] = ()

    @classmethod
    def of(cls, values: Mapping[Pattern, V]) -> "Tree[V]":
        """The tree of some patterns, faster than one by one."""
        literals: dict[str, V] = {}
        others: list[tuple[Pattern, V]] = []
        for pattern, value in values.items():
            literal = pattern.literal
            if literal is not None:
                literals[literal] = value
            else:
                others.append((pattern, value))
        counts = Counter(len(pattern.segments) for pattern, _ in others)
        depths = tuple(counts[count] for count in range(max(counts, default=-1) + 1))
        return cls(literals=literals, root=root_of(others), depths=depths)

    def find(self, path: str) -> V | None:
        """Value of the first of the `candidates` for a path in normal form; None without any."""
        value = self.literals.get(path)
        if value is not None:
            return value
        segments = path.split("/", len(self.depths))
        node, at, end = self.root, 1, len(segments)
        while at < end:
            child = node.children.get(segments[at])
            if child is None:
                child = node.parameter
                if child is None or not segments[at]:
                    break
            node = child
            at += 1
            if node.length:
                behind = at + node.length
                if segments[at:behind] != node.rest:
                    return next(walk(self.root, segments, 1), None)
                at = behind
            if node.is_leaf:
                break
        value = node.whole if at == end and node.whole is not None else node.prefix
        # Most walks end here. The others went astray at a choice, and begin anew with a way back.
        return value if value is not None else next(walk(self.root, segments, 1), None)

    def candidates(self, path: str) -> Iterator[V]:
        """Values of all patterns that match a path in normal form.

        Segment by segment literals come before the parameter, longer patterns before shorter
        ones, and the whole path before what lets it go on.
        """
        if path in self.literals:
            yield self.literals[path]
        yield from walk(self.root, path.split("/", len(self.depths)), 1)

    def get(self, pattern: Pattern) -> V | None:
        """Value of one pattern."""
        if (literal := pattern.literal) is not None:
            return self.literals.get(literal)
        node: Node[V] | None = self.root
        segments = pattern.segments
        while node is not None and list(segments[: node.length]) == node.rest:
            segments = segments[node.length :]
            if not segments:
                return node.whole if pattern.whole else node.prefix
            node = node.parameter if segments[0] is None else node.children.get(segments[0])
            segments = segments[1:]
        return None

    def contents(self) -> Iterator[tuple[Pattern, V]]:
        """Every pattern with its value: single paths, then the others, in order."""
        yield from ((of_literal(path), self.literals[path]) for path in sorted(self.literals))
        yield from items(self.root, ())

    def inserted(self, pattern: Pattern, value: V) -> "Tree[V]":
        """The tree with a pattern more, or with another value of it."""
        if (literal := pattern.literal) is not None:
            return replace(self, literals={**self.literals, literal: value})
        depths = self.depths if self.get(pattern) is not None else self._counted(pattern, 1)
        return replace(self, root=with_pattern(self.root, pattern, value), depths=depths)

    def removed(self, pattern: Pattern) -> "Tree[V]":
        """The tree without a pattern; the same when it does not have it."""
        if self.get(pattern) is None:
            return self
        if (literal := pattern.literal) is not None:
            left = dict(self.literals)
            del left[literal]
            return replace(self, literals=left)
        root = without_pattern(self.root, pattern) or Node()
        if root.rest:
            below = replace(root, rest=root.rest[1:])
            root = Node(children={root.rest[0]: below})
        return replace(self, root=root, depths=self._counted(pattern, -1))

    def _counted(self, pattern: Pattern, change: int) -> tuple[int, ...]:
        count = len(pattern.segments)
        depths = [*self.depths, *[0] * (count + 1 - len(self.depths))]
        depths[count] += change
        while depths and not depths[-1]:
            depths.pop()
        return tuple(depths)
