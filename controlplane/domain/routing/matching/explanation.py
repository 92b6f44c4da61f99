"""Explanations: which route a request gets and why, which would be next, why the others lost.

Called by `routes:match`, the command line and checks of routes. It asks every route, so it is for
people and not for traffic.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.routing.matching.request import Request
from controlplane.domain.routing.matching.rule import Rule
from controlplane.domain.routing.matching.table import Match, Table
from controlplane.domain.routing.precedence import Difference, difference, host_patterns
from controlplane.domain.routing.route import Route


class Lost(StrEnum):
    """Why a route whose host and path match did not get a request."""

    OTHER_HOST = "a more specific host has routes, and no other is asked"
    UNMET = "something else that it asks for is missing"
    LATER = "it matches, and comes later"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loser:
    """A route that did not get a request.

    Attributes:
        unmet: what it asks for and the request has not, in words.
        before: what puts the winner before it, of one that matches.
    """

    route: Route
    lost: Lost
    unmet: tuple[str, ...] = ()
    before: Difference | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a request gets what it gets.

    Attributes:
        host: rule of the host whose routes were asked; "" when there is none.
        next: what the request would get without its route.
        losers: routes whose host and path match, first things first, at most as many as asked for.
        others: how many more routes there are.
    """

    match: Match
    host: str
    next: Route | None
    losers: tuple[Loser, ...]
    others: int


def explained(table: Table, request: Request, now_s: float, most: int = 100) -> Explanation:
    """Explain what a request gets at a time, naming at most so many losers."""
    found = table.match(request, now_s)
    host, asked = table.asked(request.host, now_s)
    candidates = () if asked is None else asked.candidates(request.path)
    losers = [
        _beside(rule, found.route, request, now_s)
        for rule in candidates
        if rule.route != found.route
    ]
    following = (loser.route for loser in losers if loser.lost is Lost.LATER)
    losers += _of_other_hosts(table, request, host)
    shown = tuple(losers[:most])
    total = len({rule.route.id for each in table.hosts.values() for rule in each.rules()})
    return Explanation(
        match=found,
        host=host,
        next=next(following, None),
        losers=shown,
        others=total - len(shown) - (found.route is not None),
    )


def _beside(rule: Rule, winner: Route | None, request: Request, now_s: float) -> Loser:
    """A rule whose host and path match, beside what the request got."""
    unmet = tuple(each.in_words() for each in rule.unmet(request, now_s))
    if unmet or winner is None:
        return Loser(route=rule.route, lost=Lost.UNMET, unmet=unmet)
    before = difference(winner, rule.route)
    return Loser(route=rule.route, lost=Lost.LATER, before=before)


def _of_other_hosts(table: Table, request: Request, asked: str) -> Iterator[Loser]:
    """Routes with the path whose host matches too, but less well."""
    seen: set[str] = set()
    for name in host_patterns(request.host):
        if name != asked and name in table.hosts:
            for rule in table.hosts[name].candidates(request.path):
                if asked not in rule.route.hosts and rule.route.id not in seen:
                    seen.add(rule.route.id)
                    yield Loser(route=rule.route, lost=Lost.OTHER_HOST, before=Difference.HOST)
