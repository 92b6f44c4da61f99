"""What a rule does once it matched: cluster, time-outs, retries and the choice of the endpoint.

Called by `routes`.
"""

from envoy.config.route.v3 import route_components_pb2 as route_pb2
from envoy.extensions.retry.host.previous_hosts.v3 import previous_hosts_pb2
from envoy.extensions.retry.priority.previous_priorities.v3 import (
    previous_priorities_config_pb2 as previous_priorities_pb2,
)
from google.protobuf.wrappers_pb2 import UInt32Value

from controlplane.adapters.envoy.clusters import milliseconds
from controlplane.adapters.envoy.packing import packed
from controlplane.adapters.envoy.sticky import STICKY_COOKIE
from controlplane.domain.snapshot import ServiceEndpoints
from controlplane.domain.topology import RetryPolicy

RETRY_IDEMPOTENT = "connect-failure,refused-stream,reset-before-request,reset,gateway-error"
# These two mean that no endpoint has seen the request.
RETRY_UNSEEN = "connect-failure,refused-stream"
OTHER_HOSTS_TRIES = 5
RETRY_BACK_OFF_MS, RETRY_BACK_OFF_MAX_MS = 10, 50
# The first retry goes to another endpoint of the same priority, so that one bad endpoint does
# not spill onto a centre that stands at weight 0; from the second on a dead priority is left.
PRIORITY_AFTER_ATTEMPTS = 2


def action(
    service: ServiceEndpoints, match: route_pb2.RouteMatch, retry: route_pb2.RetryPolicy | None
) -> route_pb2.Route:
    """The route of one rule.

    Args:
        retry: instead of the virtual host's.
    """
    route = route_pb2.Route(
        match=match,
        route=route_pb2.RouteAction(
            cluster=service.service, timeout=milliseconds(service.timeout_ms), retry_policy=retry
        ),
    )
    if service.load_balancing.sticky:
        route.route.hash_policy.extend(_hash_policy())
    return route


def retry_idempotent(retry: RetryPolicy) -> route_pb2.RetryPolicy:
    """Retries of requests that may be repeated at any time."""
    return route_pb2.RetryPolicy(
        retry_on=RETRY_IDEMPOTENT,
        num_retries=UInt32Value(value=retry.attempts),
        per_try_timeout=milliseconds(retry.per_try_timeout_ms),
        retry_priority=_other_priorities(),
        retry_host_predicate=[_other_hosts()],
        host_selection_retry_max_attempts=OTHER_HOSTS_TRIES,
        retry_back_off=route_pb2.RetryPolicy.RetryBackOff(
            base_interval=milliseconds(RETRY_BACK_OFF_MS),
            max_interval=milliseconds(RETRY_BACK_OFF_MAX_MS),
        ),
    )


def retry_unseen(retry: RetryPolicy) -> route_pb2.RetryPolicy:
    """Retries of requests that may be repeated only while no endpoint has seen them."""
    policy = retry_idempotent(retry)
    policy.retry_on = RETRY_UNSEEN
    policy.ClearField("per_try_timeout")
    return policy


def _other_priorities() -> route_pb2.RetryPolicy.RetryPriority:
    config = previous_priorities_pb2.PreviousPrioritiesConfig(
        update_frequency=PRIORITY_AFTER_ATTEMPTS
    )
    return route_pb2.RetryPolicy.RetryPriority(name="other", typed_config=packed(config))


def _other_hosts() -> route_pb2.RetryPolicy.RetryHostPredicate:
    return route_pb2.RetryPolicy.RetryHostPredicate(
        name="other",
        typed_config=packed(previous_hosts_pb2.PreviousHostsPredicate()),
    )


def _hash_policy() -> list[route_pb2.RouteAction.HashPolicy]:
    cookie = route_pb2.RouteAction.HashPolicy(terminal=True)
    cookie.cookie.name = STICKY_COOKIE
    request_id = route_pb2.RouteAction.HashPolicy()
    request_id.header.header_name = "x-request-id"
    return [cookie, request_id]
