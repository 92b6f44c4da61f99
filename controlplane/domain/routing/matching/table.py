"""The matcher: which route a request gets, and why.

A table holds all routes of a gateway group, whenever they are valid; whether one exists is asked
at the time of the request, so that it vanishes on time without us. Used by gateways, by the
explanation (`matching.explanation`), by checks of routes and beside each data plane in tests.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain

from controlplane.domain.radix.pattern import Pattern
from controlplane.domain.radix.tree import Tree
from controlplane.domain.routing.matching.functions import Registry
from controlplane.domain.routing.matching.provided_functions import PROVIDED
from controlplane.domain.routing.matching.request import Request
from controlplane.domain.routing.matching.rule import Rule, ordered_rules, rule_of
from controlplane.domain.routing.precedence import host_patterns, pattern
from controlplane.domain.routing.route import PathMatchType, Route
from controlplane.domain.routing.whitelist import Whitelist, is_refusal, refusal

Rules = tuple[Rule, ...]


class Reason(StrEnum):
    """Why a request got its route, or none."""

    EXACT = "its path is the route's"
    TEMPLATE = "its path fits the route's template"
    PREFIX = "its prefix is the longest whose conditions hold"
    EXPRESSION = "no path matches, and the route's expression does"
    UNLISTED = "nothing that the whitelist lists matches"
    NO_HOST = "no route has its host"
    NO_ROUTE = "no route of its host matches"


REASONS: Mapping[PathMatchType, Reason] = {
    PathMatchType.EXACT: Reason.EXACT,
    PathMatchType.PATH_TEMPLATE: Reason.TEMPLATE,
    PathMatchType.PATH_PREFIX: Reason.PREFIX,
    PathMatchType.REGULAR_EXPRESSION: Reason.EXPRESSION,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """What a request gets.

    Attributes:
        route: None when no route matches: it is answered with 404.
        parameters: name and value of each parameter of the route's template.
    """

    route: Route | None
    reason: Reason
    parameters: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTable:
    """Rules of one host: those with a path in a tree, at each place in order; then expressions.

    Attributes:
        lasting: how many rules exist at all times.
        timed: the others.
    """

    tree: Tree[Rules] = field(default_factory=Tree)
    expressions: Rules = ()
    lasting: int = 0
    timed: frozenset[Rule] = frozenset()

    @classmethod
    def of(cls, rules: Collection[Rule]) -> "HostTable":
        """The table of some rules, in whatever order they come."""
        places: dict[Pattern | None, list[Rule]] = {}
        for rule in rules:
            places.setdefault(pattern(rule.route.path), []).append(rule)
        expressions = ordered_rules(places.pop(None, ()))
        tree = Tree.of({place: ordered_rules(at) for place, at in places.items() if place})
        return cls.placed_in(tree, expressions, rules)

    @classmethod
    def placed_in(
        cls, tree: Tree[Rules], expressions: Rules, rules: Collection[Rule]
    ) -> "HostTable":
        """The table of rules that have their places already."""
        timed = frozenset(rule for rule in rules if rule.timed)
        lasting = len(rules) - len(timed)
        return cls(tree=tree, expressions=expressions, lasting=lasting, timed=timed)

    def placed(self, rule: Rule) -> "HostTable":
        """The table with a rule more, which it does not have."""
        table = self._changed(rule, lambda rules: ordered_rules((*rules, rule)))
        if rule.timed:
            return replace(table, timed=self.timed | {rule})
        return replace(table, lasting=self.lasting + 1)

    def displaced(self, rule: Rule) -> "HostTable":
        """The table without a rule that it has."""
        table = self._changed(rule, lambda rules: tuple(other for other in rules if other != rule))
        if rule.timed:
            return replace(table, timed=self.timed - {rule})
        return replace(table, lasting=self.lasting - 1)

    def _changed(self, rule: Rule, change: Callable[[Rules], Rules]) -> "HostTable":
        place = pattern(rule.route.path)
        if place is None:
            return replace(self, expressions=change(self.expressions))
        rules = change(self.tree.get(place) or ())
        tree = self.tree.inserted(place, rules) if rules else self.tree.removed(place)
        return replace(self, tree=tree)

    def exists(self, now_s: float) -> bool:
        """Whether a route of it exists at a time."""
        return self.lasting > 0 or any(rule.route.valid(now_s) for rule in self.timed)

    def rules(self) -> Iterator[Rule]:
        """Every rule, whenever it exists."""
        for _, rules in self.tree.contents():
            yield from rules
        yield from self.expressions

    def candidates(self, path: str) -> Iterator[Rule]:
        """Rules that match a path, first things first; nothing else is asked."""
        for rules in self.tree.candidates(path):
            yield from rules
        yield from (rule for rule in self.expressions if rule.matches_expression(path))

    def first(self, request: Request, now_s: float) -> Rule | None:
        """The rule that a request gets."""
        # Most requests end here, at the first place, without walking further.
        for rule in self.tree.find(request.path) or ():
            if rule.holds(request, now_s):
                return rule
        return next((r for r in self.candidates(request.path) if r.holds(request, now_s)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """All routes of a gateway group, by host; a change gives a new table."""

    hosts: Mapping[str, HostTable]
    registry: Registry = field(compare=False, repr=False)

    @classmethod
    def of(
        cls,
        routes: Iterable[Route],
        whitelists: Iterable[Whitelist] = (),
        gateway: str = "",
        registry: Registry = PROVIDED,
    ) -> "Table":
        """The table of a gateway group; of a group "" it has every route."""
        rules: dict[str, list[Rule]] = {}
        for route in chain(routes, map(refusal, whitelists)):
            if not gateway or not route.gateways or gateway in route.gateways:
                rule = rule_of(route, registry)
                for host in dict.fromkeys(route.hosts):
                    rules.setdefault(host, []).append(rule)
        hosts = {host: HostTable.of(found) for host, found in rules.items()}
        return cls(hosts=hosts, registry=registry)

    def with_route(self, route: Route) -> "Table":
        """The table with a route more, which it does not have."""
        rule = rule_of(route, self.registry)
        changed = {host: self.hosts.get(host, HostTable()).placed(rule) for host in route.hosts}
        return replace(self, hosts={**self.hosts, **changed})

    def without_route(self, route: Route) -> "Table":
        """The table without a route that it has."""
        rule = rule_of(route, self.registry)
        changed = {host: self.hosts[host].displaced(rule) for host in route.hosts}
        left = {
            host: table
            for host, table in {**self.hosts, **changed}.items()
            if table.lasting or table.timed
        }
        return replace(self, hosts=left)

    def asked(self, host: str, now_s: float) -> tuple[str, HostTable | None]:
        """The most specific host rule that has routes at a time, and its table; no other is
        asked. ("", None) when there is none."""
        for name in host_patterns(host):
            table = self.hosts.get(name)
            if table is not None and table.exists(now_s):
                return name, table
        return "", None

    def match(self, request: Request, now_s: float) -> Match:
        """The route that a request gets at a time."""
        _, table = self.asked(request.host, now_s)
        if table is None:
            return _NO_HOST
        rule = table.first(request, now_s)
        if rule is None:
            return _NO_ROUTE
        reason = REASONS[rule.route.path.type]
        if reason is Reason.PREFIX and is_refusal(rule.route):
            reason = Reason.UNLISTED
        return Match(route=rule.route, reason=reason, parameters=rule.parameters(request.path))


_NO_HOST = Match(route=None, reason=Reason.NO_HOST)
_NO_ROUTE = Match(route=None, reason=Reason.NO_ROUTE)
