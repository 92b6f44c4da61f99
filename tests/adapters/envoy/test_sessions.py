"""Services that keep sessions: the filter, the cookies, and what clusters obey."""

from dataclasses import replace

from envoy.config.core.v3 import health_check_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_components_pb2
from envoy.extensions.filters.http.stateful_session.v3 import stateful_session_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as manager_pb2,
)
from envoy.extensions.http.stateful_session.cookie.v3 import cookie_pb2

from controlplane.adapters.envoy import clusters
from controlplane.adapters.envoy.render import Renderer
from controlplane.adapters.envoy.sessions import FILTER, name_cookie
from controlplane.domain.services import StickyMode
from controlplane.domain.snapshot import ServiceEndpoints
from tests.adapters.envoy.site import SMALL, service, snapshot


def endpoints(mode: StickyMode) -> ServiceEndpoints:
    web = replace(service("web", [1], [8]), stickiness=mode)
    found = snapshot(replace(SMALL, services=(web,), routes=()), 1)
    return found.content.endpoints.services[0]


def filters(mode: StickyMode) -> list[str]:
    """Names of the HTTP filters of the listener."""
    declared = replace(SMALL, services=(replace(SMALL.services[0], stickiness=mode),), routes=())
    parts = dict(Renderer().render(snapshot(declared, 1)).parts)
    message = listener_pb2.Listener.FromString(parts["listener/edge"])
    config = message.filter_chains[0].filters[-1].typed_config
    manager = manager_pb2.HttpConnectionManager.FromString(config.value)
    return [one.name for one in manager.http_filters]


def test_the_filter_stands_before_the_router_where_a_service_wants_it() -> None:
    assert FILTER not in filters(StickyMode.HASH)
    plain, with_sessions = filters(StickyMode.HASH), filters(StickyMode.SESSION)
    assert with_sessions == [*plain[:-1], FILTER, plain[-1]]


def test_each_service_has_a_cookie_of_its_own() -> None:
    message = route_components_pb2.Route()
    name_cookie(message, endpoints(StickyMode.SESSION))
    own = stateful_session_pb2.StatefulSessionPerRoute.FromString(
        message.typed_per_filter_config[FILTER].value
    )
    config = own.stateful_session.session_state.typed_config
    cookie = cookie_pb2.CookieBasedSessionState.FromString(config.value).cookie
    assert (cookie.name, cookie.path) == ("signalbox_at_web", "/")
    assert [one.name for one in cookie.attributes] == ["HttpOnly", "SameSite"]


def test_routes_of_others_have_none() -> None:
    for other in (None, endpoints(StickyMode.HASH)):
        message = route_components_pb2.Route()
        name_cookie(message, other)
        assert not message.typed_per_filter_config


def test_clusters_obey_cookies_to_endpoints_that_serve_or_drain() -> None:
    made = clusters.cluster(endpoints(StickyMode.SESSION)).common_lb_config
    assert list(made.override_host_status.statuses) == [
        health_check_pb2.UNKNOWN,
        health_check_pb2.HEALTHY,
        health_check_pb2.DRAINING,
    ]
    plain = clusters.cluster(endpoints(StickyMode.HASH)).common_lb_config
    assert not plain.HasField("override_host_status")
