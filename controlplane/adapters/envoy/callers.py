"""Callers on Envoy: filters that learn who asks, and refuse who may not.

Called by `render` (`extensions`, `METHODS`), `listeners` (`filters`, `early_mutation`) and `routes`
(`mark`). One filter for each issuer of tokens only writes down what a valid token says; a script
knows keys and certificates, reads what tokens said, and decides by the route's metadata; a guard
refuses what no script has passed; the last filter counts quotas by consumer. All but the guard are
fetched on their own (ECDS), so that a revoked key reaches connections that are open, which a
change of their listener would not.

A filter whose configuration is refused or missing takes nobody's word: such tokens stay unread,
and the script's stand-in refuses every route that wants to know its caller.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from envoy.config.core.v3 import base_pb2, extension_pb2
from envoy.config.rbac.v3 import rbac_pb2
from envoy.config.route.v3 import route_components_pb2
from envoy.extensions.common.ratelimit.v3 import ratelimit_pb2
from envoy.extensions.filters.http.jwt_authn.v3 import config_pb2 as jwt_pb2
from envoy.extensions.filters.http.local_ratelimit.v3 import local_rate_limit_pb2 as limit_pb2
from envoy.extensions.filters.http.lua.v3 import lua_pb2
from envoy.extensions.filters.http.rbac.v3 import rbac_pb2 as rbac_filter_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as manager_pb2,
)
from envoy.extensions.http.early_header_mutation.header_mutation.v3 import (
    header_mutation_pb2 as early_pb2,
)
from envoy.type.matcher.v3 import metadata_pb2
from envoy.type.v3 import percent_pb2
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.wrappers_pb2 import BoolValue, UInt32Value

from controlplane.adapters.envoy.caller_script import STAND_IN, script
from controlplane.adapters.envoy.clusters import cluster_name
from controlplane.adapters.envoy.delegates import switch_on
from controlplane.adapters.envoy.fetching import fetched_filter, named
from controlplane.adapters.envoy.packing import milliseconds, packed
from controlplane.domain.findings import Observation
from controlplane.domain.routing.callers.authorization import declared_id
from controlplane.domain.routing.callers.policies import (
    CONSUMER_HEADER,
    REMOVED_HEADERS,
    CallerMethod,
    CallerPolicy,
    Consumer,
    Jwt,
)
from controlplane.domain.routing.callers.support import unsupported
from controlplane.domain.routing.route import Route
from controlplane.domain.snapshot import RoutesSection

# What Envoy checks by itself; a signature once only would need a memory that its workers share.
METHODS = frozenset({CallerMethod.API_KEY, CallerMethod.JWT, CallerMethod.CLIENT_CERTIFICATE})
# Name of the script's filter, and of what it writes down of a request.
CALLERS = "callers"
# Scripts of any name find their route's metadata here; by their own name each zone would need it.
OF_ROUTE = "envoy.filters.http.lua"
QUOTAS = "quotas"
GUARD = "guard"
TOKENS_REMEMBERED = 1_000
FETCH_TIMEOUT_MS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CallerFilters:
    """What a listener needs to know: policies with tokens by name, and its zone."""

    tokens: tuple[str, ...] = ()
    zone: str = ""
    quotas: bool = False


def caller_filters(section: RoutesSection, zone: str) -> CallerFilters | None:
    """The filters of gateways of a zone; None where no route asks for its caller."""
    if not any(route.authentication for route in section.routes):
        return None
    return CallerFilters(
        tokens=tuple(policy.name for policy in section.callers if policy.jwt is not None),
        zone=zone,
        quotas=any(consumer.quota for consumer in section.consumers),
    )


def filters(wanted: CallerFilters | None) -> list[manager_pb2.HttpFilter]:
    """The HTTP filters, in the order in which they must stand, before all others."""
    if wanted is None:
        return [_guard()]
    found = [
        fetched_filter(_token_name(name), jwt_pb2.JwtAuthentication()) for name in wanted.tokens
    ]
    found.append(fetched_filter(_script_name(wanted.zone), _lua(STAND_IN)))
    found.append(_guard())
    if wanted.quotas:
        found.append(fetched_filter(QUOTAS, limit_pb2.LocalRateLimit(stat_prefix=QUOTAS)))
    return found


def early_mutation(names: Iterable[str] = ()) -> extension_pb2.TypedExtensionConfig:
    """Takes headers of identity, and those named, from requests before a route is looked for."""
    message = early_pb2.HeaderMutation()
    for name in (*REMOVED_HEADERS, *names):
        message.mutations.add().remove = name
    return extension_pb2.TypedExtensionConfig(name="identity", typed_config=packed(message))


def mark(message: route_components_pb2.Route, route: Route) -> None:
    """Write into a compiled route what the script must know of it, and switch its guard on."""
    if not route.authentication:
        return
    wants = message.metadata.filter_metadata[OF_ROUTE]
    wants["id"] = declared_id(route)
    wants.get_or_create_list("authentication").extend(route.authentication)
    labels = wants.get_or_create_struct("labels")
    for name, value in route.labels:
        labels[name] = value
    switch_on(message, GUARD)


def extensions(section: RoutesSection) -> Iterator[tuple[str, Message]]:
    """The filters' configurations by name."""
    if caller_filters(section, "") is None:
        return
    for policy in section.callers:
        if policy.jwt is not None:
            yield named(_token_name(policy.name), _jwt(policy, policy.jwt))
    checked = [policy for policy in section.callers if policy.method in METHODS]
    for zone in sorted({group.zone for group in section.gateways}):
        text = script(checked, section.consumers, zone)
        yield named(_script_name(zone), _lua(text))
    if any(consumer.quota for consumer in section.consumers):
        yield named(QUOTAS, _quotas(section.consumers))


