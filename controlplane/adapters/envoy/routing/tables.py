"""Rules by host, in the order in which they are asked, and which of them are never reached.

Called by `configuration`. A request sees the table of the most specific host only, so each table is
whole; hosts with the same rules share one.
"""

from collections.abc import Hashable, Iterable, Iterator

from controlplane.adapters.envoy.routing.expressible import Rule
from controlplane.domain.findings import Observation
from controlplane.domain.routing.precedence import pattern
from controlplane.domain.routing.route import Route

Table = tuple[Rule, ...]


def tables(rules: Iterable[Rule], hosts: Iterable[str]) -> list[tuple[list[str], Table]]:
    """Hosts and what they share, in order of the first host's name.

    Args:
        hosts: that have a table even when no rule is left for it, so that a request to one of
            them does not get the rules of a less specific host.
    """
    shared: dict[tuple[str, ...], list[str]] = {}
    made: dict[tuple[str, ...], Table] = {}
    for host, found in sorted(_by_host(rules, hosts).items()):
        table = tuple(_reached(found))
        ids = tuple(rule.route.id for rule in table)
        made[ids] = table
        shared.setdefault(ids, []).append(host)
    return [(domains, made[ids]) for ids, domains in shared.items()]


def unreached(rules: Iterable[Rule]) -> tuple[Observation, ...]:
    """The routes behind one that takes every request with their host and path."""
    notes = []
    for host, found in sorted(_by_host(rules, ()).items()):
        taking: dict[Hashable, list[Route]] = {}
        for rule in found:
            before = taking.setdefault(_path(rule), [])
            first = next((one for one in before if _has_groups_of(one, rule.route)), None)
            if first is not None:
                notes.append(_shadowed(rule.route, first, host))
            if rule.certain:
                before.append(rule.route)
    return tuple(notes)


def _by_host(rules: Iterable[Rule], hosts: Iterable[str]) -> dict[str, list[Rule]]:
    found: dict[str, list[Rule]] = {host.lower(): [] for host in hosts}
    for rule in sorted(rules, key=lambda rule: rule.order):
        for host in {host.lower() for host in rule.route.hosts}:
            found.setdefault(host, []).append(rule)
    return found


def _reached(rules: Iterable[Rule]) -> Iterator[Rule]:
    """Without those behind one that takes every request with their path."""
    taken: set[Hashable] = set()
    for rule in rules:
        if _path(rule) not in taken:
            yield rule
            if rule.certain:
                taken.add(_path(rule))


def _path(rule: Rule) -> Hashable:
    """The same for rules that match the same paths, however their parameters are called."""
    return pattern(rule.route.path) or rule.route.path


def _has_groups_of(first: Route, route: Route) -> bool:
    if not first.gateways:
        return True
    return bool(route.gateways) and set(route.gateways) <= set(first.gateways)


def _shadowed(route: Route, first: Route, host: str) -> Observation:
    return Observation(
        code="route_shadowed",
        subject=f"route/{route.id}",
        message=f"route {route.id} has host {host} and {route.path.type} {route.path.value} like "
        f"route {first.id}, which comes first and takes every request: change or remove one of "
        "them",
        held=f"the route is never reached for host {host}",
    )
