"""Checks: test requests that are kept with routes, run before a change of the table is published.

Called by `engine.fleet.fleets`. A change that makes a check fail is held, and only that change: the
route that the check belongs to keeps its earlier form, or where that did not change, the route
that took the request away. Everything else ships.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from controlplane.domain.routing.matching.normalization import Refusal, normalized_host
from controlplane.domain.routing.matching.request import Request
from controlplane.domain.routing.matching.table import Table
from controlplane.domain.routing.precedence import host_patterns
from controlplane.domain.routing.route import Route, RouteCheck

NO_ROUTE_STATUS = 404


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """What became of a check.

    Attributes:
        route: that it is kept with. winner: that gets the request, "" is none.
        fault: which request, what it must get, and what it gets; "" when it gets it.
    """

    route: str
    check: RouteCheck
    winner: str
    fault: str = ""

    @property
    def key(self) -> tuple[str, RouteCheck]:
        """What tells it from other checks."""
        return self.route, self.check


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldChange:
    """A change of one route that is not made: it stays as it was."""

    route: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A table after its checks.

    Attributes:
        routes: by id, with the earlier form of what is held.
        held: changes that are not made.
        failing: checks that fail although nothing of this change is at fault.
    """

    routes: Mapping[str, Route]
    held: tuple[HeldChange, ...] = ()
    failing: tuple[CheckResult, ...] = ()


def checked(before: Mapping[str, Route], after: Mapping[str, Route], now_s: float) -> Checked:
    """The table `after` without the changes that make a check fail.

    Args:
        before, after: id -> route, refusals of whitelists among them.
    """
    routes = dict(after)
    held: list[HeldChange] = []
    failing = failed(routes.values(), now_s)
    earlier = {one.key: one for one in results(before.values(), now_s)} if failing else {}
    while True:
        changed = {one for one in {*before, *routes} if before.get(one) != routes.get(one)}
        at_fault = {
            route_id: one.fault
            for one in failing
            for route_id in _at_fault(
                one, earlier.get(one.key), {c: routes.get(c) for c in changed}
            )
        }
        if not at_fault:
            return Checked(routes=routes, held=tuple(held), failing=failing)
        for route_id, reason in at_fault.items():
            held.append(HeldChange(route=route_id, reason=reason))
            if route_id in before:
                routes[route_id] = before[route_id]
            else:
                del routes[route_id]
        failing = failed(routes.values(), now_s)


def _at_fault(
    failing: CheckResult, earlier: CheckResult | None, changed: Mapping[str, Route | None]
) -> Iterator[str]:
    """The changes that make a check fail; none when it failed before.

    Args:
        changed: id -> the new form, None when it is gone.
    """
    if failing.route in changed:
        yield failing.route
    elif earlier is None or earlier.fault:
        return
    elif failing.winner in changed:
        yield failing.winner
    elif earlier.winner in changed:
        yield earlier.winner
    else:
        # A more specific host has routes now, and none of them matches.
        hosts = set(host_patterns(normalized_host(failing.check.host)))
        yield from (
            name for name, route in changed.items() if route and hosts.intersection(route.hosts)
        )


def failed(routes: Iterable[Route], now_s: float) -> tuple[CheckResult, ...]:
    """Every check that fails."""
    return tuple(one for one in results(routes, now_s) if one.fault)


def results(routes: Iterable[Route], now_s: float) -> Iterator[CheckResult]:
    """Every check; a route that is not valid yet is tried at its beginning."""
    everything = tuple(routes)
    tables: dict[str, Table] = {}
    for route in everything:
        time_s = max(now_s, route.valid_from_s or now_s)
        if not route.valid(time_s):
            continue
        for check in route.checks:
            if check.gateway not in tables:
                tables[check.gateway] = Table.of(everything, gateway=check.gateway)
            yield _result(route, check, tables[check.gateway], time_s)


def _result(route: Route, check: RouteCheck, table: Table, time_s: float) -> CheckResult:
    request = Request.of(check.path, check.method, check.host, check.headers, check.source)
    winner, status = _answer(request, table, time_s)
    wanted = _wanted(route, check)
    found = CheckResult(route=route.id, check=check, winner="" if winner is None else winner.id)
    if all(_holds(word, winner, status) for word in wanted):
        return found
    gets = "no route" if winner is None else f"route {winner.id}"
    gets += "" if winner is None or not winner.service else f" to service {winner.service}"
    gets += "" if status is None else f" with status {status}"
    must = " and ".join(f"{name} {value}" for name, value in wanted)
    request_words = f"{check.method} {check.host}{check.path[:200]}"
    fault = f"check of route {route.id}: {request_words} must get {must}, and gets {gets}"
    return replace(found, fault=fault)


def _answer(
    request: Request | Refusal, table: Table, time_s: float
) -> tuple[Route | None, int | None]:
    """The route that a request gets, and the status of an answer without a service."""
    if isinstance(request, Refusal):
        return None, request.status
    winner = table.match(request, time_s).route
    return winner, _status(winner)


_Wanted = Sequence[tuple[str, str]]


def _wanted(route: Route, check: RouteCheck) -> _Wanted:
    status = "" if check.status is None else str(check.status)
    told = (("route", check.route), ("service", check.service), ("status", status))
    return [one for one in told if one[1]] or [("route", route.id)]


def _status(winner: Route | None) -> int | None:
    """Of an answer without a service."""
    if winner is None:
        return NO_ROUTE_STATUS
    if winner.response is not None:
        return winner.response.status
    return None if winner.redirect is None else winner.redirect.status


def _holds(wanted: tuple[str, str], winner: Route | None, status: int | None) -> bool:
    name, value = wanted
    if name == "status":
        return str(status) == value
    if winner is None:
        return False
    return value == (winner.id if name == "route" else winner.service)
