"""Ramps: steps that never turn, the first at once, the last at the end."""

from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.domain.failover.ramps import (
    LEAST_STEP_S,
    LEAVING_STEPS,
    STEPS,
    fallen,
    next_step,
    risen,
    step_s,
)


def test_over_no_time_everything_comes_at_once() -> None:
    assert (risen(0.0, 0.0), fallen(0.0, 0.0), next_step(0.0, 0.0)) == (1.0, 0.0, None)


def test_before_it_begins_nothing_has_happened() -> None:
    assert (risen(10.0, -1.0), fallen(10.0, -1.0), next_step(10.0, -1.0)) == (0.0, 1.0, 1.0)


def test_twenty_steps_the_first_at_once() -> None:
    assert step_s(60.0) == 3.0
    assert risen(60.0, 0.0) == 1.0 / STEPS
    assert risen(60.0, 3.0) == 2.0 / STEPS
    assert next_step(60.0, 1.0) == 2.0
    assert risen(60.0, 60.0) == 1.0
    assert next_step(60.0, 60.0) is None


def test_what_leaves_goes_in_five_steps() -> None:
    levels = [fallen(60.0, at) for at in range(61)]
    assert levels == sorted(levels, reverse=True)
    assert [round(level, 9) for level in dict.fromkeys(levels)] == [0.8, 0.6, 0.4, 0.2, 0.0]
    assert (fallen(60.0, 11.9), fallen(60.0, 12.0)) == (levels[0], levels[12])
    assert levels[0] > levels[12]


def test_no_step_is_too_short_for_gateways() -> None:
    assert step_s(2.0) == LEAST_STEP_S
    assert [risen(2.0, at) for at in (0.0, 0.5, 1.0, 1.5, 2.0)] == [0.25, 0.5, 0.75, 1.0, 1.0]


@settings(deadline=None)
@given(whole_s=st.floats(0.1, 1e5), at=st.floats(0.0, 1.2))
def test_a_ramp_never_turns_and_ends(whole_s: float, at: float) -> None:
    elapsed_s = at * whole_s
    now = risen(whole_s, elapsed_s)
    assert 0.0 < now <= 1.0
    pause_s = next_step(whole_s, elapsed_s)
    if pause_s is None:
        assert now == 1.0
    else:
        assert 0.0 <= pause_s <= step_s(whole_s) + 1e-6
        assert risen(whole_s, elapsed_s + pause_s + 1e-6 * whole_s) >= now
    left = fallen(whole_s, elapsed_s)
    assert 1.0 - now - 1 / LEAVING_STEPS - 1e-6 <= left <= 1.0 - now + 1e-6
