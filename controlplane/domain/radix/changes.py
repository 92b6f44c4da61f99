"""One pattern more or less: the nodes above it are made anew, all others are shared.

The result is what building the tree from its patterns would give.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from controlplane.domain.radix.building import alone
from controlplane.domain.radix.node import Node
from controlplane.domain.radix.pattern import Pattern

V = TypeVar("V")


def with_pattern(node: Node[V], pattern: Pattern, value: V) -> Node[V]:
    """The node with a pattern more, whose segments begin where `rest` of the node begins."""
    common = _common(node.rest, pattern.segments)
    if common < node.length:
        lower = replace(node, rest=node.rest[common + 1 :])
        node = Node(rest=node.rest[:common], children={node.rest[common]: lower})
    if common == len(pattern.segments):
        return replace(node, whole=value) if pattern.whole else replace(node, prefix=value)
    first = pattern.segments[common]
    below = Pattern(pattern.segments[common + 1 :], pattern.whole)
    child = node.parameter if first is None else node.children.get(first)
    changed = alone(below, value) if child is None else with_pattern(child, below, value)
    if first is None:
        return replace(node, parameter=changed)
    return replace(node, children={**node.children, first: changed})


def without_pattern(node: Node[V], pattern: Pattern) -> Node[V] | None:
    """The node without a pattern that it has; None when nothing is left."""
    if len(pattern.segments) == node.length:
        left = replace(node, whole=None) if pattern.whole else replace(node, prefix=None)
    else:
        left = _without_below(node, pattern)
    return None if left.is_leaf and not left.has_value else _compressed(left)


def _without_below(node: Node[V], pattern: Pattern) -> Node[V]:
    first = pattern.segments[node.length]
    below = Pattern(pattern.segments[node.length + 1 :], pattern.whole)
    if first is None:
        assert node.parameter is not None
        return replace(node, parameter=without_pattern(node.parameter, below))
    children = dict(node.children)
    child = without_pattern(children.pop(first), below)
    if child is not None:
        children[first] = child
    return replace(node, children=children)


def _compressed(node: Node[V]) -> Node[V]:
    """One node instead of two where there is no choice any more."""
    if len(node.children) != 1 or node.parameter is not None or node.has_value:
        return node
    [(segment, child)] = node.children.items()
    return replace(child, rest=[*node.rest, segment, *child.rest])


def _common(rest: Iterable[str], segments: Iterable[str | None]) -> int:
    """How many first segments are the same."""
    count = 0
    for mine, other in zip(rest, segments, strict=False):
        if mine != other:
            break
        count += 1
    return count
