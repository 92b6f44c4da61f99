"""Which resources the agent has to ask for by name, read from those that came without asking.

Called by `upstream`. Envoy does the same: clusters name their endpoints, listeners their routes,
the filters that are fetched on their own, and their certificates.
"""

from collections.abc import Iterator, Mapping

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.listener.v3 import listener_components_pb2, listener_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as manager_pb2,
)
from envoy.extensions.transport_sockets.tls.v3 import tls_pb2

from controlplane.domain.xds import ResourceType
from gateway.xds_cache.cache import CachedResponse

# What names the resources of another type.
NAMED_BY = {
    ResourceType.CLUSTER: (ResourceType.ENDPOINT,),
    ResourceType.LISTENER: (ResourceType.ROUTE, ResourceType.EXTENSION, ResourceType.SECRET),
}


def wanted(kind: ResourceType, responses: Mapping[ResourceType, CachedResponse]) -> frozenset[str]:
    """Names to subscribe to; empty for the types that come whole, and when nothing names any."""
    match kind:
        case ResourceType.ENDPOINT if ResourceType.CLUSTER in responses:
            return frozenset(_endpoint_names(responses[ResourceType.CLUSTER]))
        case ResourceType.SECRET if ResourceType.LISTENER in responses:
            return frozenset(_secret_names(responses[ResourceType.LISTENER]))
        case ResourceType.ROUTE if ResourceType.LISTENER in responses:
            managers = _managers(responses[ResourceType.LISTENER])
            return frozenset(m.rds.route_config_name for m in managers if m.HasField("rds"))
        case ResourceType.EXTENSION if ResourceType.LISTENER in responses:
            managers = _managers(responses[ResourceType.LISTENER])
            filters = (one for manager in managers for one in manager.http_filters)
            return frozenset(one.name for one in filters if one.HasField("config_discovery"))
        case _:
            return frozenset()


def _endpoint_names(clusters: CachedResponse) -> Iterator[str]:
    for data in clusters.resources:
        cluster = cluster_pb2.Cluster.FromString(data)
        if cluster.type == cluster_pb2.Cluster.EDS:
            yield cluster.eds_cluster_config.service_name or cluster.name


def _chains(listeners: CachedResponse) -> Iterator[listener_components_pb2.FilterChain]:
    for data in listeners.resources:
        yield from listener_pb2.Listener.FromString(data).filter_chains


def _managers(listeners: CachedResponse) -> Iterator[manager_pb2.HttpConnectionManager]:
    for chain in _chains(listeners):
        for network_filter in chain.filters:
            config = network_filter.typed_config
            if config.Is(manager_pb2.HttpConnectionManager.DESCRIPTOR):
                yield manager_pb2.HttpConnectionManager.FromString(config.value)


def _secret_names(listeners: CachedResponse) -> Iterator[str]:
    for chain in _chains(listeners):
        config = chain.transport_socket.typed_config
        if config.Is(tls_pb2.DownstreamTlsContext.DESCRIPTOR):
            common = tls_pb2.DownstreamTlsContext.FromString(config.value).common_tls_context
            yield from (one.name for one in common.tls_certificate_sds_secret_configs)
            if common.HasField("validation_context_sds_secret_config"):
                yield common.validation_context_sds_secret_config.name
