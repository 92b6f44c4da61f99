"""Clusters beside those of services and versions, for the same endpoints with the same weights.

Called by `render`. A slow queue is a cluster of its own with fewer requests at once, so that a
route with a queue never takes room from the others; an L4 route has one that is checked by what it
carries. All take their endpoints from the assignment of their service or version, so a change of
weights reaches them in the same push.
"""

from collections.abc import Iterable, Iterator, Mapping

from envoy.config.cluster.v3 import cluster_pb2
from google.protobuf.wrappers_pb2 import UInt32Value

from controlplane.adapters.envoy.clusters import cluster, cluster_name
from controlplane.adapters.envoy.failover import UNLIMITED
from controlplane.domain.instances.placement import EVERY_VERSION, versions
from controlplane.domain.routing.route import L4Protocol, L4Route, Route, SlowQueue
from controlplane.domain.snapshot import RoutesSection, ServiceEndpoints

# No name of a service, version or route has it.
SEPARATOR = "~"


def queue_name(name: str, route: str) -> str:
    """Name of the cluster that a route has beside another; that other one for route ""."""
    return f"{name}{SEPARATOR}{route}" if route else name


def l4_name(service: str, protocol: L4Protocol) -> str:
    """Name of the cluster of a service for connections."""
    return f"{service}{SEPARATOR}{SEPARATOR}{protocol.lower()}"


def service_of(name: str) -> str:
    """The service that a cluster belongs to, by the cluster's name."""
    return name.partition(SEPARATOR)[0].partition(":")[0]


def carried_only(section: RoutesSection) -> frozenset[str]:
    """Services that L4 routes name and no other route does: nobody asks them by HTTP, not even
    whether they are well."""
    asked = {route.service for route in section.routes}
    return frozenset(route.service for route in section.l4_routes) - asked


def derived(
    section: RoutesSection, services: Mapping[str, ServiceEndpoints]
) -> Iterator[cluster_pb2.Cluster]:
    """All of them, by name of route and service."""
    for route in section.routes:
        if route.queue is not None and route.service in services:
            yield from _queues(route, route.queue, services[route.service])
    for service, protocol in _carried(section.l4_routes):
        if service in services:
            yield _l4(services[service], protocol)


def _queues(
    route: Route, queue: SlowQueue, service: ServiceEndpoints
) -> Iterator[cluster_pb2.Cluster]:
    known = set(versions(service))
    named = [part.version for part in route.versions if part.version in known]
    for version in named or [EVERY_VERSION]:
        base = cluster_name(service.service, version)
        message = _same_endpoints(cluster(service, version), base, queue_name(base, route.id))
        (limits,) = message.circuit_breakers.thresholds
        # A request waits for one of so many connections. The limit of requests makes it strict:
        # an endpoint that has no connection yet may open one all the same.
        limits.max_connections.value = queue.concurrent
        limits.max_requests.value = queue.concurrent
        limits.max_pending_requests.value = queue.waiting
        yield message


def _carried(routes: Iterable[L4Route]) -> list[tuple[str, L4Protocol]]:
    return sorted({(route.service, route.protocol) for route in routes})


def _l4(service: ServiceEndpoints, protocol: L4Protocol) -> cluster_pb2.Cluster:
    name = l4_name(service.service, protocol)
    message = _same_endpoints(cluster(service), service.service, name)
    if protocol is L4Protocol.UDP:
        # Nothing answers a probe over UDP; what the port sends back is all there is.
        message.ClearField("health_checks")
    for check in message.health_checks:
        # Whether it takes connections, whatever is spoken over them.
        check.ClearField("http_health_check")
        check.tcp_health_check.SetInParent()
    (limits,) = message.circuit_breakers.thresholds
    limits.max_connections.CopyFrom(UInt32Value(value=UNLIMITED))
    return message


def _same_endpoints(
    message: cluster_pb2.Cluster, assignment: str, name: str
) -> cluster_pb2.Cluster:
    message.name = name
    message.eds_cluster_config.service_name = assignment
    return message
