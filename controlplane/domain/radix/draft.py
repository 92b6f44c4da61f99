"""A tree while it is built of many patterns: a node for each segment, and it may change."""

from typing import Generic, TypeVar

from controlplane.domain.radix.node import Node
from controlplane.domain.radix.pattern import Pattern

V = TypeVar("V")


class Draft(Generic[V]):
    """A place in a tree that is being built."""

    __slots__ = ("children", "parameter", "prefix", "whole")

    def __init__(self) -> None:
        self.children: dict[str, Draft[V]] = {}
        self.parameter: Draft[V] | None = None
        self.whole: V | None = None
        self.prefix: V | None = None

    def put(self, pattern: Pattern, value: V) -> None:
        """Add a pattern, or give it another value."""
        place = self
        for segment in pattern.segments:
            below = place.parameter if segment is None else place.children.get(segment)
            if below is None:
                below = Draft()
                if segment is None:
                    place.parameter = below
                else:
                    place.children[segment] = below
            place = below
        if pattern.whole:
            place.whole = value
        else:
            place.prefix = value

    def compressed(self) -> Node[V]:
        """The node at the next choice, value or parameter below, which may be here."""
        rest: list[str] = []
        place = self
        while len(place.children) == 1 and place._is_passage():
            [(segment, place)] = place.children.items()
            rest.append(segment)
        return place.node(rest)

    def node(self, rest: list[str]) -> Node[V]:
        """This place as a node that is reached by `rest`."""
        children: dict[str, Node[V]] = {}
        # No comprehension: it would be a second frame for each segment of a long path.
        for segment, child in self.children.items():
            children[segment] = child.compressed()
        return Node(
            rest=rest,
            children=children,
            parameter=None if self.parameter is None else self.parameter.compressed(),
            whole=self.whole,
            prefix=self.prefix,
        )

    def _is_passage(self) -> bool:
        return self.parameter is None and self.whole is None and self.prefix is None