def notes(section: RoutesSection) -> tuple[Observation, ...]:
    """What cannot be checked here, so that its routes refuse."""
    return unsupported("Envoy", METHODS, section.callers, section.routes)


def _token_name(policy: str) -> str:
    return f"token.{policy}"


def _script_name(zone: str) -> str:
    return f"{CALLERS}.{zone}" if zone else CALLERS


def _guard() -> manager_pb2.HttpFilter:
    """Refuses requests on routes that ask for a caller when the script named none.

    It stands in every listener, switched off: connections that are older than the first such route
    have a listener without the script, and the route switches the guard on.
    """
    policy = rbac_pb2.Policy()
    asks = policy.permissions.add().sourced_metadata
    asks.metadata_source = rbac_pb2.ROUTE
    asks.metadata_matcher.CopyFrom(_present(OF_ROUTE, "id"))
    named = policy.principals.add().not_id.sourced_metadata
    named.metadata_source = rbac_pb2.DYNAMIC
    named.metadata_matcher.CopyFrom(_present(CALLERS, "consumer"))
    rules = rbac_pb2.RBAC(action=rbac_pb2.RBAC.DENY, policies={"unchecked": policy})
    config = rbac_filter_pb2.RBAC(rules=rules)
    return manager_pb2.HttpFilter(name=GUARD, typed_config=packed(config), disabled=True)


def _present(namespace: str, key: str) -> metadata_pb2.MetadataMatcher:
    matcher = metadata_pb2.MetadataMatcher(filter=namespace)
    matcher.path.add().key = key
    matcher.value.present_match = True
    return matcher


def _lua(text: str) -> lua_pb2.Lua:
    return lua_pb2.Lua(
        default_source_code=base_pb2.DataSource(inline_string=text),
        # The route whose policies were checked is the one that is served.
        clear_route_cache=BoolValue(value=False),
    )


def _jwt(policy: CallerPolicy, jwt: Jwt) -> jwt_pb2.JwtAuthentication:
    provider = jwt_pb2.JwtProvider(
        issuer=jwt.issuer,
        audiences=jwt.audiences,
        require_expiration=True,
        clock_skew_seconds=jwt.clock_skew_s,
        forward=True,
        payload_in_metadata=policy.name,
        jwt_cache_config=jwt_pb2.JwtCacheConfig(jwt_cache_size=TOKENS_REMEMBERED),
    )
    if jwt.jwks_service:
        provider.remote_jwks.CopyFrom(_remote_keys(jwt))
    else:
        provider.local_jwks.inline_string = jwt.jwks
    if jwt.cookie:
        provider.from_cookies.append(jwt.cookie)
    else:
        provider.from_headers.add(name=jwt.header, value_prefix="Bearer ")
    message = jwt_pb2.JwtAuthentication(providers={policy.name: provider})
    rule = message.rules.add()
    rule.match.prefix = "/"
    # Whether the route wants this token is the script's question.
    either = rule.requires.requires_any.requirements
    either.add().provider_name = policy.name
    either.add().allow_missing_or_failed.SetInParent()
    return message


def _remote_keys(jwt: Jwt) -> jwt_pb2.RemoteJwks:
    """Keys that an Envoy fetches by itself: before the first token, and from time to time."""
    found = jwt_pb2.RemoteJwks(cache_duration=Duration(seconds=jwt.jwks_period_s))
    found.http_uri.uri = f"http://{jwt.jwks_service}{jwt.jwks_path}"
    found.http_uri.cluster = cluster_name(jwt.jwks_service)
    found.http_uri.timeout.CopyFrom(milliseconds(FETCH_TIMEOUT_MS))
    # Without waiting for it: an issuer that is away must not keep a gateway from starting.
    found.async_fetch.fast_listener = True
    return found


def _quotas(consumers: Iterable[Consumer]) -> limit_pb2.LocalRateLimit:
    always = base_pb2.RuntimeFractionalPercent(
        default_value=percent_pb2.FractionalPercent(numerator=100)
    )
    message = limit_pb2.LocalRateLimit(
        stat_prefix=QUOTAS, filter_enabled=always, filter_enforced=always
    )
    action = message.rate_limits.add().actions.add()
    action.request_headers.header_name = CONSUMER_HEADER
    action.request_headers.descriptor_key = CONSUMER_HEADER
    message.descriptors.extend(_descriptor(one) for one in consumers if one.quota is not None)
    return message


def _descriptor(consumer: Consumer) -> ratelimit_pb2.LocalRateLimitDescriptor:
    found = ratelimit_pb2.LocalRateLimitDescriptor()
    found.entries.add(key=CONSUMER_HEADER, value=consumer.name)
    if consumer.quota is not None:
        found.token_bucket.max_tokens = consumer.quota.requests
        found.token_bucket.tokens_per_fill.CopyFrom(UInt32Value(value=consumer.quota.requests))
        found.token_bucket.fill_interval.CopyFrom(Duration(seconds=consumer.quota.period_s))
    return found
