"""Stickiness: the cookie that keeps a user on an endpoint, and the filter that sets it.

Called by `listeners` and `routes`. Routes hash the cookie, or the request id when there is none;
the filter then hands the request id out as the cookie, so that the next request hashes to the same
endpoint. Envoy's own generated cookie hashes the connection's addresses instead: all users behind
one kept-alive connection would share it.

The filter stands in the listener and not in the routes, where it would double each rule. Services
without stickiness behind the same listener hand the cookie out too, and ignore it.
"""

from envoy.config.core.v3 import base_pb2
from envoy.config.route.v3 import route_components_pb2 as route_pb2
from envoy.extensions.filters.http.header_mutation.v3 import header_mutation_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as manager_pb2,
)
from xds.type.matcher.v3 import string_pb2

from controlplane.adapters.envoy.delegates import header_is, http_filter
from controlplane.domain.routing.matching.request import REQUEST_ID, STICKY_COOKIE

STICKY_ATTRIBUTES = "Path=/; HttpOnly; SameSite=Lax"


def sticky_filter() -> manager_pb2.HttpFilter:
    """The HTTP filter that sets the cookie in answers to requests that came without it."""
    # The cookie's name is our own, so a search in the whole header finds no other.
    has_cookie = header_is("cookie", string_pb2.StringMatcher(contains=f"{STICKY_COOKIE}="))
    return http_filter("sticky", "envoy.filters.http.header_mutation", _set_cookie(), has_cookie)


def hash_policy() -> list[route_pb2.RouteAction.HashPolicy]:
    """What a route hashes: the cookie, or what will be the cookie."""
    cookie = route_pb2.RouteAction.HashPolicy(terminal=True)
    cookie.cookie.name = STICKY_COOKIE
    request_id = route_pb2.RouteAction.HashPolicy()
    request_id.header.header_name = REQUEST_ID
    return [cookie, request_id]


def _set_cookie() -> header_mutation_pb2.HeaderMutation:
    message = header_mutation_pb2.HeaderMutation()
    option = message.mutations.response_mutations.add().append
    option.header.key = "set-cookie"
    option.header.value = f"{STICKY_COOKIE}=%REQ(X-REQUEST-ID)%; {STICKY_ATTRIBUTES}"
    option.append_action = base_pb2.HeaderValueOption.APPEND_IF_EXISTS_OR_ADD
    return message
