"""What makes an Envoy leave bad endpoints by itself: checks, ejection, no panic, room for retries.

Called by `clusters`. All of it together makes a data centre's death cost no request; each part
alone does not. Nothing here needs the control plane to be there.
"""

from envoy.config.cluster.v3 import circuit_breaker_pb2, cluster_pb2, outlier_detection_pb2
from envoy.config.core.v3 import health_check_pb2
from google.protobuf.duration_pb2 import Duration
from google.protobuf.wrappers_pb2 import BoolValue, UInt32Value

from controlplane.adapters.envoy.packing import milliseconds
from controlplane.domain.services import AllDown, CheckKind, HealthCheck, RetryPolicy
from controlplane.domain.snapshot import ServiceLimit

UNLIMITED = 10_000
MAX_RETRIES = 1_000
# Retries at once that a budget always allows: of few requests a share is less than one.
BUDGET_RESERVE = 1
# Of Envoy's percentages, its own and without reserve.
WHOLE_PERCENT = 100
# In a row at one endpoint. An endpoint that hangs takes so many attempts of 250 ms at once.
FAILED_ATTEMPTS = 3
# One broken page says nothing about the endpoint: of two that are asked alike, so many errors in
# a row come once in 4,000 requests.
ERRORS = 12
# The least that Envoy knows but never: traffic goes to all endpoints when none is left.
PANIC_PERCENT = 1


def balancing(policy: AllDown) -> cluster_pb2.Cluster.CommonLbConfig:
    """How requests are spread when endpoints are missing, up to all of them."""
    # Panic at more would send requests to the dead centre while others can serve, and the merge
    # window would hold ejections back for a second.
    common = cluster_pb2.Cluster.CommonLbConfig(
        locality_weighted_lb_config=cluster_pb2.Cluster.CommonLbConfig.LocalityWeightedLbConfig(),
        update_merge_window=Duration(),
    )
    common.healthy_panic_threshold.value = 0 if policy is AllDown.CLOSED else PANIC_PERCENT
    return common


def health_checks(check: HealthCheck) -> list[health_check_pb2.HealthCheck]:
    """None for a command: observers run it, and tell by the endpoints' states."""
    if check.kind is CheckKind.COMMAND:
        return []
    interval = milliseconds(check.interval_ms)
    message = health_check_pb2.HealthCheck(
        timeout=milliseconds(check.timeout_ms),
        interval=interval,
        no_traffic_interval=interval,
        no_traffic_healthy_interval=interval,
        healthy_threshold=UInt32Value(value=check.healthy_threshold),
        unhealthy_threshold=UInt32Value(value=check.unhealthy_threshold),
    )
    if check.kind is CheckKind.TCP:
        message.tcp_health_check.SetInParent()
    else:
        message.http_health_check.path = check.path
    return [message]


def outlier_detection() -> outlier_detection_pb2.OutlierDetection:
    """What requests tell of an endpoint, and how long it is out for it."""
    return outlier_detection_pb2.OutlierDetection(
        # Attempts that fail or end at their time limit, in a row. Counted apart from answers, each
        # new request on a kept connection would clear those of an endpoint that hangs.
        consecutive_gateway_failure=UInt32Value(value=FAILED_ATTEMPTS),
        enforcing_consecutive_gateway_failure=UInt32Value(value=WHOLE_PERCENT),
        consecutive_5xx=UInt32Value(value=ERRORS),
        enforcing_consecutive_5xx=UInt32Value(value=WHOLE_PERCENT),
        interval=milliseconds(250),
        base_ejection_time=Duration(seconds=3),
        max_ejection_percent=UInt32Value(value=WHOLE_PERCENT),
        # An endpoint may answer its checks and nothing else: they do not bring it back early.
        successful_active_health_check_uneject_host=BoolValue(value=False),
    )


def circuit_breakers(
    limit: ServiceLimit | None = None, retry: RetryPolicy | None = None
) -> circuit_breaker_pb2.CircuitBreakers:
    """No limits that matter; with Envoy's own, three retries at once, a failure is an outage.

    Args:
        retry: of the service, for its budget. Envoy compares the retries that are under way with
            the requests that are.
        limit: of the service. Requests are counted, not connections: kept ones stand idle at one
            endpoint while requests for another would wait, and a third of the room was used.
    """
    most = UNLIMITED
    if limit is not None and limit.concurrent is not None:
        most = limit.concurrent + limit.waiting
    limits = circuit_breaker_pb2.CircuitBreakers.Thresholds(
        max_connections=UInt32Value(value=UNLIMITED),
        max_pending_requests=UInt32Value(value=most),
        max_requests=UInt32Value(value=most),
        max_retries=UInt32Value(value=MAX_RETRIES),
    )
    if retry is not None and retry.budget is not None:
        limits.retry_budget.budget_percent.value = WHOLE_PERCENT * retry.budget
        limits.retry_budget.min_retry_concurrency.value = BUDGET_RESERVE
    return circuit_breaker_pb2.CircuitBreakers(thresholds=[limits])
