"""Places: where a walk over the segments of a path can come to, and which routes are left there.

For data planes that find the longest key in a table but know no parameters. A state is a set of
half-read path rules; from it literal segments lead to a place, and from there one segment that no
key names may lead on to another state. So a walk needs one lookup for each parameter and never
goes back, as in an automaton made of a set of expressions (Aho, Sethi and Ullman, section 3.6).
Called by compilers; the price is that rules with parameters may double what stands beside them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from controlplane.domain.radix.pattern import Pattern
from controlplane.domain.routing.precedence import order, pattern
from controlplane.domain.routing.route import Route

# The state in which a path begins.
START = 0
# Places of one host that are made at most; 10,000 plain paths need 20,000.
MOST_PLACES = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What is known of a path when its segments are these, and the next one is no key.

    Attributes:
        state: where the segments begin.
        ended: the path ends here; otherwise it goes on.
        routes: path rules that match it, first things first, none behind one that always holds.
        open: those that still may, depending on the segments behind.
        onward: state after one more segment; None when no rule has a parameter there.
    """

    state: int
    segments: tuple[str, ...]
    ended: bool
    routes: tuple[Route, ...] = ()
    open: tuple[Route, ...] = ()
    onward: int | None = None


def is_certain(route: Route) -> bool:
    """Whether a route takes every request with its path, at any time."""
    timed = route.valid_from_s is not None or route.valid_until_s is not None
    return not (route.methods or route.condition_count or timed)


def places(routes: Iterable[Route], most: int = MOST_PLACES) -> tuple[Place, ...] | None:
    """All places of one host's routes; regular expressions are left out.

    Returns:
        Places by state and segments; None when there were more than `most`.
    """
    walk = _Walk(_rules(routes))
    found: list[Place] = []
    for place in walk.places():
        found.append(place)
        if len(found) > most:
            return None
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    pattern: Pattern
    routes: tuple[Route, ...]

    @property
    def is_certain(self) -> bool:
        return any(is_certain(route) for route in self.routes)


# Rules are numbered in their order; a half-read rule is its number and the segments that are read.
_HalfRead = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _State:
    """Half-read rules, and prefixes that have matched; both in order."""

    live: tuple[_HalfRead, ...]
    matched: tuple[int, ...]


def _rules(routes: Iterable[Route]) -> list[_Rule]:
    read = [(rule, route) for route in routes if (rule := pattern(route.path)) is not None]
    # Rules of one rank never match the same path unless they are the same.
    read.sort(key=lambda pair: (order(pair[1])[0], _text(pair[0]), order(pair[1])[1]))
    return [
        _Rule(pattern=rule, routes=tuple(route for _, route in pairs))
        for rule, pairs in groupby(read, key=lambda pair: pair[0])
    ]


def _text(rule: Pattern) -> tuple[str, ...]:
    return tuple("/" if segment is None else segment for segment in rule.segments)


@dataclass(slots=True)
class _Walk:
    """Reads all paths at once."""

    rules: Sequence[_Rule]
    numbers: dict[_State, int] = field(default_factory=dict)
    waiting: list[_State] = field(default_factory=list)

    def places(self) -> Iterator[Place]:
        self._number(_State(tuple((n, 0) for n in range(len(self.rules))), ()))
        while self.waiting:
            state = self.waiting.pop()
            yield from self._below(self.numbers[state], state)

    def _number(self, state: _State) -> int:
        if state not in self.numbers:
            self.numbers[state] = len(self.numbers)
            self.waiting.append(state)
        return self.numbers[state]

    def _below(self, number: int, start: _State) -> Iterator[Place]:
        """The places that literal segments lead to from a state."""
        heap: list[tuple[tuple[str, ...], _State]] = [((), start)]
        while heap:
            segments, state = heap.pop()
            going = self._going(state)
            if segments or number != START:
                yield self._at_end(number, segments, state)
            onward, children = self._children(going)
            yield Place(
                state=number,
                segments=segments,
                ended=False,
                routes=_until_certain(self._routes(going.matched)),
                open=tuple(self._routes(sorted({rule for rule, _ in onward.live}))),
                onward=self._number(onward) if onward.live else None,
            )
            otherwise = self._going(onward)
            for segment, child in children:
                if segment and self._going(child) != otherwise:
                    heap.append(((*segments, segment), child))
                else:
                    # What goes on behind it goes on as behind any other segment.
                    yield self._at_end(number, (*segments, segment), child)

    def _going(self, state: _State) -> _State:
        """What is left when the path goes on: rules that end here are done or have matched."""
        ends = self._ends(state)
        prefixes = [n for n in ends if not self.rules[n].pattern.whole]
        matched = self._matched((*state.matched, *prefixes))
        live = tuple(one for one in state.live if one[0] not in ends)
        return _State(self._before(live, matched), matched)

    def _at_end(self, number: int, segments: tuple[str, ...], state: _State) -> Place:
        matched = self._matched((*state.matched, *self._ends(state)))
        routes = _until_certain(self._routes(matched))
        return Place(state=number, segments=segments, ended=True, routes=routes)

    def _ends(self, state: _State) -> set[int]:
        return {n for n, read in state.live if read == len(self.rules[n].pattern.segments)}

    def _children(self, going: _State) -> tuple[_State, list[tuple[str, _State]]]:
        """Where a segment that is no key leads, and where each key does."""
        nexts: dict[str | None, list[_HalfRead]] = {}
        for n, read in going.live:
            nexts.setdefault(self.rules[n].pattern.segments[read], []).append((n, read + 1))
        anything = nexts.pop(None, [])
        if anything:
            # No parameter is empty, so an empty last segment is a key of its own.
            nexts.setdefault("", [])
        children = [
            (segment, sorted(nexts[segment] + (anything if segment else [])))
            for segment in sorted(key for key in nexts if key is not None)
        ]
        return _State(tuple(anything), going.matched), [
            (segment, _State(tuple(live), going.matched)) for segment, live in children
        ]

    def _matched(self, numbers: Iterable[int]) -> tuple[int, ...]:
        kept: list[int] = []
        for n in sorted(numbers):
            kept.append(n)
            if self.rules[n].is_certain:
                break
        return tuple(kept)

    def _before(
        self, live: tuple[_HalfRead, ...], matched: tuple[int, ...]
    ) -> tuple[_HalfRead, ...]:
        """Without the rules that come behind one that always holds."""
        if not matched or not self.rules[matched[-1]].is_certain:
            return live
        return tuple(one for one in live if one[0] < matched[-1])

    def _routes(self, numbers: Iterable[int]) -> Iterator[Route]:
        return (route for n in numbers for route in self.rules[n].routes)


def _until_certain(routes: Iterable[Route]) -> tuple[Route, ...]:
    kept: list[Route] = []
    for route in routes:
        kept.append(route)
        if is_certain(route):
            break
    return tuple(kept)
