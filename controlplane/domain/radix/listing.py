"""A tree as a list of nodes that name each other by number, for the wire.

A list and not nodes within nodes, because a path of 500 segments would be 500 levels deep, and
readers of JSON refuse that. The same tree gives the same list.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from controlplane.domain.radix.node import Node
from controlplane.domain.radix.tree import Tree

V = TypeVar("V")
Numbers = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedNode:
    """A node whose values are numbers, and that names others by their place in the list."""

    SPARSE: ClassVar[bool] = True

    rest: tuple[str, ...] = ()
    children: Mapping[str, int] | None = None
    parameter: int | None = None
    whole: Numbers | None = None
    prefix: Numbers | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTree:
    """A tree whose values are numbers; the root is the first node."""

    literals: Mapping[str, Numbers]
    nodes: tuple[ListedNode, ...]
    depths: tuple[int, ...]


def listed(tree: Tree[V], numbers: Callable[[V], Numbers]) -> ListedTree:
    """The list of a tree; nodes stand before those below them."""
    nodes: list[Node[V]] = [tree.root]
    found: list[ListedNode] = []
    # The list grows while it is read: each node appends those below it.
    for node in nodes:
        first = len(nodes)
        segments = sorted(node.children)
        nodes += [node.children[segment] for segment in segments]
        places = {segment: first + at for at, segment in enumerate(segments)}
        parameter = None
        if node.parameter is not None:
            parameter = len(nodes)
            nodes.append(node.parameter)
        found.append(
            ListedNode(
                rest=tuple(node.rest),
                children=places or None,
                parameter=parameter,
                whole=None if node.whole is None else numbers(node.whole),
                prefix=None if node.prefix is None else numbers(node.prefix),
            )
        )
    literals = {path: numbers(value) for path, value in tree.literals.items()}
    return ListedTree(literals=literals, nodes=tuple(found), depths=tree.depths)


def tree_of(tree: ListedTree, value: Callable[[Numbers], V]) -> Tree[V]:
    """The tree again.

    Raises:
        LookupError: a node names one that does not stand behind it.
    """
    built: dict[int, Node[V]] = {}
    for at in range(len(tree.nodes) - 1, -1, -1):
        node = tree.nodes[at]
        below = node.children or {}
        built[at] = Node(
            rest=list(node.rest),
            children={segment: built.pop(number) for segment, number in below.items()},
            parameter=None if node.parameter is None else built.pop(node.parameter),
            whole=None if node.whole is None else value(node.whole),
            prefix=None if node.prefix is None else value(node.prefix),
        )
    literals = {path: value(numbers) for path, numbers in tree.literals.items()}
    return Tree(literals=literals, root=built[0], depths=tree.depths)
