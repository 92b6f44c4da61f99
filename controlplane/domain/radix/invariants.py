"""What always holds of a tree, for tests and for trees that came over the wire."""

from collections import Counter
from collections.abc import Iterator
from typing import TypeVar

from controlplane.domain.radix.node import Node
from controlplane.domain.radix.tree import Tree

V = TypeVar("V")

Segments = tuple[str | None, ...]


def faults(tree: Tree[V]) -> list[str]:
    """What does not hold, in words; empty for every tree that was built here."""
    found = [f"{path}: does not begin with a slash" for path in tree.literals if path[:1] != "/"]
    if tree.root.rest:
        found.append("the root has segments of its own")
    depths: Counter[int] = Counter()
    for node, above in _places(tree.root):
        here = (*above, *node.rest)
        where = "/" + "/".join("{}" if segment is None else segment for segment in here)
        found += [f"{where}: {fault}" for fault in _faults(node, here)]
        depths[len(here)] += (node.whole is not None) + (node.prefix is not None)
    counted = tuple(depths[depth] for depth in range(max(+depths, default=-1) + 1))
    if counted != tree.depths:
        found.append(f"patterns by their number of segments are {counted}, not {tree.depths}")
    return found


def _faults(node: Node[V], here: Segments) -> Iterator[str]:
    passage = not node.has_value and node.parameter is None and bool(here)
    if passage and not node.children:
        yield "nothing ends here, and nothing is below"
    if passage and len(node.children) == 1:
        yield "two nodes without a choice between them"
    if node.whole is not None and None not in here:
        yield "a whole path without a parameter, which belongs beside the nodes"
    if any("/" in segment for segment in (*node.rest, *node.children)):
        yield "a slash within a segment"


def _places(root: Node[V]) -> Iterator[tuple[Node[V], Segments]]:
    """Every node with the segments above its own."""
    waiting: list[tuple[Node[V], Segments]] = [(root, ())]
    while waiting:
        node, above = waiting.pop()
        yield node, above
        here = (*above, *node.rest)
        waiting += [(child, (*here, segment)) for segment, child in node.children.items()]
        if node.parameter is not None:
            waiting.append((node.parameter, (*here, None)))
