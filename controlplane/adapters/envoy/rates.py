"""Rates of services on Envoy: how many requests per second a gateway lets through to each, of
everybody and of each address.

Called by `listeners` (`rate_filter`), `group_listeners` (`rates`), `actions` (`counted`) and
`configuration` (`count_for`). The buckets are in a configuration of their own (ECDS): a push of
routes would fill those of routes again. The filter stands in every listener, switched off:
connections that are older than a limit have an older listener, and the limited service's routes
switch it on.
"""

import math
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from envoy.config.core.v3 import base_pb2
from envoy.config.route.v3 import route_components_pb2 as route_pb2
from envoy.extensions.common.ratelimit.v3 import ratelimit_pb2
from envoy.extensions.filters.http.local_ratelimit.v3 import local_rate_limit_pb2 as limit_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as manager_pb2,
)
from envoy.type.v3 import percent_pb2
from google.protobuf.duration_pb2 import Duration
from google.protobuf.wrappers_pb2 import UInt32Value

from controlplane.adapters.envoy.delegates import switch_on
from controlplane.adapters.envoy.fetching import fetched_filter
from controlplane.domain.admission.rate_limit import CLIENT_NETWORK_BITS
from controlplane.domain.snapshot import ServiceEndpoints, ServiceLimit

RATES = "rates"
# Of a bucket's key, and of the metadata in which a route names its service.
SERVICE = "service"
# Envoy's word for the address, and of each kind of address the bits that make a client.
SOURCE = "masked_remote_address"
IPV4_BITS = 32
# Buckets of addresses at once, of each service; those that were quiet longest are forgotten first.
ADDRESSES = 100_000
# Envoy takes 50 ms at least. Each filling gives so much of a second's requests that they are a
# whole number, so that any rate is kept exactly.
FILL_S = 0.1
NANOS = 1_000_000_000
NO_LIMITS: Mapping[str, ServiceLimit] = MappingProxyType({})


def rate_filter() -> manager_pb2.HttpFilter:
    """The HTTP filter; until its configuration is there it lets everything through."""
    found = fetched_filter(RATES, limit_pb2.LocalRateLimit(stat_prefix=RATES))
    found.disabled = True
    return found


def counted(message: route_pb2.Route, service: ServiceEndpoints) -> None:
    """Let the requests of a compiled route count for its service, where that has a rate."""
    if service.limit is None or service.limit.rate_rps is None:
        return
    count_for(message, service.service)


def count_for(message: route_pb2.Route, service: str) -> None:
    """Let the requests of a compiled route count for a service."""
    message.metadata.filter_metadata[RATES][SERVICE] = service
    switch_on(message, RATES)


def rates(
    services: Iterable[ServiceEndpoints], by_source: Mapping[str, ServiceLimit] = NO_LIMITS
) -> limit_pb2.LocalRateLimit:
    """A bucket for each service with a rate; without one, a filter that does nothing.

    Args:
        by_source: service -> the rate of each address; a bucket is made when an address comes.
    """
    message = limit_pb2.LocalRateLimit(stat_prefix=RATES)
    limited = {one.service: one.limit for one in services if one.limit and one.limit.rate_rps}
    if not limited and not by_source:
        return message
    always = base_pb2.RuntimeFractionalPercent(
        default_value=percent_pb2.FractionalPercent(numerator=100)
    )
    message.filter_enabled.CopyFrom(always)
    message.filter_enforced.CopyFrom(always)
    _name_service(message.rate_limits.add())
    for name, limit in sorted(limited.items()):
        message.descriptors.append(_bucket(name, limit))
    if by_source:
        _name_source(message)
    for name, limit in sorted(by_source.items()):
        found = _bucket(name, limit)
        # Without a value it is one bucket for each.
        found.entries.add(key=SOURCE)
        message.descriptors.append(found)
    return message


def _name_service(message: route_pb2.RateLimit) -> None:
    action = message.actions.add().metadata
    action.descriptor_key = SERVICE
    action.metadata_key.key = RATES
    action.metadata_key.path.add().key = SERVICE
    action.source = route_pb2.RateLimit.Action.MetaData.ROUTE_ENTRY


def _name_source(message: limit_pb2.LocalRateLimit) -> None:
    message.max_dynamic_descriptors.CopyFrom(UInt32Value(value=ADDRESSES))
    both = message.rate_limits.add()
    _name_service(both)
    masked = both.actions.add().masked_remote_address
    masked.v4_prefix_mask_len.CopyFrom(UInt32Value(value=IPV4_BITS))
    masked.v6_prefix_mask_len.CopyFrom(UInt32Value(value=CLIENT_NETWORK_BITS))


def _bucket(service: str, limit: ServiceLimit) -> ratelimit_pb2.LocalRateLimitDescriptor:
    """Holds its burst, or a second's requests: who was quiet may send so many at once."""
    rate_rps = limit.rate_rps or math.inf
    most = rate_rps if limit.burst is None else limit.burst
    found = ratelimit_pb2.LocalRateLimitDescriptor()
    found.entries.add(key=SERVICE, value=service)
    tokens = math.ceil(rate_rps * FILL_S)
    seconds = tokens / rate_rps
    whole_s = math.floor(seconds)
    found.token_bucket.max_tokens = max(tokens, math.ceil(most))
    found.token_bucket.tokens_per_fill.CopyFrom(UInt32Value(value=tokens))
    found.token_bucket.fill_interval.CopyFrom(
        Duration(seconds=whole_s, nanos=min(NANOS - 1, round((seconds - whole_s) * NANOS)))
    )
    return found
