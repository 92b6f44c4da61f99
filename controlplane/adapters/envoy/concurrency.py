"""Adaptive concurrency of services on Envoy: the filter of that name, one for each service.

Called by `listeners` (`concurrency_filters`), `group_listeners` (`controllers`) and `actions`
(`held_back`). One filter learns one limit, so each service needs its own. It is in the listener,
switched off, and the service's routes switch it on. Its numbers come by themselves (ECDS), because
a push of routes or a new listener would begin to learn again.
"""

import math
from collections.abc import Iterable, Iterator

from envoy.config.core.v3 import base_pb2
from envoy.config.route.v3 import route_components_pb2 as route_pb2
from envoy.extensions.filters.http.adaptive_concurrency.v3 import adaptive_concurrency_pb2 as pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as manager_pb2,
)
from envoy.type.v3 import http_status_pb2, percent_pb2
from google.protobuf.wrappers_pb2 import BoolValue, UInt32Value

from controlplane.adapters.envoy.delegates import switch_on
from controlplane.adapters.envoy.fetching import fetched_filter
from controlplane.adapters.envoy.packing import milliseconds
from controlplane.domain.admission.adaptive_concurrency import (
    MOST_LIMIT,
    AdaptiveConcurrencyPolicy,
)
from controlplane.domain.snapshot import ServiceEndpoints

PREFIX = "concurrency:"
MEDIAN_PERCENT = 50.0
# Until a filter's numbers are there it is to refuse nothing.
STAND_IN = AdaptiveConcurrencyPolicy(least=MOST_LIMIT, most=MOST_LIMIT, least_ms=1.0)


def concurrency_filters(services: Iterable[str]) -> Iterator[manager_pb2.HttpFilter]:
    """The HTTP filters of services, in the order of their names."""
    for service in sorted(services):
        found = fetched_filter(PREFIX + service, _controller(STAND_IN))
        found.disabled = True
        yield found


def adapting(services: Iterable[ServiceEndpoints]) -> tuple[str, ...]:
    """The services whose limit is learned."""
    return tuple(one.service for one in services if _policy(one) is not None)


def held_back(message: route_pb2.Route, service: ServiceEndpoints) -> None:
    """Let a compiled route keep to what is learned of its service, where something is."""
    if _policy(service) is not None:
        switch_on(message, PREFIX + service.service)


def controllers(
    services: Iterable[ServiceEndpoints],
) -> Iterator[tuple[str, pb2.AdaptiveConcurrency]]:
    """Name and numbers of each filter."""
    for one in services:
        policy = _policy(one)
        if policy is not None:
            yield PREFIX + one.service, _controller(policy)


def _policy(service: ServiceEndpoints) -> AdaptiveConcurrencyPolicy | None:
    return None if service.limit is None else service.limit.adaptive


def _controller(policy: AdaptiveConcurrencyPolicy) -> pb2.AdaptiveConcurrency:
    """The policy in Envoy's words, with its least response time as it was declared: what Envoy
    measures by itself refuses most requests while it does.
    """
    fixed_ms, buffer = _without_queue(policy)
    gradient = pb2.GradientControllerConfig(
        sample_aggregate_percentile=percent_pb2.Percent(value=MEDIAN_PERCENT)
    )
    limits = gradient.concurrency_limit_params
    limits.max_concurrency_limit.CopyFrom(UInt32Value(value=policy.most))
    limits.concurrency_update_interval.CopyFrom(milliseconds(round(policy.window_s * 1000)))
    least = gradient.min_rtt_calc_params
    least.fixed_value.FromMilliseconds(fixed_ms)
    least.min_concurrency.CopyFrom(UInt32Value(value=policy.least))
    least.buffer.CopyFrom(percent_pb2.Percent(value=100.0 * buffer))
    return pb2.AdaptiveConcurrency(
        gradient_controller_config=gradient,
        enabled=base_pb2.RuntimeFeatureFlag(default_value=BoolValue(value=True)),
        concurrency_limit_exceeded_status=http_status_pb2.HttpStatus(code=policy.status),
    )


def _without_queue(policy: AdaptiveConcurrencyPolicy) -> tuple[int, float]:
    """The response time that is still no queue, as Envoy takes it: whole milliseconds, 1 or more
    (0 would mean that it measures), and a share of 0..1 above them."""
    least_ms = policy.least_ms or 0.0
    most_ms = (1.0 + policy.tolerance) * least_ms
    fixed_ms = max(1, math.floor(least_ms), math.ceil(most_ms / 2))
    return fixed_ms, max(0.0, most_ms / fixed_ms - 1.0)
