"""Limits of a service: of requests at once in its cluster, of their rate in buckets."""

from dataclasses import replace

import pytest

from controlplane.adapters.envoy.concurrency import (
    adapting,
    concurrency_filters,
    controllers,
)
from controlplane.adapters.envoy.failover import UNLIMITED, circuit_breakers
from controlplane.adapters.envoy.rates import ADDRESSES, NANOS, RATES, SERVICE, SOURCE, rates
from controlplane.adapters.envoy.render import Renderer
from controlplane.domain.admission.adaptive_concurrency import AdaptiveConcurrencyPolicy
from controlplane.domain.services import RetryPolicy
from controlplane.domain.snapshot import ServiceLimit
from controlplane.domain.xds import ResourceType
from tests.adapters.envoy.site import SMALL, snapshot
from tests.sites.limits import EACH


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


def test_each_address_has_a_bucket_of_its_service() -> None:
    found = rates([], {"web": ServiceLimit(rate_rps=10.0, burst=3.0)})
    (bucket,) = found.descriptors
    keys = [(entry.key, entry.value) for entry in bucket.entries]
    assert keys == [(SERVICE, "web"), (SOURCE, "")]
    assert (bucket.token_bucket.max_tokens, bucket.token_bucket.tokens_per_fill.value) == (3, 1)
    assert found.max_dynamic_descriptors.value == ADDRESSES
    masked = found.rate_limits[1].actions[1].masked_remote_address
    assert (masked.v4_prefix_mask_len.value, masked.v6_prefix_mask_len.value) == (32, 64)


def test_routes_of_the_service_count_addresses_while_a_policy_says_so() -> None:
    renderer = Renderer()
    without = renderer.render(snapshot(SMALL, 1))
    made = renderer.render(snapshot(replace(SMALL, policies=(EACH,)), 2))
    changed = {name for name, data in made.parts if data not in dict(without.parts).values()}
    assert changed == {f"{ResourceType.ROUTE}/rules", f"{ResourceType.EXTENSION}/{RATES}"}
    assert renderer.render(snapshot(SMALL, 3)).parts == without.parts


def test_a_budget_of_retries_is_a_share_of_the_requests_under_way() -> None:
    (found,) = circuit_breakers(None, RetryPolicy(budget=0.2)).thresholds
    assert found.retry_budget.budget_percent.value == pytest.approx(20.0)
    assert found.retry_budget.min_retry_concurrency.value == 1
    assert circuit_breakers(None, RetryPolicy()) == circuit_breakers()


def test_what_is_declared_of_a_learned_limit_is_what_envoy_is_told() -> None:
    learned = AdaptiveConcurrencyPolicy(
        least_ms=12.5, least=4, most=90, window_s=0.5, tolerance=0.4, status=429
    )
    services = snapshot(SMALL, 1).content.endpoints.services
    one = replace(services[0], limit=ServiceLimit(adaptive=learned))
    assert adapting([one, *services[1:]]) == (one.service,)
    ((name, found),) = controllers([one, *services[1:]])
    assert name == f"concurrency:{one.service}"
    gradient = found.gradient_controller_config
    least, limits = gradient.min_rtt_calc_params, gradient.concurrency_limit_params
    assert least.fixed_value.ToMicroseconds() == 12_000
    assert (least.min_concurrency.value, limits.max_concurrency_limit.value) == (4, 90)
    assert limits.concurrency_update_interval.ToMilliseconds() == 500
    assert 12 * (1 + least.buffer.value / 100) == pytest.approx(1.4 * 12.5)
    assert found.concurrency_limit_exceeded_status.code == 429
    (stand_in,) = concurrency_filters([one.service])
    assert stand_in.disabled


@pytest.mark.parametrize(
    ("least_ms", "tolerance", "fixed_ms", "most_ms"),
    [
        (10.0, 0.25, 10, 12.5),
        (10.0, 10.0, 55, 110.0),
        (1.5, 0.0, 1, 1.5),
        # Less than a millisecond is one: Envoy knows no less.
        (0.4, 0.25, 1, 1.0),
        (0.001, 0.0, 1, 1.0),
    ],
)
def test_a_learned_limit_bears_what_was_declared(
    least_ms: float, tolerance: float, fixed_ms: int, most_ms: float
) -> None:
    learned = AdaptiveConcurrencyPolicy(least_ms=least_ms, tolerance=tolerance)
    service = snapshot(SMALL, 1).content.endpoints.services[0]
    ((_, found),) = controllers([replace(service, limit=ServiceLimit(adaptive=learned))])
    least = found.gradient_controller_config.min_rtt_calc_params
    assert least.fixed_value.ToMicroseconds() == 1_000 * fixed_ms
    assert 0.0 <= least.buffer.value <= 100.0
    assert fixed_ms * (1 + least.buffer.value / 100) == pytest.approx(most_ms)
