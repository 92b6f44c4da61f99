"""Which resources the agent has to ask for by name, read from those that came without asking.

Called by `upstream`. Envoy does the same: clusters name their endpoints, listeners their routes.
"""

from collections.abc import Iterator, Mapping

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as manager_pb2,
)

from controlplane.domain.xds import ResourceType
from gateway.cache import CachedResponse

# What names the resources of another type.
NAMED_BY = {
    ResourceType.CLUSTER: ResourceType.ENDPOINT,
    ResourceType.LISTENER: ResourceType.ROUTE,
}


def wanted(kind: ResourceType, responses: Mapping[ResourceType, CachedResponse]) -> frozenset[str]:
    """Names to subscribe to; empty for the types that come whole, and when nothing names any."""
    match kind:
        case ResourceType.ENDPOINT if ResourceType.CLUSTER in responses:
            return frozenset(_endpoint_names(responses[ResourceType.CLUSTER]))
        case ResourceType.ROUTE if ResourceType.LISTENER in responses:
            return frozenset(_route_names(responses[ResourceType.LISTENER]))
        case _:
            return frozenset()


def _endpoint_names(clusters: CachedResponse) -> Iterator[str]:
    for data in clusters.resources:
        cluster = cluster_pb2.Cluster.FromString(data)
        if cluster.type == cluster_pb2.Cluster.EDS:
            yield cluster.eds_cluster_config.service_name or cluster.name


def _route_names(listeners: CachedResponse) -> Iterator[str]:
    for data in listeners.resources:
        for chain in listener_pb2.Listener.FromString(data).filter_chains:
            for network_filter in chain.filters:
                config = network_filter.typed_config
                if config.Is(manager_pb2.HttpConnectionManager.DESCRIPTOR):
                    manager = manager_pb2.HttpConnectionManager.FromString(config.value)
                    if manager.HasField("rds"):
                        yield manager.rds.route_config_name
