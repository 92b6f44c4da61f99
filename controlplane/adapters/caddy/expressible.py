"""Which routes Caddy can express, and what it does by halves.

A route that refuses somebody, and cannot be compared, refuses everybody at its place: left out, it
would let in whom it should keep out. Called by `render`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from controlplane.domain.findings import Observation, Severity
from controlplane.domain.routing.compiling.selection import Declared, Plane, selected
from controlplane.domain.routing.route import Route
from controlplane.domain.routing.whitelist import refusal
from controlplane.domain.snapshot import RoutesSection, Snapshot

CADDY = Plane(title="Caddy", refused={"authentication": "403", "transform": "501"})
# Left out for ever, whoever asks.
_HARMLESS = "route_path_never_matches"
_REFUSALS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Expressible:
    """Routes of a group.

    Attributes:
        closed: ids of those that refuse everybody at their place.
    """

    routes: tuple[Route, ...]
    closed: frozenset[str]
    notes: tuple[Observation, ...]


def expressible(snapshot: Snapshot, gateway: str, left_out: Mapping[str, str]) -> Expressible:
    """The routes of a gateway group, and notes about the rest."""
    section = snapshot.content.routes
    services = {s.service for s in snapshot.content.endpoints.services}
    strange = {route.id: words for route in section.routes if (words := _strange(route))}
    declared = Declared(
        routes=section.routes,
        whitelists=section.whitelists,
        services=services,
        l4_routes=section.l4_routes,
    )
    found = selected(declared, gateway, CADDY, {**strange, **left_out})
    guards = _guards(section, gateway)
    lost = {
        note.subject.removeprefix("route/")
        for note in found.notes
        if note.code not in (_HARMLESS, "route_action_refused")
    }
    closed = frozenset(lost & guards.keys())
    return Expressible(
        routes=(*found.routes, *(guards[name] for name in sorted(closed))),
        closed=closed,
        notes=(
            *(_told(note, closed) for note in found.notes),
            *by_halves(found.routes),
        ),
    )


def _guards(section: RoutesSection, gateway: str) -> dict[str, Route]:
    """Routes that keep somebody out."""
    every = (*section.routes, *map(refusal, section.whitelists))
    return {
        route.id: route
        for route in every
        if (not route.gateways or gateway in route.gateways)
        and (route.authentication or (route.response and route.response.status >= _REFUSALS))
    }


def _told(note: Observation, closed: frozenset[str]) -> Observation:
    if note.subject.removeprefix("route/") not in closed:
        return note
    return replace(note, held="everybody gets 403 at its host, path and methods")


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
