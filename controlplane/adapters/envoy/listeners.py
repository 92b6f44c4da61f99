"""One HTTP listener per gateway group, its routes over the same stream.

Called by `render` and by `preflight`.
"""

from collections.abc import Collection
from enum import StrEnum

from envoy.config.core.v3 import address_pb2
from envoy.config.listener.v3 import listener_components_pb2, listener_pb2
from envoy.config.route.v3 import route_pb2
from envoy.extensions.filters.http.router.v3 import router_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as manager_pb2,
)
from google.protobuf.wrappers_pb2 import BoolValue

from controlplane.adapters.envoy.agents import asking
from controlplane.adapters.envoy.callers import CallerFilters, early_mutation, filters
from controlplane.adapters.envoy.clusters import over_ads
from controlplane.adapters.envoy.concurrency import concurrency_filters
from controlplane.adapters.envoy.normal_form import READ_HEADER, normal_form_filter
from controlplane.adapters.envoy.packing import packed
from controlplane.adapters.envoy.rates import rate_filter
from controlplane.adapters.envoy.retries import ATTEMPT_LIMIT, RETRY_ON, retry_filter
from controlplane.adapters.envoy.sources import source_filter
from controlplane.adapters.envoy.sticky import sticky_filter
from controlplane.domain.admission.native_tickets import CheckedQueue
from controlplane.domain.topology import GatewayGroup

# Tables of another name than before they asked about the normal form first: a listener that leaves
# it to them must never get one of the older ones.
ROUTES_NAME = "rules"


class Stickiness(StrEnum):
    """Whether a service behind a listener keeps users on an endpoint."""

    NONE = "none"
    COOKIE = "cookie"


def listener(
    group: GatewayGroup,
    stickiness: Stickiness,
    callers: CallerFilters | None = None,
    queue: CheckedQueue | None = None,
    adapting: Collection[str] = (),
) -> listener_pb2.Listener:
    """The listener of a group.

    Args:
        callers: where routes ask who calls.
        queue: whose tickets are checked.
        adapting: services whose concurrency is limited by what is learned here.
    """
    chain = listener_components_pb2.FilterChain(
        filters=[
            source_filter(),
            listener_components_pb2.Filter(
                name="envoy.filters.network.http_connection_manager",
                typed_config=packed(_manager(group, stickiness, callers, queue, adapting)),
            ),
        ]
    )
    address = address_pb2.SocketAddress(address=group.listen_address, port_value=group.listen_port)
    return listener_pb2.Listener(
        name=f"http-{group.name}",
        address=address_pb2.Address(socket_address=address),
        filter_chains=[chain],
    )


def with_routes(
    message: listener_pb2.Listener, routes: route_pb2.RouteConfiguration
) -> listener_pb2.Listener:
    """The same listener without subscriptions: routes inside, and filters with their stand-ins.

    For the preflight, and wherever an Envoy has no control plane.
    """
    changed = listener_pb2.Listener()
    changed.CopyFrom(message)
    network_filter = changed.filter_chains[0].filters[-1]
    manager = manager_pb2.HttpConnectionManager.FromString(network_filter.typed_config.value)
    manager.route_config.CopyFrom(routes)
    for one in manager.http_filters:
        if one.HasField("config_discovery"):
            # Of a oneof: the other member goes.
            one.typed_config.CopyFrom(one.config_discovery.default_config)
    network_filter.typed_config.CopyFrom(packed(manager))
    return changed


def _manager(
    group: GatewayGroup,
    stickiness: Stickiness,
    callers: CallerFilters | None,
    queue: CheckedQueue | None,
    adapting: Collection[str],
) -> manager_pb2.HttpConnectionManager:
    manager = manager_pb2.HttpConnectionManager(
        stat_prefix=group.name,
        use_remote_address=BoolValue(value=True),
        # The normal form is read from paths as they came; Envoy's own is not the same.
        normalize_path=BoolValue(value=False),
        strip_trailing_host_dot=True,
    )
    ours = (READ_HEADER, RETRY_ON, ATTEMPT_LIMIT)
    manager.early_header_mutation_extensions.append(early_mutation(ours))
    manager.http_filters.append(normal_form_filter())
    manager.http_filters.extend(filters(callers))
    manager.http_filters.extend(asking(group, queue))
    manager.http_filters.append(rate_filter())
    manager.http_filters.extend(concurrency_filters(adapting))
    manager.http_filters.append(retry_filter())
    manager.rds.route_config_name = ROUTES_NAME
    manager.rds.config_source.CopyFrom(over_ads())
    if stickiness is Stickiness.COOKIE:
        manager.http_filters.append(sticky_filter())
    manager.http_filters.append(
        manager_pb2.HttpFilter(
            name="envoy.filters.http.router", typed_config=packed(router_pb2.Router())
        )
    )
    return manager
