import random
import statistics

import pytest

from controlplane.demo.trace import arrivals, rate_for_utilisation, read_trace


def test_the_shipped_slice_is_twelve_hours_of_moderate_variation() -> None:
    trace = read_trace()
    assert len(trace.counts) == 720
    shape = trace.shape(0, 720)
    assert statistics.fmean(shape) == pytest.approx(1.0)
    smooth = [statistics.fmean(shape[k : k + 10]) for k in range(711)]
    assert 0.8 < min(smooth) < 0.85
    assert 1.1 < max(smooth) < 1.25


def test_a_window_has_mean_one_and_wraps_past_the_end() -> None:
    trace = read_trace()
    assert statistics.fmean(trace.shape(700, 60)) == pytest.approx(1.0)
    wrapped = trace.shape(719, 2)
    assert wrapped[1] / wrapped[0] == pytest.approx(trace.counts[0] / trace.counts[719])


def test_arrivals_have_the_expected_count_and_are_sorted_within_the_period() -> None:
    draw = random.Random(1)
    periods = [arrivals(10.25, 0.5, draw) for _ in range(400)]
    assert {len(period) for period in periods} == {10, 11}
    assert statistics.fmean(len(period) for period in periods) == pytest.approx(10.25, abs=0.1)
    assert all(period == sorted(period) for period in periods)
    assert all(0.0 <= instant < 0.5 for period in periods for instant in period)


def test_rate_that_half_of_the_requests_bring_to_the_utilisation() -> None:
    rate = rate_for_utilisation(5, 0.8, 0.2, 0.08)
    assert rate / 2 * 0.08 / 5 + 0.2 == pytest.approx(0.8)
