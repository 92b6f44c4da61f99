"""Sessions: a user stays with the endpoint that it was given, also while that drains.

Called by `render` and by `routing`. Envoy writes the endpoint into a cookie of the service and
obeys it for as long as that endpoint is healthy or draining. The filter stands in listeners only
where a service wants it; each of its routes says which cookie it is.
"""

from collections.abc import Iterable

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.core.v3 import health_check_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_components_pb2 as route_pb2
from envoy.extensions.filters.http.stateful_session.v3 import stateful_session_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as manager_pb2,
)
from envoy.extensions.http.stateful_session.cookie.v3 import cookie_pb2

from controlplane.adapters.envoy.packing import packed
from controlplane.domain.services import StickyMode
from controlplane.domain.snapshot import ServiceEndpoints

FILTER = "sessions"
COOKIE_PREFIX = "signalbox_at_"
# Those at weight 0 are degraded, so that a session ends with its drain.
KEPT = (health_check_pb2.UNKNOWN, health_check_pb2.HEALTHY, health_check_pb2.DRAINING)


def keeps_sessions(services: Iterable[ServiceEndpoints]) -> bool:
    """Whether one of the services wants sessions."""
    return any(one.stickiness is StickyMode.SESSION for one in services)


def keep(message: cluster_pb2.Cluster, service: ServiceEndpoints) -> None:
    """Let a cluster obey cookies that name its endpoints."""
    if service.stickiness is StickyMode.SESSION:
        message.common_lb_config.override_host_status.statuses.extend(KEPT)


def name_cookie(message: route_pb2.Route, service: ServiceEndpoints | None) -> None:
    """Write into a compiled route which cookie holds the session."""
    if service is None or service.stickiness is not StickyMode.SESSION:
        return
    state = cookie_pb2.CookieBasedSessionState()
    state.cookie.name, state.cookie.path = f"{COOKIE_PREFIX}{service.service}", "/"
    for name, value in (("HttpOnly", ""), ("SameSite", "Lax")):
        state.cookie.attributes.add(name=name, value=value)
    own = stateful_session_pb2.StatefulSessionPerRoute()
    own.stateful_session.session_state.name = "envoy.http.stateful_session.cookie"
    own.stateful_session.session_state.typed_config.CopyFrom(packed(state))
    message.typed_per_filter_config[FILTER].CopyFrom(packed(own))


def with_sessions(message: listener_pb2.Listener) -> listener_pb2.Listener:
    """The same listener with the filter, which does nothing where a route does not ask for it."""
    changed = listener_pb2.Listener()
    changed.CopyFrom(message)
    for chain in changed.filter_chains:
        for network_filter in chain.filters:
            config = network_filter.typed_config
            if config.Is(manager_pb2.HttpConnectionManager.DESCRIPTOR):
                manager = manager_pb2.HttpConnectionManager.FromString(config.value)
                router = manager.http_filters.pop()
                own = manager_pb2.HttpFilter(
                    name=FILTER, typed_config=packed(stateful_session_pb2.StatefulSession())
                )
                manager.http_filters.extend((own, router))
                config.CopyFrom(packed(manager))
    return changed
