"""The agent that a group's Envoys ask about each request: a filter, and a cluster for each group.

Called by `listeners` and `render`. What Envoy is told is `domain.admission.envoy_asks`.
"""

from collections.abc import Iterable, Iterator

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.route.v3 import route_components_pb2
from envoy.extensions.filters.http.ext_authz.v3 import ext_authz_pb2
from envoy.extensions.filters.http.jwt_authn.v3 import config_pb2 as jwt_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as manager_pb2,
)
from envoy.extensions.upstreams.http.v3 import http_protocol_options_pb2
from google.protobuf import json_format

from controlplane.adapters.envoy.packing import packed
from controlplane.domain.admission.agent_door import WhenAway
from controlplane.domain.admission.envoy_asks import ASKS_AND, agent_cluster, asking_filters
from controlplane.domain.admission.envoy_asks import FILTER as ASKS
from controlplane.domain.admission.native_tickets import (
    FILTER,
    CheckedQueue,
    ticket_filter,
    unless_admitted,
)
from controlplane.domain.topology import GatewayGroup

# Types that stand inside as Any are found by their names once their modules are there.
KNOWN = (
    ext_authz_pb2.ExtAuthz,
    http_protocol_options_pb2.HttpProtocolOptions,
    jwt_pb2.JwtAuthentication,
)


def agent_name(group: str) -> str:
    """Name of the cluster; it is none of a service, and reports of load leave it out."""
    return f"_agent~{group}"


def asking(group: GatewayGroup, queue: CheckedQueue | None) -> Iterator[manager_pb2.HttpFilter]:
    """The filter that asks, where the group has an agent; behind the one that reads tickets."""
    if group.agent is None:
        return
    if queue is not None:
        tickets = ticket_filter({queue.name: queue.keys}, queue.name)
        yield json_format.ParseDict(dict(tickets), manager_pb2.HttpFilter())
    for told in asking_filters(group.agent, agent_name(group.name)):
        asks = told if queue is None else unless_admitted(told)
        yield json_format.ParseDict(dict(asks), manager_pb2.HttpFilter())


def with_away(message: route_components_pb2.Route, when_away: WhenAway) -> None:
    """Have a compiled route's requests admitted or refused while the agent is away."""
    asked = ext_authz_pb2.ExtAuthzPerRoute(check_settings=ext_authz_pb2.CheckSettings())
    configs = message.typed_per_filter_config
    configs[ASKS].CopyFrom(packed(route_components_pb2.FilterConfig(disabled=True)))
    configs[ASKS_AND[when_away]].CopyFrom(
        packed(route_components_pb2.FilterConfig(config=packed(asked)))
    )


def without_tickets(message: route_components_pb2.Route) -> None:
    """Have a compiled route's requests asked about whatever ticket they show."""
    unread = jwt_pb2.PerRouteConfig(disabled=True)
    message.typed_per_filter_config[FILTER].CopyFrom(packed(unread))


def agent_clusters(groups: Iterable[GatewayGroup]) -> Iterator[cluster_pb2.Cluster]:
    """The agents of all groups that have one."""
    for group in groups:
        if group.agent is not None:
            told = agent_cluster(group.agent, agent_name(group.name))
            yield json_format.ParseDict(dict(told), cluster_pb2.Cluster())
