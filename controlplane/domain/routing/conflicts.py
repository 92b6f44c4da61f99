"""Conflicts: routes that do not do what their author may think, named when they are written.

None of them is an error: the order of routes is total. Called where routes are written and before
a publication. What cannot be told without solving regular expressions is not told.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.radix.pattern import Pattern
from controlplane.domain.routing.compatibility import can_meet, contradiction, takes
from controlplane.domain.routing.expressions import literal_start
from controlplane.domain.routing.matching.normalization import normalized
from controlplane.domain.routing.precedence import (
    EVERY_HOST,
    by_host,
    host_patterns,
    is_parameter,
    order_at_one_path,
    pattern,
)
from controlplane.domain.routing.route import PathMatch, PathMatchType, Route
from controlplane.domain.routing.whitelist import Whitelist, refusal

# Routes of one path that a route is compared with: those just before it in their order.
NEIGHBORS = 50
_EXPRESSION = PathMatchType.REGULAR_EXPRESSION


class ConflictKind(StrEnum):
    """What is wrong."""

    BY_ID = "only ids put one of two routes before the other"
    NEVER_REACHED = "another route takes every request before it"
    NEVER_FULFILLED = "no request can be like it"
    OPEN_WHITELIST = "it lets unlisted paths of a whitelist pass"
    OTHER_HOST = "a more specific host has routes of its own, and never gets these"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Something that an author should know.

    Attributes:
        route: id of the route, or `whitelist/...` of a whitelist.
        other: id of the route that it meets; "" when there is none.
        host: on which host; "" is each.
        detail: more, in words; may be "".
    """

    kind: ConflictKind
    route: str
    other: str = ""
    host: str = ""
    detail: str = ""


def conflicts(routes: Iterable[Route], whitelists: Iterable[Whitelist] = ()) -> list[Conflict]:
    """Every conflict, in order of route and host."""
    refusals = [refusal(whitelist) for whitelist in whitelists]
    declared = list(routes)
    tables = by_host([*declared, *refusals])
    found = list(_never_fulfilled(declared))
    for host, ordered in tables.items():
        found += _at_one_place(host, ordered)
        found += _expressions(host, ordered)
        found += _open_whitelists(host, ordered, refusals)
    found += _other_hosts(tables, refusals)
    return sorted(set(found), key=lambda each: (each.route, each.host, each.kind, each.other))


def _never_fulfilled(routes: Iterable[Route]) -> Iterator[Conflict]:
    for route in routes:
        detail = contradiction(route) or _strange_path(route.path)
        if detail:
            yield Conflict(kind=ConflictKind.NEVER_FULFILLED, route=route.id, detail=detail)


def _strange_path(path: PathMatch) -> str:
    """Why no path in normal form matches; "" when one may."""
    if path.type is PathMatchType.REGULAR_EXPRESSION:
        return ""
    parts = path.value.split("/")
    if path.type is PathMatchType.PATH_TEMPLATE:
        parts = ["x" if is_parameter(part) else part for part in parts]
    plain = "/".join(parts)
    return "" if normalized(plain) == plain else "its path is not in normal form"


def _at_one_place(host: str, ordered: Sequence[Route]) -> Iterator[Conflict]:
    """Conflicts of routes with the same path, or the same expression."""
    for place in _places(ordered):
        for at, route in enumerate(place):
            before = place[max(0, at - NEIGHBORS) : at]
            taker = next((other for other in before if takes(other, route)), None)
            if taker is not None:
                kind = ConflictKind.NEVER_REACHED
                yield Conflict(kind=kind, route=route.id, other=taker.id, host=host)
                continue
            equal = order_at_one_path(route)[:-1]
            for other in before:
                if order_at_one_path(other)[:-1] == equal and can_meet(other, route):
                    kind = ConflictKind.BY_ID
                    yield Conflict(kind=kind, route=route.id, other=other.id, host=host)
                    break


def _places(ordered: Sequence[Route]) -> Iterator[list[Route]]:
    """Routes that have one path, in order, where there are several."""
    found: dict[Pattern | str, list[Route]] = {}
    for route in ordered:
        place = pattern(route.path)
        found.setdefault(route.path.value if place is None else place, []).append(route)
    return (routes for routes in found.values() if len(routes) > 1)


def _expressions(host: str, ordered: Sequence[Route]) -> Iterator[Conflict]:
    """Expressions that a prefix takes everything from."""
    expressions = [route for route in ordered if route.path.type is _EXPRESSION]
    prefixes: dict[str, list[Route]] = {}
    for route in ordered:
        if route.path.type is PathMatchType.PATH_PREFIX:
            prefixes.setdefault(route.path.value, []).append(route)
    for expression in expressions:
        for above in _prefixes_of(literal_start(expression.path.value)):
            taker = next((p for p in prefixes.get(above, ()) if takes(p, expression)), None)
            if taker is not None:
                kind = ConflictKind.NEVER_REACHED
                yield Conflict(kind=kind, route=expression.id, other=taker.id, host=host)
                break


def _prefixes_of(start: str) -> Iterator[str]:
    """Prefixes that match every path with a beginning, the shortest first."""
    if start.startswith("/"):
        yield "/"
    yield from (start[:at] for at in range(1, len(start)) if start[at] == "/")


def _open_whitelists(
    host: str, ordered: Sequence[Route], refusals: Sequence[Route]
) -> Iterator[Conflict]:
    """Routes for every path that come before the refusal of what is not listed.

    The refusal of another whitelist, for a channel, lets nothing through.
    """
    doors = [route for route in ordered if route not in refusals]
    for wall in (wall for wall in refusals if host in wall.hosts):
        for route in doors:
            before = order_at_one_path(route) < order_at_one_path(wall)
            if route.path == wall.path and before and can_meet(route, wall):
                kind = ConflictKind.OPEN_WHITELIST
                yield Conflict(kind=kind, route=route.id, other=wall.id, host=host)


def _other_hosts(
    tables: Mapping[str, Sequence[Route]], refusals: Sequence[Route]
) -> Iterator[Conflict]:
    """Routes of `*` and `*.suffix` that a host with a table of its own never gets.

    Of many routes of one host the first stands for all; whitelists are told one by one.
    """
    walls = {wall.id for wall in refusals}
    kind = ConflictKind.OTHER_HOST
    for host, mine in tables.items():
        for wider in _wider(host):
            missed = [route for route in tables.get(wider, ()) if host not in route.hosts]
            told = [route for route in missed if route.id in walls]
            others = [route for route in missed if route.id not in walls]
            for route in (*told, *others[:1]):
                more = len(others) - 1 if route in others and len(others) > 1 else 0
                yield Conflict(
                    kind=kind,
                    route=route.id,
                    other=mine[0].id,
                    host=host,
                    detail=f"and {more} more of {wider}" if more else "",
                )


def _wider(host: str) -> Iterator[str]:
    """Less specific hosts whose requests a host takes."""
    if host != EVERY_HOST:
        yield from (other for other in host_patterns(host.removeprefix("*")) if other != host)
