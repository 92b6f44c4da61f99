"""Which of many paths may be met by one request: a tree of segments, walked by a pattern.

Called by `grouped_lists`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from controlplane.domain.radix.pattern import Pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class _Node:
    """What was read up to a segment.

    Attributes:
        below: by the next segment, None for a parameter.
        whole: places of patterns that end here; going_on: of those that match all below, too.
    """

    below: dict[str | None, "_Node"] = field(default_factory=dict)
    whole: list[int] = field(default_factory=list)
    going_on: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Overlaps:
    """Patterns that can be asked for."""

    _root: _Node
    _anywhere: tuple[int, ...]

    @classmethod
    def of(cls, patterns: Iterable[tuple[int, Pattern | None]]) -> "Overlaps":
        """Places and their patterns; None, an expression, may match any path."""
        root = _Node()
        anywhere = []
        for place, pattern in patterns:
            if pattern is None:
                anywhere.append(place)
                continue
            node = root
            for segment in pattern.segments:
                node = node.below.setdefault(segment, _Node())
            (node.whole if pattern.whole else node.going_on).append(place)
        return cls(root, tuple(anywhere))

    def with_paths_of(self, pattern: Pattern) -> Iterator[int]:
        """Places that may match a path which the pattern matches; never too few."""
        yield from self._anywhere
        yield from self._root.going_on
        nodes = [self._root]
        for segment in pattern.segments:
            nodes = [child for node in nodes for child in _read(node, segment)]
            for node in nodes:
                yield from node.going_on
        for node in nodes:
            yield from node.whole
            if not pattern.whole:
                yield from _all_below(node)


def _read(node: _Node, segment: str | None) -> Iterator[_Node]:
    if segment is None:
        yield from node.below.values()
        return
    for wanted in (segment, None):
        if wanted in node.below:
            yield node.below[wanted]


def _all_below(node: _Node) -> Iterator[int]:
    waiting = list(node.below.values())
    while waiting:
        one = waiting.pop()
        yield from (*one.whole, *one.going_on)
        waiting.extend(one.below.values())
