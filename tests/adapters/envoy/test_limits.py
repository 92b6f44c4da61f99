"""Limits of a service: of requests at once in its cluster, of their rate in buckets."""

from dataclasses import replace

import pytest

from controlplane.adapters.envoy.failover import UNLIMITED, circuit_breakers
from controlplane.adapters.envoy.rates import NANOS, rates
from controlplane.domain.services import RetryPolicy
from controlplane.domain.snapshot import ServiceLimit
from tests.adapters.envoy.site import SMALL, snapshot


def test_a_limit_counts_requests() -> None:
    (found,) = circuit_breakers(ServiceLimit(concurrent=7, waiting=2)).thresholds
    assert (found.max_requests.value, found.max_pending_requests.value) == (9, 9)
    assert found.max_connections.value == UNLIMITED


def test_without_a_number_nothing_is_limited() -> None:
    (found,) = circuit_breakers(ServiceLimit(rate_rps=5.0)).thresholds
    assert found.max_requests.value == UNLIMITED
    assert circuit_breakers(None) == circuit_breakers()


@pytest.mark.parametrize("rate_rps", [0.001, 0.3, 1.0, 7.0, 19.99, 20.0, 37.0, 512.5, 1e6, 1e8])
def test_a_bucket_keeps_any_rate_exactly(rate_rps: float) -> None:
    one = replace(
        snapshot(SMALL, 1).content.endpoints.services[0], limit=ServiceLimit(rate_rps=rate_rps)
    )
    (found,) = rates([one]).descriptors
    bucket = found.token_bucket
    seconds = bucket.fill_interval.seconds + bucket.fill_interval.nanos / NANOS
    assert bucket.tokens_per_fill.value / seconds == pytest.approx(rate_rps, rel=1e-6)
    assert seconds >= 0.05
    assert bucket.max_tokens == max(1, -(-rate_rps // 1))


def test_without_a_rate_the_filter_does_nothing() -> None:
    services = snapshot(SMALL, 1).content.endpoints.services
    one = replace(services[0], limit=ServiceLimit(concurrent=7))
    assert rates([one, *services[1:]]) == rates([])
    assert not rates([]).HasField("filter_enabled")


def test_a_budget_of_retries_is_a_share_of_the_requests_under_way() -> None:
    (found,) = circuit_breakers(None, RetryPolicy(budget=0.2)).thresholds
    assert found.retry_budget.budget_percent.value == pytest.approx(20.0)
    assert found.retry_budget.min_retry_concurrency.value == 1
    assert circuit_breakers(None, RetryPolicy()) == circuit_breakers()
