"""Long lists of rules in groups, for data planes that compare rule by rule.

One question tells whether a path is among those of a group: a regular expression of many paths
reads a path once. Groups halve what remains, so that of n rules about log2(n) questions and a short
list are asked.

The list behind a question is final, so it has every rule that can win: those of the group, and
behind them the later rules for paths that no rule of the group takes for certain.

Called by compilers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from controlplane.domain.radix.pattern import Pattern
from controlplane.domain.routing.compiling.overlaps import Overlaps
from controlplane.domain.routing.compiling.prefix_keys import is_certain
from controlplane.domain.routing.precedence import pattern
from controlplane.domain.routing.route import Route

# Rules that are compared one by one: Envoy takes as long with at most 12, 24 or 48 of them, because
# a question costs more than a comparison that fails early; with 48 there are fewest questions.
SHORT = 48
# Instructions of the regular expression of a group, at most: our Envoys take 5,000.
MOST_INSTRUCTIONS = 4_000
# What a parameter, and the end of a path, may add to a program beyond their characters.
_PARAMETER, _END = 8, 12
# Later rules that a group may repeat, as a part of the list: with a tenth, a list of a thousand
# rules becomes three times as long at most.
_REPEATED = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Rules behind one question.

    Attributes:
        patterns: the question: does one of them match the path?
    """

    patterns: tuple[Pattern, ...]
    inside: "Grouped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouped:
    """What to ask: the groups in this order, and the rest when a path is in none of them.

    Attributes:
        rest: places of rules, first things first.
    """

    groups: tuple[Group, ...]
    rest: tuple[int, ...]


def grouped(routes: Sequence[Route], rules: Sequence[int], short: int = SHORT) -> Grouped:
    """A list of rules in groups.

    Args:
        routes: in the order of precedence.
        rules: places in it, rising.
        short: a list of so many stays as it is.
    """
    if len(rules) <= short:
        return Grouped(groups=(), rest=tuple(rules))
    patterns = {n: pattern(routes[n].path) for n in rules}
    found = _List(routes, patterns, Overlaps.of(patterns.items()), short)
    # All rules of a pattern together. Two patterns that share a path never have rules between each
    # other's, because order looks at the pattern first, so nothing overtakes what matters.
    together: dict[Pattern | None, list[int]] = {}
    for n in rules:
        together.setdefault(patterns[n], []).append(n)
    return found.grouped(tuple(n for alike in together.values() for n in alike))


@dataclass(frozen=True, slots=True)
class _List:
    routes: Sequence[Route]
    patterns: dict[int, Pattern | None]
    overlaps: Overlaps
    short: int

    def grouped(self, rules: tuple[int, ...]) -> Grouped:
        groups = []
        while len(rules) > self.short:
            first = self._first(rules)
            rest = rules[len(first) :]
            behind = self._behind(first, rest)
            if not first or len(behind) > _REPEATED * len(rules):
                break
            asked = dict.fromkeys(filter(None, (self.patterns[n] for n in first)))
            groups.append(Group(patterns=tuple(asked), inside=self.grouped((*first, *behind))))
            rules = rest
        return Grouped(groups=tuple(groups), rest=tuple(sorted(rules)))

    def _first(self, rules: tuple[int, ...]) -> tuple[int, ...]:
        """At most half of them: all rules of each pattern, as many as one expression may have."""
        room = MOST_INSTRUCTIONS
        end = 0
        for at, n in enumerate(rules[: len(rules) // 2 + 1]):
            rule = self.patterns[n]
            if at and rule == self.patterns[rules[at - 1]]:
                continue
            end = at
            room -= room if rule is None else _instructions(rule)
            if room <= 0:
                break
        return rules[:end]

    def _behind(self, first: tuple[int, ...], rest: tuple[int, ...]) -> list[int]:
        """The later rules that are asked when no rule of the first ones holds."""
        also = set(self._also_asked(first))
        return [n for n in rest if n in also]

    def _also_asked(self, first: tuple[int, ...]) -> Iterator[int]:
        taken = {self.patterns[n] for n in first if is_certain(self.routes[n])}
        for rule in filter(None, {self.patterns[n] for n in first} - taken):
            yield from self.overlaps.with_paths_of(rule)


def _instructions(rule: Pattern) -> int:
    """Of its regular expression, at most."""
    sizes = (_PARAMETER if part is None else len(part) for part in rule.segments)
    return sum(sizes) + len(rule.segments) + _END
