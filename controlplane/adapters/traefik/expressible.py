"""Which routes Traefik can express, and what it does by halves.

A route that refuses somebody, and cannot be compared, refuses everybody at its place. Called by
`render`.
"""

from collections.abc import Iterator
from dataclasses import replace

from controlplane.adapters.traefik.middlewares import PERMANENT
from controlplane.adapters.traefik.rules import strange
from controlplane.domain.findings import Observation, Severity
from controlplane.domain.routing.compiling.closing import Closing, closing
from controlplane.domain.routing.compiling.selection import (
    Declared,
    Plane,
    Selection,
    selected,
)
from controlplane.domain.routing.matching.functions import lowered
from controlplane.domain.routing.matching.provided_functions import PROVIDED
from controlplane.domain.routing.route import Route
from controlplane.domain.snapshot import Snapshot

TRAEFIK = Plane(title="Traefik", refused={"authentication": "403", "transform": "501"})


def expressible(snapshot: Snapshot, gateway: str) -> Closing:
    """The routes of a gateway group, and notes about the rest."""
    section = snapshot.content.routes
    declared = Declared(
        routes=section.routes,
        whitelists=section.whitelists,
        services={s.service for s in snapshot.content.endpoints.services},
        l4_routes=section.l4_routes,
    )
    named = selected(declared, gateway, TRAEFIK, {})
    words = {r.id: said for r in named.routes if (said := strange(lowered(r, PROVIDED) or r))}
    kept = tuple(route for route in named.routes if route.id not in words)
    left_out = [_left_out(name, said) for name, said in sorted(words.items())]
    found = Selection(routes=kept, notes=(*named.notes, *left_out))
    closed = closing(found, section.routes, section.whitelists, gateway)
    halves = [note for route in kept for note in _by_halves(route)]
    return replace(closed, notes=(*closed.notes, *halves))


def _left_out(route_id: str, words: str) -> Observation:
    return Observation(
        code="route_not_expressible",
        subject=f"route/{route_id}",
        message=f"route {route_id}: Traefik cannot compare it: {words}",
        held="the route is left out",
    )


def _by_halves(route: Route) -> Iterator[Observation]:
    """What a route does nearly as it says."""
    if route.queue is not None:
        code = "route_queue_without_waiting"
        words = f"lets {route.queue.concurrent} requests through at once; the others get 429"
        yield _told(code, route, words)
    if route.valid_until_s is not None:
        words = "asks no clock; render its files again when the route ends"
        yield _told("route_end_not_expressible", route, words)
    if len(route.versions) > 1:
        words = "divides its versions by the address of the client, not by user"
        yield _told("route_versions_by_address", route, words)
    if route.response is not None and route.response.body:
        words = "has no body of our own to answer with; the words of the status stand there"
        yield _told("route_answer_by_halves", route, words)
    if route.redirect is not None:
        others = "301 to GET, 308 to others" if _lasts(route) else "302 to GET, 307 to others"
        wanted = route.redirect.status
        yield _told("route_answer_by_halves", route, f"redirects with {others}, not with {wanted}")


def _lasts(route: Route) -> bool:
    return route.redirect is not None and route.redirect.status in PERMANENT


def _told(code: str, route: Route, words: str) -> Observation:
    return Observation(
        code=code,
        subject=f"route/{route.id}",
        message=f"route {route.id}: Traefik {words}",
        severity=Severity.INFO,
    )
