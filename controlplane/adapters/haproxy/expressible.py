"""Which routes HAProxy can express, and what it does by halves.

Called by `render`.
"""

from collections.abc import Iterator, Mapping

from controlplane.domain.findings import Observation, Severity
from controlplane.domain.routing.compiling.selection import Declared, Plane, Selection, selected
from controlplane.domain.routing.route import Route
from controlplane.domain.snapshot import Snapshot

HAPROXY = Plane(
    title="HAProxy",
    refused={"transform": "501"},
)


def expressible(snapshot: Snapshot, gateway: str, left_out: Mapping[str, str]) -> Selection:
    """The routes of a gateway group, and notes about the rest."""
    routes = snapshot.content.routes
    return selected(
        Declared(
            routes=routes.routes,
            whitelists=routes.whitelists,
            services={s.service for s in snapshot.content.endpoints.services},
            l4_routes=routes.l4_routes,
        ),
        gateway,
        HAPROXY,
        left_out,
    )


def by_halves(routes: tuple[Route, ...]) -> Iterator[Observation]:
    """Routes that do nearly what they say."""
    for route in routes:
        if route.queue is not None:
            yield Observation(
                code="route_queue_divided",
                subject=f"route/{route.id}",
                message=f"route {route.id}: HAProxy divides the {route.queue.concurrent} requests "
                "at once among the servers of its service, at least one for each",
                severity=Severity.INFO,
            )
