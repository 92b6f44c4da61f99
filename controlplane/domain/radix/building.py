"""Nodes of many patterns at once, from the sorted list of them.

What the first and the last row of a sorted range have in common, all rows between have too. So a
node is found by comparing two rows, and its children are the ranges behind.
"""

from collections.abc import Iterable
from operator import itemgetter
from typing import TypeVar

from controlplane.domain.radix.node import Node
from controlplane.domain.radix.pattern import Pattern

V = TypeVar("V")
# Segments, whether whole, value. A parameter is a slash, which no segment has: rows can be sorted.
Row = tuple[tuple[str, ...], bool, V]
PARAMETER = "/"


def root_of(values: Iterable[tuple[Pattern, V]]) -> Node[V]:
    """The node that all patterns are below."""
    rows = sorted(map(_row, values), key=itemgetter(0))
    return _node(rows, (0, len(rows)), 0, 0)


def alone(pattern: Pattern, value: V) -> Node[V]:
    """The nodes of one pattern."""
    rows = [_row((pattern, value))]
    return _node(rows, (0, 1), 0, _choice(rows, (0, 1), 0))


def _row(item: tuple[Pattern, V]) -> Row[V]:
    (segments, whole), value = item
    return tuple([part or (PARAMETER if part is None else "") for part in segments]), whole, value


def _choice(rows: list[Row[V]], limits: tuple[int, int], begin: int) -> int:
    """The first segment from `begin` on in which rows differ, end or have a parameter."""
    first, last = rows[limits[0]][0], rows[limits[1] - 1][0]
    end = begin
    for mine, other in zip(first[begin:], last[begin:], strict=False):
        if mine != other or mine == PARAMETER:
            break
        end += 1
    return end


def _node(rows: list[Row[V]], limits: tuple[int, int], begin: int, end: int) -> Node[V]:
    """The node of a range of rows whose segments from `begin` to `end` are its `rest`.

    It calls itself once for each node of a way down, of which a path of 1,024 characters may have
    500, and Python allows 1,000 calls within each other: so nothing stands between.
    """
    at, behind = limits
    ends: dict[bool, V] = {}
    while at < behind and len(rows[at][0]) == end:
        ends[rows[at][1]] = rows[at][2]
        at += 1
    rest = list(rows[limits[0]][0][begin:end]) if end > begin else []
    children: dict[str, Node[V]] = {}
    while at < behind:
        segment = rows[at][0][end]
        start = at
        while at < behind and rows[at][0][end] == segment:
            at += 1
        below = (start, at)
        children[segment] = _node(rows, below, end + 1, _choice(rows, below, end + 1))
    parameter = children.pop(PARAMETER, None)
    return Node(
        rest=rest,
        children=children,
        parameter=parameter,
        whole=ends.get(True),
        prefix=ends.get(False),
    )
