"""Hosts and rules as Caddy's routes, first things first: Caddy asks one after the other.

Called by `render`.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from controlplane.adapters.caddy.handlers import answer, handlers
from controlplane.adapters.caddy.matchers import (
    Json,
    Values,
    all_of,
    name_order,
    of_hosts,
    of_path,
    of_times,
)
from controlplane.adapters.caddy.upstreams import Upstreams
from controlplane.domain.routing.compiling.choices import choices
from controlplane.domain.routing.precedence import by_host
from controlplane.domain.routing.route import PathMatch, PathMatchType, Route


def tables(
    routes: Iterable[Route], closed: Collection[str], upstreams: Upstreams
) -> Iterator[Json]:
    """A route for each host, the most specific first; nothing falls through to another.

    Args:
        closed: routes that refuse everybody at their place, because they cannot be compared.
    """
    for hosts, found in _hosts(routes):
        yield {
            **_when_it_exists(hosts, found),
            "handle": [{"handler": "subroute", "routes": list(_rules(found, closed, upstreams))}],
            "terminal": True,
        }


def _hosts(routes: Iterable[Route]) -> list[tuple[tuple[str, ...], list[Route]]]:
    """Hosts and their routes; hosts by name that have the same routes are together."""
    same: dict[tuple[str, ...], list[str]] = {}
    found = by_host(routes)
    for host, table in found.items():
        shared = "" if "*" not in host else host
        same.setdefault((shared, *(route.id for route in table)), []).append(host)
    groups = [(tuple(hosts), found[hosts[0]]) for hosts in same.values()]
    return sorted(groups, key=lambda group: name_order(group[0][0]))


def _when_it_exists(hosts: tuple[str, ...], routes: Sequence[Route]) -> Json:
    """A host none of whose routes exists now has no table."""
    name = list(of_hosts(hosts))
    times = [list(of_times(route)) for route in routes]
    lasting = not all(times)
    sets = [all_of(name)] if lasting else [all_of([*name, *each]) for each in times]
    return {"match": sets} if any(sets) else {}


def _rules(
    routes: Sequence[Route], closed: Collection[str], upstreams: Upstreams
) -> Iterator[Json]:
    values = Values()
    rules = [
        rule
        for route in routes
        for rule in (_closed(route) if route.id in closed else _open(route, values, upstreams))
    ]
    yield from values.reading()
    yield from rules
    yield {"handle": [answer(404)]}


def _closed(route: Route) -> Iterator[Json]:
    path = route.path
    if path.type is PathMatchType.REGULAR_EXPRESSION:
        path = PathMatch()
    yield _rule(replace(route, path=path), [], [answer(403)])


def _open(route: Route, values: Values, upstreams: Upstreams) -> Iterator[Json]:
    for choice in choices(route) or ():
        tests = values.of_choice(choice)
        if tests is not None:
            yield _rule(choice.route, tests, handlers(choice, upstreams))


def _rule(route: Route, tests: list[Json], done: list[Json]) -> Json:
    methods = [{"method": list(route.methods)}] if route.methods else []
    wanted = all_of([*methods, *of_path(route.path), *tests, *of_times(route)])
    rule = {"handle": done, "terminal": True}
    return {"match": [wanted], **rule} if wanted else rule
