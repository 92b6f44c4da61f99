"""The configuration of the push benchmark: 808 routes, ours and as weighted clusters.

Read by `benchmarks.push`.
"""

from dataclasses import dataclass

from envoy.config.route.v3 import route_components_pb2, route_pb2

from controlplane.adapters.envoy import clusters, listeners
from controlplane.adapters.envoy.resource_sets import ResourceSet, View
from controlplane.domain.fleet_snapshot import build
from controlplane.domain.routing.route import PathMatch, Route
from controlplane.domain.services import (
    Cluster,
    Endpoint,
    HealthCheck,
    LoadBalancing,
    RetryPolicy,
    Service,
)
from controlplane.domain.snapshot import CenterEndpoints, ServiceEndpoints, Snapshot
from controlplane.domain.topology import Datacenter, Fleet, GatewayGroup, Role
from controlplane.domain.xds import ResourceType

GROUP = "edge"
CENTERS = ("east", "west")
REGION = "local"
SERVICES = tuple(f"service-{number}" for number in range(8))
ROUTES = 808
AREAS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Ports: of one backend per data centre, and of Envoy's listener."""

    backends: tuple[int, int]
    listener: int


def fleet(ground: Ground) -> Fleet:
    """Eight services behind 808 routes."""
    pairs = tuple(zip(CENTERS, ground.backends, strict=True))
    places = tuple(
        Cluster(
            datacenter=name,
            capacity_rps=1_000.0,
            endpoints=(Endpoint(address="127.0.0.1", port=port),),
        )
        for name, port in pairs
    )
    return Fleet(
        datacenters=tuple(
            Datacenter(name=name, role=role, region=REGION)
            for name, role in zip(CENTERS, (Role.PRIMARY, Role.SAME_CITY), strict=True)
        ),
        services=tuple(Service(name=name, clusters=places) for name in SERVICES),
        gateways=(GatewayGroup(name=GROUP, listen_port=ground.listener),),
        routes=tuple(
            Route(id=f"r{number}", service=_service(number), path=PathMatch(value=path(number)))
            for number in range(ROUTES)
        ),
    )


def path(number: int) -> str:
    """Path of a route; about 50 characters."""
    return f"/area-{number % AREAS}/collection-of-things/number-{number}/details"


def snapshot(declared: Fleet, center: str) -> Snapshot:
    """The fleet with everything sent to one data centre."""
    shares = {name: float(name == center) for name in CENTERS}
    return build(declared, dict.fromkeys(SERVICES, shares))


class WeightedRoutes:
    """The same site with a cluster per service and data centre, and the weights in the routes."""

    def __init__(self, ground: Ground) -> None:
        self._fixed = self._fixed_sets(ground)

    def view(self, center: str) -> View:
        """Everything sent to one data centre."""
        message = route_pb2.RouteConfiguration(
            name=listeners.ROUTES_NAME,
            virtual_hosts=[
                route_components_pb2.VirtualHost(
                    name="*", domains=["*"], routes=[_route(n, center) for n in range(ROUTES)]
                )
            ],
        )
        routes = {listeners.ROUTES_NAME: message.SerializeToString(deterministic=True)}
        return {**self._fixed, ResourceType.ROUTE: ResourceSet(ResourceType.ROUTE, routes)}

    def _fixed_sets(self, ground: Ground) -> dict[ResourceType, ResourceSet]:
        made, assigned = {}, {}
        for name in SERVICES:
            for center, port in zip(CENTERS, ground.backends, strict=True):
                one = _single(f"{name}-{center}", center, port)
                assignment = clusters.assignment(one, {center: 10_000})
                assert assignment is not None
                made[one.service] = clusters.cluster(one).SerializeToString()
                assigned[one.service] = assignment.SerializeToString()
        group = GatewayGroup(name=GROUP, listen_port=ground.listener)
        listener = listeners.listener(group, listeners.Stickiness.NONE)
        return {
            ResourceType.CLUSTER: ResourceSet(ResourceType.CLUSTER, made),
            ResourceType.ENDPOINT: ResourceSet(ResourceType.ENDPOINT, assigned),
            ResourceType.LISTENER: ResourceSet(
                ResourceType.LISTENER, {GROUP: listener.SerializeToString()}
            ),
        }


def _service(number: int) -> str:
    return SERVICES[number % len(SERVICES)]


def _single(name: str, center: str, port: int) -> ServiceEndpoints:
    place = CenterEndpoints(datacenter=center, region=REGION, addresses=(("127.0.0.1", port),))
    return ServiceEndpoints(
        service=name,
        load_balancing=LoadBalancing.ROUND_ROBIN,
        health_check=HealthCheck(),
        retry=RetryPolicy(),
        timeout_ms=15_000,
        centers=(place,),
    )


def _route(number: int, center: str) -> route_components_pb2.Route:
    action = route_components_pb2.RouteAction()
    for name in CENTERS:
        weighted = action.weighted_clusters.clusters.add()
        weighted.name = f"{_service(number)}-{name}"
        weighted.weight.value = 10_000 if name == center else 0
    match = route_components_pb2.RouteMatch(path_separated_prefix=path(number))
    return route_components_pb2.Route(match=match, route=action)
