"""HTTP filters that stand aside for most requests, by what the request's headers say.

Called by `retries` and `sticky`, and for its predicates by `normal_form` and `routing.tree`. A
filter in the listener costs a comparison for each request; the same thing in each route would cost
a place in each push.
"""

from typing import TypeAlias

from envoy.config.core.v3 import extension_pb2
from envoy.config.route.v3 import route_components_pb2 as route_pb2
from envoy.extensions.common.matching.v3 import extension_matcher_pb2
from envoy.extensions.filters.common.matcher.action.v3 import skip_action_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as manager_pb2,
)
from envoy.type.matcher.v3 import http_inputs_pb2
from google.protobuf.message import Message
from xds.core.v3 import extension_pb2 as xds_extension_pb2
from xds.type.matcher.v3 import matcher_pb2, string_pb2

from controlplane.adapters.envoy.packing import extension, packed

ListMatcher = matcher_pb2.Matcher.MatcherList
OnMatch: TypeAlias = matcher_pb2.Matcher.OnMatch
Predicate: TypeAlias = matcher_pb2.Matcher.MatcherList.Predicate


def http_filter(name: str, kind: str, config: Message, skip: Predicate) -> manager_pb2.HttpFilter:
    """A filter that is left out for requests that fulfil `skip`.

    Args:
        name: in the listener; kind: Envoy's name of what `config` configures.
    """
    action = extension("skip", skip_action_pb2.SkipFilter())
    skipped = ListMatcher.FieldMatcher(predicate=skip, on_match=OnMatch(action=action))
    delegate = extension_matcher_pb2.ExtensionWithMatcher(
        xds_matcher=matcher_pb2.Matcher(matcher_list=ListMatcher(matchers=[skipped])),
        extension_config=extension_pb2.TypedExtensionConfig(name=kind, typed_config=packed(config)),
    )
    return manager_pb2.HttpFilter(name=name, typed_config=packed(delegate))


def switch_on(route: route_pb2.Route, name: str) -> None:
    """Let a route have a filter that its listener has switched off."""
    message = route_pb2.FilterConfig()
    # An empty one is the listener's own.
    message.config.SetInParent()
    route.typed_per_filter_config[name].CopyFrom(packed(message))


def header(name: str) -> xds_extension_pb2.TypedExtensionConfig:
    """A request header as the input of a matcher."""
    return extension(name, http_inputs_pb2.HttpRequestHeaderMatchInput(header_name=name))


def header_is(name: str, value: string_pb2.StringMatcher) -> Predicate:
    """A header with such a value is there."""
    single = Predicate.SinglePredicate(input=header(name), value_match=value)
    return Predicate(single_predicate=single)


def whole(expression: str) -> string_pb2.StringMatcher:
    """A text that a regular expression matches whole."""
    matcher = string_pb2.StringMatcher()
    matcher.safe_regex.regex = expression
    matcher.safe_regex.google_re2.SetInParent()
    return matcher


def any_of(predicates: list[Predicate]) -> Predicate:
    """At least one of two or more holds."""
    return Predicate(or_matcher=Predicate.PredicateList(predicate=predicates))


def all_of(predicates: list[Predicate]) -> Predicate:
    """Each of two or more holds."""
    return Predicate(and_matcher=Predicate.PredicateList(predicate=predicates))


def negated(predicate: Predicate) -> Predicate:
    """It does not hold."""
    return Predicate(not_matcher=predicate)
