"""The items that an Envoy may refuse one by one, and a snapshot without some of them.

Called by `quarantine` and `search`. An item is a route, a whitelist, an L4 route, a service or a
gateway group; its form is what the compiler makes resources from. What depends on an item that is
left out goes with it.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from controlplane.domain import canonical
from controlplane.domain.findings import Observation
from controlplane.domain.routing.route import L4Route, Route
from controlplane.domain.routing.whitelist import Whitelist
from controlplane.domain.snapshot import (
    Content,
    EndpointsSection,
    Section,
    ServiceEndpoints,
    Snapshot,
    WeightsSection,
)
from controlplane.domain.topology import GatewayGroup
from controlplane.domain.xds import ResourceType

Form = Route | Whitelist | L4Route | ServiceEndpoints | GatewayGroup

# The first word of a subject, and what is compiled from such items.
FORMS: Mapping[str, type[Form]] = {
    "service": ServiceEndpoints,
    "gateway": GatewayGroup,
    "l4": L4Route,
    "route": Route,
    "whitelist": Whitelist,
}
ALL = frozenset(FORMS)
KINDS: Mapping[ResourceType, tuple[str, ...]] = {
    ResourceType.CLUSTER: ("service",),
    ResourceType.LISTENER: ("gateway", "l4"),
    ResourceType.ROUTE: ("route", "whitelist"),
}
# For the check of routes alone; its port is nobody's, and never bound.
STAND_IN = GatewayGroup(name="preflight", listen_port=1)


def kind_of(subject: str) -> str:
    """The first word of a subject: `service`, `gateway`, `route`..."""
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
    if "whitelist" in kinds:
        found |= {f"whitelist/{one.id}": one for one in content.routes.whitelists}
    if "l4" in kinds:
        found |= {f"l4/{route.id}": route for route in content.routes.l4_routes}
    return found


def seen_by(form: Form, group: str) -> bool:
    """Whether an Envoy of a gateway group is sent what is made from it."""
    match form:
        case GatewayGroup():
            return form.name == group
        case Route() | L4Route():
            return not form.gateways or group in form.gateways
        case _:
            return True


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
        and (route.service in names or not route.service)
    )
    whitelists = tuple(
        whitelist
        for published in content.routes.whitelists
        if isinstance(whitelist := kept.get(f"whitelist/{published.id}", published), Whitelist)
    )
    l4_routes = tuple(
        route
        for published in content.routes.l4_routes
        if isinstance(route := kept.get(f"l4/{published.id}", published), L4Route)
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
        routes=replace(
            content.routes,
            gateways=groups,
            routes=routes,
            whitelists=whitelists,
            l4_routes=l4_routes,
        ),
    )


def only(content: Content, subjects: Iterable[str]) -> Content:
    """Some items and what they need: to ask an Envoy about them alone."""
    wanted = set(subjects)
    section = content.routes
    # For every group: the stand-in has no name that a route could have.
    routes = tuple(replace(r, gateways=()) for r in section.routes if f"route/{r.id}" in wanted)
    l4_routes = tuple(replace(r, gateways=()) for r in section.l4_routes if f"l4/{r.id}" in wanted)
    groups = tuple(g for g in section.gateways if f"gateway/{g.name}" in wanted)
    named = [*(route.service for route in routes), *(route.service for route in l4_routes)]
    needed = wanted | {f"service/{service}" for service in named}
    return Content(
        endpoints=EndpointsSection(
            services=tuple(
                s for s in content.endpoints.services if f"service/{s.service}" in needed
            )
        ),
        routes=replace(
            section,
            gateways=groups or (STAND_IN,),
            routes=routes,
            whitelists=tuple(w for w in section.whitelists if f"whitelist/{w.id}" in wanted),
            l4_routes=l4_routes,
        ),
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
    section = content.routes
    named = [(f"route/{r.id}", r.service) for r in section.routes]
    named += [(f"l4/{r.id}", r.service) for r in section.l4_routes]
    return tuple(
        Observation(
            code="route_service_refused",
            subject=subject,
            message=f"{subject} names service {service}, which Envoy refuses: see "
            f"the finding on service/{service}",
            held="the route is left out",
        )
        for subject, service in named
        if service in absent and subject not in kept
    )


def _service(service: ServiceEndpoints, kept: Mapping[str, Form | None]) -> ServiceEndpoints | None:
    form = kept.get(f"service/{service.service}", service)
    if not isinstance(form, ServiceEndpoints):
        return None
    # Endpoints are never refused with a cluster, so they stay those of now.
    return replace(form, centers=service.centers)
