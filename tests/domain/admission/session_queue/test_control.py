import math
from dataclasses import replace

import pytest

from controlplane.domain.admission.session_queue.control import (
    FULL_GAIN,
    LEAST_GAIN,
    Control,
    Period,
    at_start,
    controlled,
    whole,
)
from controlplane.domain.admission.session_queue.policy import SessionQueuePolicy
from tests.domain.admission.session_queue.simulated_site import Site

POLICY = SessionQueuePolicy(target_ms=300, initial_size=2, period_s=5, calm_s=60)
BUSY = Control(size=20.0, inside=20)


def period(mean_ms: float = 300, **changes: float) -> Period:
    usual = Period(
        length_s=5, answers=100, failures=0, total_s=0.0, entered=10, inside=20, waiting=50
    )
    changed = replace(usual, **changes)  # type: ignore[arg-type]
    return replace(changed, total_s=mean_ms / 1_000 * changed.answers)


@pytest.mark.parametrize("slowing", [1.0, 1.5, 2.0, 3.0])
def test_response_time_is_held_while_the_site_loses_half_of_its_speed(slowing: float) -> None:
    site = Site(policy=POLICY, slowing=slowing)
    site.run(200)
    before = [one for one in site.seen if one.time_s > 40]
    assert all(abs(one.relative - 1) <= 0.2 for one in before)
    site.speed = 0.5
    site.run(400)
    # Those who are inside already are served at the old size for a while.
    after = [one for one in site.seen if one.time_s > 220]
    assert all(abs(one.relative - 1) <= 0.2 for one in after)
    assert after[-1].inside < 0.75 * before[-1].inside
    site.speed = 1.0
    site.run(600)
    again = [one for one in site.seen if one.time_s > 425]
    assert all(abs(one.relative - 1) <= 0.2 for one in again)


def test_users_who_think_do_not_make_it_swing() -> None:
    site = Site(policy=POLICY, think_s=0.3)
    site.run(200)
    assert all(abs(one.relative - 1) <= 0.2 for one in site.seen if one.time_s > 60)
    site.speed = 0.5
    site.run(400)
    after = [one.relative for one in site.seen if one.time_s > 230]
    assert all(abs(one - 1) <= 0.2 for one in after)


def test_the_pool_returns_to_its_initial_size_after_the_peak_and_an_idle_time() -> None:
    site = Site(policy=POLICY, queue=1_000)
    site.run(300)
    assert max(one.size for one in site.seen) > 10
    last_full_s = max(one.time_s for one in site.seen if one.inside)
    first_calm_s = min(one.time_s for one in site.seen if one.size == 2.0 and one.time_s > 20)
    assert 60 <= first_calm_s - last_full_s <= 70
    assert site.seen[-1].size == 2.0


def test_a_fast_site_doubles_the_pool_and_a_slow_one_halves_it_at_most() -> None:
    assert controlled(POLICY, BUSY, period(mean_ms=10)).size == 40
    assert controlled(POLICY, BUSY, period(mean_ms=9_000)).size == 10
    assert controlled(POLICY, BUSY, period(mean_ms=0)).size == 40


def test_the_step_is_the_ratio_to_the_power_of_the_gain() -> None:
    control = replace(BUSY, gain=0.5)
    assert controlled(POLICY, control, period(mean_ms=200)).size == pytest.approx(20 * 1.5**0.625)


def test_it_stays_within_its_bounds_and_lets_in_at_least_one() -> None:
    policy = replace(POLICY, least_size=2, most_size=30)
    assert controlled(policy, BUSY, period(mean_ms=10)).size == 30
    low = controlled(policy, Control(size=2.5, inside=2), period(mean_ms=9_000, inside=2))
    assert low.size == 2
    assert whole(Control(size=0.3)) == 1
    assert whole(at_start(policy)) == 2


def test_without_a_queue_nothing_grows_but_a_slow_site_still_shrinks_it() -> None:
    assert controlled(POLICY, BUSY, period(mean_ms=10, waiting=0)).size == 20
    assert controlled(POLICY, BUSY, period(mean_ms=600, waiting=0)).size == 10


def test_errors_within_the_band_change_nothing() -> None:
    for mean_ms in (286, 300, 314):
        assert controlled(POLICY, BUSY, period(mean_ms=mean_ms)).size == 20


def test_no_answers_are_not_fast_ones() -> None:
    assert controlled(POLICY, BUSY, period(mean_ms=1, answers=0)) == replace(
        BUSY, inside=20, rate_per_s=2.0
    )
    assert controlled(POLICY, BUSY, period(mean_ms=1, answers=2)).size == 20


def test_fast_failures_shrink_it() -> None:
    failing = controlled(POLICY, BUSY, period(mean_ms=1, failures=11))
    assert failing.size == pytest.approx(14)
    assert controlled(POLICY, BUSY, period(mean_ms=1, failures=10)).size == 40


def test_a_size_that_was_not_reached_is_not_grown_from() -> None:
    control = Control(size=100.0, inside=10)
    assert controlled(POLICY, control, period(mean_ms=10, inside=10)).size == 100
    assert controlled(POLICY, control, period(mean_ms=600, inside=10)).size == 5


def test_a_swing_makes_the_gain_smaller_and_rest_brings_it_back() -> None:
    control = replace(BUSY, error=1)
    gains = []
    for mean_ms in (600, 100, 600, 100, 600):
        control = controlled(POLICY, control, period(mean_ms=mean_ms))
        gains.append(control.gain)
    assert gains[0] == 0.6
    assert gains[-1] == LEAST_GAIN
    for _ in range(10):
        control = controlled(POLICY, control, period())
    assert control.gain == FULL_GAIN


def test_the_rate_of_entries_is_smoothed_and_says_nothing_without_a_queue() -> None:
    first = controlled(POLICY, BUSY, period(entered=10))
    assert first.rate_per_s == 2.0
    second = controlled(POLICY, first, period(entered=20))
    assert math.isclose(second.rate_per_s, 2.0 + 0.3 * 2.0)
    assert controlled(POLICY, second, period(entered=0)).rate_per_s == second.rate_per_s
    assert controlled(POLICY, second, period(waiting=0)).rate_per_s == second.rate_per_s


def test_calm_counts_from_the_last_one_who_waited() -> None:
    control = BUSY
    for _ in range(11):
        control = controlled(POLICY, control, period(waiting=0))
    assert control.size == 20
    assert controlled(POLICY, control, period(waiting=1)).calm_s == 0
    assert controlled(POLICY, control, period(waiting=0)).size == 2
