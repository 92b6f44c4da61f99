"""Which routes nginx can express, and what it does by halves.

Called by `render`.
"""

import re
from collections.abc import Iterator, Mapping

from controlplane.domain.findings import Observation, Severity
from controlplane.domain.routing.compiling.selection import Declared, Plane, Selection, selected
from controlplane.domain.routing.route import Part, Route, TextMatchType
from controlplane.domain.snapshot import Snapshot

NGINX = Plane(title="nginx", refused={"authentication": "403", "transform": "501"})
# Names of headers that are variables of nginx.
_VARIABLE = re.compile("[a-z0-9-]+")
_PRESENCE = (TextMatchType.PRESENT, TextMatchType.ABSENT)


def expressible(snapshot: Snapshot, gateway: str, left_out: Mapping[str, str]) -> Selection:
    """The routes of a gateway group, and notes about the rest."""
    routes = snapshot.content.routes
    strange = {route.id: words for route in routes.routes if (words := _strange(route))}
    return selected(
        Declared(
            routes=routes.routes,
            whitelists=routes.whitelists,
            services={s.service for s in snapshot.content.endpoints.services},
            l4_routes=routes.l4_routes,
        ),
        gateway,
        NGINX,
        {**strange, **left_out},
    )


def _strange(route: Route) -> str:
    for condition in route.conditions:
        if condition.part is Part.HEADER and not _VARIABLE.fullmatch(condition.name):
            return f"the header {condition.name} has no variable"
    return ""


def by_halves(routes: tuple[Route, ...]) -> Iterator[Observation]:
    """Routes that do nearly what they say."""
    for route in routes:
        if route.queue is not None:
            yield _note(
                "route_queue_without_waiting",
                route,
                f"nginx lets {route.queue.concurrent} requests through at once and refuses the "
                "others with 503; none of them waits",
            )
        if any(c.part is Part.HEADER and c.type in _PRESENCE for c in route.conditions):
            yield _note(
                "route_empty_header_is_none", route, "an empty header counts as none for nginx"
            )


def _note(code: str, route: Route, words: str) -> Observation:
    return Observation(
        code=code,
        subject=f"route/{route.id}",
        message=f"route {route.id}: {words}",
        severity=Severity.INFO,
    )
