"""Limits of a service in its cluster: requests are counted, connections are not."""

from controlplane.adapters.envoy.failover import UNLIMITED, circuit_breakers
from controlplane.domain.snapshot import ServiceLimit


def test_a_limit_counts_requests() -> None:
    (found,) = circuit_breakers(ServiceLimit(concurrent=7, waiting=2)).thresholds
    assert (found.max_requests.value, found.max_pending_requests.value) == (9, 9)
    assert found.max_connections.value == UNLIMITED


def test_without_a_number_nothing_is_limited() -> None:
    (found,) = circuit_breakers(ServiceLimit(rate_rps=5.0)).thresholds
    assert found.max_requests.value == UNLIMITED
    assert circuit_breakers(None) == circuit_breakers()
