"""A route made ready to be asked: what must hold beside host and path, as predicates."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import NamedTuple

from controlplane.domain.routing.expressions import Expression, compiled, literal_start
from controlplane.domain.routing.matching import cohorts, functions
from controlplane.domain.routing.matching.conditions import Predicate, of_condition, of_sources
from controlplane.domain.routing.matching.functions import Registry
from controlplane.domain.routing.matching.request import Request
from controlplane.domain.routing.precedence import is_parameter, order_at_one_path
from controlplane.domain.routing.route import (
    Condition,
    PathMatch,
    PathMatchType,
    Route,
    TextMatchType,
)


class Demand(StrEnum):
    """What a route asks of a request beside host and path."""

    TIME = "the route does not exist at this time"
    METHOD = "another method"
    CONDITION = "a condition does not hold"
    SOURCE = "the caller's address is in none of its networks"
    FUNCTION = "a match function does not hold"
    COHORT = "outside the cohort"


class Unmet(NamedTuple):
    """A demand that a request does not meet, and which condition or function it is."""

    demand: Demand
    detail: str

    def in_words(self) -> str:
        """What is missing, in one line."""
        return f"{self.demand}: {self.detail}" if self.detail else str(self.demand)


class _Test(NamedTuple):
    unmet: Unmet
    holds: Predicate


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A route and its tests; two rules are the same when their routes are.

    Attributes:
        tests: of method, conditions, addresses, functions and cohort.
        timed: whether the route exists at some times only.
        names: place among the segments and name of each parameter of its template.
        start: what each path begins with that the expression matches.
    """

    route: Route
    tests: tuple[_Test, ...] = field(compare=False, repr=False)
    timed: bool = field(compare=False, repr=False)
    names: tuple[tuple[int, str], ...] = field(compare=False, repr=False)
    expression: Expression | None = field(compare=False, repr=False)
    start: str = field(compare=False, repr=False)

    def holds(self, request: Request, now_s: float) -> bool:
        """Whether the request meets every demand; host and path are not asked."""
        if self.timed and not self.route.valid(now_s):
            return False
        return all(test.holds(request) for test in self.tests)

    def unmet(self, request: Request, now_s: float) -> Iterator[Unmet]:
        """The demands that a request does not meet."""
        if not self.route.valid(now_s):
            yield Unmet(Demand.TIME, "")
        yield from (test.unmet for test in self.tests if not test.holds(request))

    def parameters(self, path: str) -> tuple[tuple[str, str], ...]:
        """Name and value of each parameter of the template, for a path that it matches."""
        if not self.names:
            return ()
        segments = path.split("/")
        return tuple([(name, segments[at]) for at, name in self.names])

    def matches_expression(self, path: str) -> bool:
        """Whether the rule is an expression that matches all of a path."""
        expression = self.expression
        if expression is None or not path.startswith(self.start):
            return False
        return expression.matches(path)


def rule_of(route: Route, registry: Registry) -> Rule:
    """The rule of a route; its functions are in the registry."""
    is_expression = route.path.type is PathMatchType.REGULAR_EXPRESSION
    return Rule(
        route=route,
        tests=tuple(_tests(route, registry)),
        timed=route.valid_from_s is not None or route.valid_until_s is not None,
        names=_names(route.path),
        expression=compiled(route.path.value) if is_expression else None,
        start=literal_start(route.path.value) if is_expression else "",
    )


def _names(path: PathMatch) -> tuple[tuple[int, str], ...]:
    if path.type is not PathMatchType.PATH_TEMPLATE:
        return ()
    segments = enumerate(path.value.split("/"))
    return tuple((at, segment[1:-1]) for at, segment in segments if is_parameter(segment))


def ordered_rules(rules: Collection[Rule]) -> tuple[Rule, ...]:
    """Rules with one path, or expressions: first things first."""
    if len(rules) == 1:
        return tuple(rules)
    return tuple(sorted(rules, key=lambda rule: order_at_one_path(rule.route)))


def _tests(route: Route, registry: Registry) -> Iterator[_Test]:
    if route.methods:
        methods = frozenset(route.methods)
        yield _Test(Unmet(Demand.METHOD, ""), lambda request: request.method in methods)
    for condition in route.conditions:
        yield _Test(Unmet(Demand.CONDITION, in_words(condition)), of_condition(condition))
    if route.sources:
        yield _Test(Unmet(Demand.SOURCE, ""), of_sources(route.sources))
    for call in route.functions:
        holds = functions.predicate(call, registry)
        yield _Test(Unmet(Demand.FUNCTION, call.name), holds)
    if route.cohort is not None:
        yield _Test(Unmet(Demand.COHORT, ""), partial(cohorts.contains, route.cohort))


_VERBS = {
    TextMatchType.EXACT: "is",
    TextMatchType.PREFIX: "begins with",
    TextMatchType.REGULAR_EXPRESSION: "matches",
    TextMatchType.PRESENT: "is there",
    TextMatchType.ABSENT: "is absent",
}


def in_words(condition: Condition) -> str:
    """A condition as people write it: `header user-agent begins with curl`."""
    part = condition.part.value.replace("_param", " argument")
    return f"{part} {condition.name} {_VERBS[condition.type]} {condition.value}".rstrip()
