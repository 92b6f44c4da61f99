"""Which routes Caddy can express, and what it does by halves.

A route that refuses somebody, and cannot be compared, refuses everybody at its place: left out, it
would let in whom it should keep out. Called by `render`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from controlplane.domain.findings import Observation, Severity
from controlplane.domain.routing.compiling.closing import Closing, closing
from controlplane.domain.routing.compiling.selection import Declared, Plane, selected
from controlplane.domain.routing.route import Route
from controlplane.domain.snapshot import Snapshot

CADDY = Plane(title="Caddy", refused={"authentication": "403", "transform": "501"})


def expressible(snapshot: Snapshot, gateway: str, left_out: Mapping[str, str]) -> Closing:
    """The routes of a gateway group, and notes about the rest."""
    section = snapshot.content.routes
    strange = {route.id: words for route in section.routes if (words := _strange(route))}
    declared = Declared(
        routes=section.routes,
        whitelists=section.whitelists,
        services={s.service for s in snapshot.content.endpoints.services},
        l4_routes=section.l4_routes,
    )
    found = selected(declared, gateway, CADDY, {**strange, **left_out})
    closed = closing(found, section.routes, section.whitelists, gateway)
    return replace(closed, notes=(*closed.notes, *by_halves(found.routes)))


def _strange(route: Route) -> str:
    if any(condition.name == "host" for condition in route.conditions):
        return "the header host cannot be asked for, give the route hosts"
    return ""


def by_halves(routes: tuple[Route, ...]) -> Iterator[Observation]:
    """Routes that do nearly what they say."""
    for route in routes:
        if route.queue is not None:
            yield Observation(
                code="route_queue_not_expressible",
                subject=f"route/{route.id}",
                message=f"route {route.id}: Caddy does not count the requests of a route; use "
                "another kind of gateway",
                held="its service gets every request at once",
                severity=Severity.WARNING,
            )
