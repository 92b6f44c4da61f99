"""The items that an Envoy may refuse one by one, and a snapshot without some of them.

Called by `quarantine` and `search`. An item is a route, a service or a gateway group; its form is
what the compiler makes resources from. What depends on an item that is left out goes with it.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from controlplane.domain import canonical
from controlplane.domain.findings import Observation
from controlplane.domain.routing.route import Route
from controlplane.domain.snapshot import (
    Content,
    EndpointsSection,
    RoutesSection,
    Section,
    ServiceEndpoints,
    Snapshot,
    WeightsSection,
)
from controlplane.domain.topology import GatewayGroup
from controlplane.domain.xds import ResourceType

Form = Route | ServiceEndpoints | GatewayGroup

# The first word of a subject, and what is compiled from such items.
FORMS: Mapping[str, type[Form]] = {
    "service": ServiceEndpoints,
    "gateway": GatewayGroup,
    "route": Route,
}
ALL = frozenset(FORMS)
KINDS: Mapping[ResourceType, str] = {
    ResourceType.CLUSTER: "service",
    ResourceType.LISTENER: "gateway",
    ResourceType.ROUTE: "route",
}
# For the check of routes alone.
STAND_IN = GatewayGroup(name="preflight")


def kind_of(subject: str) -> str:
    """The first word of a subject: `service`, `gateway` or `route`."""
    return subject.partition("/")[0]


def forms(content: Content, kinds: Collection[str] = ALL) -> dict[str, Form]:
    """Subject -> form. Addresses of a service are not part of it: they are no cluster's."""
    found: dict[str, Form] = {}
    if "service" in kinds:
        found |= {
            f"service/{s.service}": replace(s, centers=()) for s in content.endpoints.services
        }
    if "gateway" in kinds:
        found |= {f"gateway/{group.name}": group for group in content.routes.gateways}
    if "route" in kinds:
        found |= {f"route/{route.id}": route for route in content.routes.routes}
    return found


def digest(form: Form) -> str:
    """The same form, the same digest."""
    return canonical.digest(canonical.encode(form))


def with_kept(content: Content, kept: Mapping[str, Form | None]) -> Content:
    """The content with other forms of some items; None leaves the item out.

    Routes to a service that is not there go too: Envoy would acknowledge them and answer 503.
    """
    services = tuple(
        one for s in content.endpoints.services if (one := _service(s, kept)) is not None
    )
    names = {service.service for service in services}
    routes = tuple(
        route
        for published in content.routes.routes
        if isinstance(route := kept.get(f"route/{published.id}", published), Route)
        and route.service in names
    )
    groups = tuple(
        group
        for declared in content.routes.gateways
        if isinstance(group := kept.get(f"gateway/{declared.name}", declared), GatewayGroup)
    )
    weights = tuple(w for w in content.weights.weights if w.service in names)
    return replace(
        content,
        endpoints=EndpointsSection(services=services),
        weights=WeightsSection(weights=weights),
        routes=RoutesSection(gateways=groups, routes=routes),
    )


def only(content: Content, subjects: Iterable[str]) -> Content:
    """Some items and what they need: to ask an Envoy about them alone."""
    wanted = set(subjects)
    routes = tuple(r for r in content.routes.routes if f"route/{r.id}" in wanted)
    groups = tuple(g for g in content.routes.gateways if f"gateway/{g.name}" in wanted)
    needed = wanted | {f"service/{route.service}" for route in routes}
    return Content(
        endpoints=EndpointsSection(
            services=tuple(
                s for s in content.endpoints.services if f"service/{s.service}" in needed
            )
        ),
        routes=RoutesSection(gateways=groups or (STAND_IN,), routes=routes),
    )


def marked(snapshot: Snapshot, content: Content, mark: str) -> Snapshot:
    """The snapshot with other content; digests that differ by `mark`, for the renderer only."""
    changed = {section: f"{snapshot.digests[section]} {mark}" for section in Section}
    return replace(snapshot, content=content, digests=changed)


def unpublished(content: Content) -> Snapshot:
    """Content as a snapshot that is compiled once and never published."""
    return Snapshot(version="", content=content, sections={}, digests=dict.fromkeys(Section, ""))


def dependents(content: Content, kept: Mapping[str, Form | None]) -> tuple[Observation, ...]:
    """The routes that are left out with their service."""
    absent = {
        subject.partition("/")[2]
        for subject, form in kept.items()
        if form is None and kind_of(subject) == "service"
    }
    return tuple(
        Observation(
            code="route_service_refused",
            subject=f"route/{route.id}",
            message=f"route {route.id} names service {route.service}, which Envoy refuses: see "
            f"the finding on service/{route.service}",
            held="the route is left out",
        )
        for route in content.routes.routes
        if route.service in absent and f"route/{route.id}" not in kept
    )


def _service(service: ServiceEndpoints, kept: Mapping[str, Form | None]) -> ServiceEndpoints | None:
    form = kept.get(f"service/{service.service}", service)
    if not isinstance(form, ServiceEndpoints):
        return None
    # Endpoints are never refused with a cluster, so they stay those of now.
    return replace(form, centers=service.centers)
