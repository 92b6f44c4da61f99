"""Circuit breakers of services on Envoy: an endpoint that fails too often gets a rest.

Called by `render`. Envoy counts for each endpoint; a service as a whole rests when all of its
endpoints do and it is declared to be closed then (`all_down`).
"""

import math
from collections.abc import Mapping

from envoy.config.cluster.v3 import cluster_pb2
from google.protobuf.wrappers_pb2 import UInt32Value

from controlplane.adapters.envoy.derived_clusters import service_of
from controlplane.adapters.envoy.failover import WHOLE_PERCENT
from controlplane.adapters.envoy.packing import milliseconds
from controlplane.domain.admission.circuit_breaker import CircuitBreakerPolicy

MS = 1_000


def with_breaker(
    message: cluster_pb2.Cluster, breakers: Mapping[str, CircuitBreakerPolicy]
) -> cluster_pb2.Cluster:
    """The same cluster, with the breaker of its service where that has one."""
    policy = breakers.get(service_of(message.name))
    if policy is None:
        return message
    found = message.outlier_detection
    # Windows do not slide here; with each an endpoint may also come back, whatever it was out for.
    found.interval.CopyFrom(milliseconds(round(MS * policy.window_s)))
    found.base_ejection_time.CopyFrom(milliseconds(round(MS * policy.open_s)))
    found.max_ejection_time.CopyFrom(milliseconds(round(MS * policy.most_open_s)))
    share = math.ceil(round(WHOLE_PERCENT * policy.error_ratio, 6))
    found.failure_percentage_threshold.CopyFrom(UInt32Value(value=share))
    found.failure_percentage_request_volume.CopyFrom(UInt32Value(value=policy.requests))
    # Envoy's own is five, and it only counts.
    found.failure_percentage_minimum_hosts.CopyFrom(UInt32Value(value=1))
    found.enforcing_failure_percentage.CopyFrom(UInt32Value(value=WHOLE_PERCENT))
    return message
