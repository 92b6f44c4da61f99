import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.aggregates import MINUTE_S, Minute, condensed, minute_of
from controlplane.domain.telemetry import LIMITS, Sample
from tests import builders

START_S = 6_000.0


def part(time_s: float = START_S, **values: object) -> Minute:
    sample = replace(builders.sample(time_s=time_s), **values)  # type: ignore[arg-type]
    return Minute(sample=sample)


def test_one_sample_is_its_minute_unchanged() -> None:
    only = part(START_S + 7.25, memory=None, disk=0.0)
    assert condensed([only]) == only


def test_means_are_by_request_where_requests_were_measured() -> None:
    quiet = part(START_S, request_rate_rps=10.0, response_time_ms=20.0, error_ratio=0.0)
    busy = part(START_S + 1, request_rate_rps=30.0, response_time_ms=60.0, error_ratio=0.4)
    made = condensed([quiet, busy])
    assert made.samples == 2
    assert made.sample.response_time_ms == pytest.approx(50.0)
    assert made.sample.error_ratio == pytest.approx(0.3)
    assert made.sample.request_rate_rps == pytest.approx(20.0)


def test_plain_readings_are_plain_means_and_the_largest_stays() -> None:
    first = part(cpu_avg=0.2, cpu_max=0.9, response_time_p99_ms=80.0, inflight=2.0)
    second = part(START_S + 9, cpu_avg=0.4, cpu_max=0.5, response_time_p99_ms=90.0, inflight=4.0)
    sample = condensed([first, second]).sample
    assert sample.cpu_avg == pytest.approx(0.3)
    assert (sample.cpu_max, sample.response_time_p99_ms, sample.inflight) == (0.9, 90.0, 3.0)
    assert sample.time_s == START_S + 9


def test_missing_stays_missing_and_is_no_zero_in_a_mean() -> None:
    sample = condensed([part(memory=0.5), part(START_S + 1, memory=None, disk=None)]).sample
    assert (sample.memory, sample.disk) == (0.5, None)


@pytest.mark.parametrize("rate", [None, 0.0])
def test_without_a_known_load_each_sample_counts_alike(rate: float | None) -> None:
    parts = [
        part(START_S + n, request_rate_rps=rate, response_time_ms=time_ms)
        for n, time_ms in enumerate((10.0, 30.0))
    ]
    assert condensed(parts).sample.response_time_ms == pytest.approx(20.0)


def test_what_only_idle_samples_report_is_a_plain_mean() -> None:
    parts = [
        part(START_S, request_rate_rps=0.0, error_ratio=0.2),
        part(START_S + 1, request_rate_rps=0.0, error_ratio=0.4),
        part(START_S + 2, request_rate_rps=10.0, error_ratio=None),
    ]
    assert condensed(parts).sample.error_ratio == pytest.approx(0.3)


def test_suspicious_samples_count_only_where_there_is_no_other() -> None:
    doubted = part(START_S + 5, response_time_ms=9_000.0, suspicion="jump")
    trusted = part(response_time_ms=50.0)
    assert condensed([doubted, trusted]) == trusted
    both = condensed([doubted, replace(doubted, sample=replace(doubted.sample, time_s=START_S))])
    assert (both.sample.suspicion, both.samples) == ("jump", 2)


def test_a_minute_is_counted_down_to_its_beginning() -> None:
    assert [minute_of(time_s) for time_s in (0.0, 59.999, 60.0, -0.5)] == [0, 0, 1, -1]


readings = st.one_of(st.none(), st.floats(0, 1))
samples = st.builds(
    lambda offset, time_ms, rate, cpu, error: part(
        START_S + offset,
        response_time_ms=time_ms,
        request_rate_rps=rate,
        cpu_avg=cpu,
        error_ratio=error,
    ),
    st.floats(0, MINUTE_S - 1),
    st.floats(0, 3.6e6),
    st.floats(0, 1e8),
    readings,
    readings,
)


@given(st.lists(samples, min_size=1, max_size=12))
def test_a_mean_lies_among_its_parts_and_in_any_order_is_the_same(parts: list[Minute]) -> None:
    made = condensed(parts)
    assert made.samples == len(parts)
    for name in LIMITS:
        values = [v for p in parts if (v := getattr(p.sample, name)) is not None]
        mean = getattr(made.sample, name)
        assert (mean is None) == (not values)
        if values:
            assert min(values) <= mean <= max(values)
    if len({(p.sample.time_s, p.sample.received_s) for p in parts}) == len(parts):
        assert condensed(parts[::-1]) == made


@given(st.lists(samples, min_size=2, max_size=12), st.integers(1, 11))
def test_a_minute_made_in_two_steps_is_the_minute_made_in_one(
    parts: list[Minute], cut: int
) -> None:
    at_once = condensed(parts)
    early, late = parts[:cut], parts[cut:]
    made = condensed([condensed(some) for some in (early, late) if some])
    assert made.samples == at_once.samples
    one, two = made.sample, at_once.sample
    assert (one.time_s, one.cpu_max) == (two.time_s, two.cpu_max)
    assert close(one, two, "request_rate_rps")
    # A minute without any load has no weights to keep; elsewhere the mean is by request.
    if all(p.sample.load > 0 for p in parts):
        assert close(one, two, "response_time_ms")


def close(one: Sample, two: Sample, name: str) -> bool:
    return math.isclose(getattr(one, name), getattr(two, name), rel_tol=1e-6, abs_tol=1e-6)
