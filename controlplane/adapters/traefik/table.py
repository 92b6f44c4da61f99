"""Hosts and rules as Traefik's routers, first things first: the order is their priority.

Called by `render`.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from controlplane.adapters.traefik.middlewares import Json, Middlewares
from controlplane.adapters.traefik.rules import EVERYTHING, REFUSAL, of_hosts, rule
from controlplane.adapters.traefik.upstreams import Upstreams
from controlplane.domain.routing.matching.functions import lowered
from controlplane.domain.routing.matching.provided_functions import PROVIDED
from controlplane.domain.routing.precedence import EVERY_HOST, by_host
from controlplane.domain.routing.route import PathMatch, PathMatchType, Route

# Traefik's own service, for routers that ask none.
NO_SERVICE = "noop@internal"
HTTP, HTTPS = "http", "https"
NOTHING = 404


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiler:
    """What routers are made of.

    Attributes:
        entry: middlewares of every request.
        entry_points: names of the ports.
        closed: routes that refuse everybody at their place, because they cannot be compared.
    """

    middlewares: Middlewares
    upstreams: Upstreams
    entry: tuple[str, ...]
    entry_points: tuple[str, ...]
    closed: Collection[str]

    def routers(self, routes: Iterable[Route]) -> dict[str, Json]:
        """A router for each rule of each host, the most specific host first."""
        found = list(self._found(routes))
        named: dict[str, Json] = {}
        for place, (name, made) in enumerate(found):
            named[name] = {**made, "priority": len(found) - place}
        return dict(sorted(named.items()))

    def _found(self, routes: Iterable[Route]) -> Iterator[tuple[str, Json]]:
        yield _name("", "refused"), self._router(REFUSAL, [self.middlewares.answer(400)])
        for hosts, ordered in _hosts(routes):
            for route in ordered:
                yield _name(route.id, hosts[0]), self._of(hosts, route)
            nothing = " && ".join(of_hosts(hosts)) or EVERYTHING
            answer = [self.middlewares.answer(NOTHING)]
            yield _name("", "nothing", hosts[0]), self._router(nothing, answer)

    def _of(self, hosts: tuple[str, ...], route: Route) -> Json:
        if route.id in self.closed:
            path = route.path
            if path.type is PathMatchType.REGULAR_EXPRESSION:
                path = PathMatch()
            place = Route(id=route.id, path=path, methods=route.methods)
            return self._router(rule(hosts, place), [self.middlewares.answer(403)])
        plain = lowered(route, PROVIDED) or route
        return self._router(rule(hosts, plain), *self._done(route))

    def _done(self, route: Route) -> tuple[list[str], str]:
        """Middlewares of a route, and the service behind them."""
        make = self.middlewares
        headers = make.headers(route)
        if route.authentication:
            return [make.answer(403)], NO_SERVICE
        if route.transform:
            return [make.answer(501)], NO_SERVICE
        if route.response is not None:
            return [*headers, make.answer(route.response.status)], NO_SERVICE
        if route.redirect is not None:
            return [*headers, make.redirect(route.redirect)], NO_SERVICE
        service = self.upstreams.of(route)
        if service is None:
            return [*headers, make.answer(503)], NO_SERVICE
        queue = [] if route.queue is None else [make.queue(route.queue)]
        again = make.retry(self.upstreams.retries(route))
        return [*headers, *queue, *make.rewriting(route), *again], service

    def _router(self, text: str, done: list[str], service: str = NO_SERVICE) -> Json:
        return {
            "rule": text,
            "entryPoints": list(self.entry_points),
            "middlewares": [*self.entry, *done],
            "service": service,
        }


def _hosts(routes: Iterable[Route]) -> list[tuple[tuple[str, ...], list[Route]]]:
    """Hosts and their routes; hosts by name that have the same routes are together."""
    same: dict[tuple[str, ...], list[str]] = {}
    found = by_host(routes)
    for host, table in found.items():
        shared = "" if "*" not in host else host
        same.setdefault((shared, *(route.id for route in table)), []).append(host)
    groups = [(tuple(sorted(hosts)), found[hosts[0]]) for hosts in same.values()]
    return sorted(groups, key=lambda group: _order(group[0][0]))


def _order(host: str) -> tuple[int, int, str]:
    """Names, then the longest `*.suffix`, then `*`."""
    if host == EVERY_HOST:
        return 2, 0, host
    return (1, -len(host), host) if host.startswith("*") else (0, 0, host)


def _name(*parts: str) -> str:
    """Name of a router; ids and hosts have no tilde, so no two get the same."""
    return "~".join(part.replace("/", "~~").replace("*", "~any") for part in parts)
