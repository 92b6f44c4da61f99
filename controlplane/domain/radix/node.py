"""A place in the tree, and the walk through it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from controlplane.domain.radix.pattern import Pattern

V = TypeVar("V")


@dataclass(frozen=True, slots=True, kw_only=True)
class Node(Generic[V]):
    """A place in the tree.

    Attributes:
        rest: literal segments between the choice above and this place. A list, because what a
            path is split into is one, and never changed.
        children: segment -> where it leads.
        parameter: where every other segment leads that is not empty.
        whole: value of the pattern that ends here with the path.
        prefix: value of the pattern that ends here and lets the path go on.
        length: of `rest`.
        is_leaf: whether nothing is below.
    """

    rest: list[str] = field(default_factory=list)
    children: Mapping[str, "Node[V]"] = field(default_factory=dict)
    parameter: "Node[V] | None" = None
    whole: V | None = None
    prefix: V | None = None
    length: int = field(init=False, compare=False, repr=False)
    is_leaf: bool = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", len(self.rest))
        object.__setattr__(self, "is_leaf", not self.children and self.parameter is None)

    @property
    def has_value(self) -> bool:
        """Whether a pattern ends here."""
        return self.whole is not None or self.prefix is not None


def walk(node: Node[V], segments: list[str], at: int) -> Iterator[V]:
    """Values of the patterns that match, first things first, with every way back.

    Args:
        segments: of a path, "" before its first slash; what is longer than any pattern may be
            one last piece.
        at: index of the first segment that `rest` of the node is compared with.
    """
    if segments[at : at + node.length] != node.rest:
        return
    at += node.length
    if at < len(segments):
        segment = segments[at]
        if (child := node.children.get(segment)) is not None:
            yield from walk(child, segments, at + 1)
        if segment and node.parameter is not None:
            yield from walk(node.parameter, segments, at + 1)
    elif node.whole is not None:
        yield node.whole
    if node.prefix is not None:
        yield node.prefix


def items(node: Node[V], above: tuple[str | None, ...]) -> Iterator[tuple[Pattern, V]]:
    """Every pattern from a node on, in the order of its segments, the parameter last."""
    here = (*above, *node.rest)
    if node.whole is not None:
        yield Pattern(here, whole=True), node.whole
    for segment in sorted(node.children):
        yield from items(node.children[segment], (*here, segment))
    if node.parameter is not None:
        yield from items(node.parameter, (*here, None))
    if node.prefix is not None:
        yield Pattern(here, whole=False), node.prefix
