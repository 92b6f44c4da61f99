"""Stickiness: the cookie that keeps a user on an endpoint, and the filter that sets it.

Called by `listeners` and `route_actions`. Routes hash the cookie, or the request id when there is
none; the filter then hands the request id out as the cookie, so that the next request hashes to
the same endpoint. Envoy's own generated cookie hashes the connection's addresses instead: all
users behind one kept-alive connection would share it (LAB-dataplanes.md section 7).

The filter stands in the listener and not in the routes, where it would double each rule. Services
without stickiness behind the same listener hand the cookie out too, and ignore it.
"""

from envoy.config.core.v3 import base_pb2, extension_pb2
from envoy.extensions.common.matching.v3 import extension_matcher_pb2
from envoy.extensions.filters.common.matcher.action.v3 import skip_action_pb2
from envoy.extensions.filters.http.header_mutation.v3 import header_mutation_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as manager_pb2,
)
from envoy.type.matcher.v3 import http_inputs_pb2
from xds.type.matcher.v3 import matcher_pb2

from controlplane.adapters.envoy.packing import extension, packed

# A name of our own, so that a search for it in the whole Cookie header finds no other cookie.
STICKY_COOKIE = "signalbox_sid"
STICKY_ATTRIBUTES = "Path=/; HttpOnly; SameSite=Lax"

ListMatcher = matcher_pb2.Matcher.MatcherList


def sticky_filter() -> manager_pb2.HttpFilter:
    """The HTTP filter that sets the cookie in answers to requests that came without it."""
    delegate = extension_matcher_pb2.ExtensionWithMatcher(
        xds_matcher=_skip_with_cookie(),
        extension_config=extension_pb2.TypedExtensionConfig(
            name="envoy.filters.http.header_mutation", typed_config=packed(_set_cookie())
        ),
    )
    return manager_pb2.HttpFilter(name="sticky", typed_config=packed(delegate))


def _skip_with_cookie() -> matcher_pb2.Matcher:
    cookie = http_inputs_pb2.HttpRequestHeaderMatchInput(header_name="cookie")
    single = ListMatcher.Predicate.SinglePredicate(input=extension("cookie", cookie))
    single.value_match.contains = f"{STICKY_COOKIE}="
    skip = matcher_pb2.Matcher.OnMatch(action=extension("skip", skip_action_pb2.SkipFilter()))
    has_cookie = ListMatcher.FieldMatcher(
        predicate=ListMatcher.Predicate(single_predicate=single), on_match=skip
    )
    return matcher_pb2.Matcher(matcher_list=ListMatcher(matchers=[has_cookie]))


def _set_cookie() -> header_mutation_pb2.HeaderMutation:
    message = header_mutation_pb2.HeaderMutation()
    option = message.mutations.response_mutations.add().append
    option.header.key = "set-cookie"
    option.header.value = f"{STICKY_COOKIE}=%REQ(X-REQUEST-ID)%; {STICKY_ATTRIBUTES}"
    option.append_action = base_pb2.HeaderValueOption.APPEND_IF_EXISTS_OR_ADD
    return message
