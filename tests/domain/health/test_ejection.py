"""Ejection and re-admission as a table of events."""

from dataclasses import replace

import pytest

from controlplane.domain.health.ejection import WELL, Event, Health, Limits, State, after

LIMITS = Limits()


def told(*events: Event, health: Health = WELL, now_s: float = 100.0) -> Health:
    for event in events:
        health = after(health, event, now_s, LIMITS)
    return health


SERVED, FAILED, NEAR = Event.SERVED, Event.FAILED, Event.NEIGHBOUR_FAILED
PASSED, MISSED = Event.PROBE_PASSED, Event.PROBE_FAILED


@pytest.mark.parametrize(
    ("events", "state"),
    [
        ((), State.HEALTHY),
        ((SERVED,), State.HEALTHY),
        ((FAILED,), State.SUSPECT),
        ((NEAR, NEAR), State.SUSPECT),
        ((FAILED, FAILED), State.SUSPECT),
        ((FAILED, SERVED, FAILED, SERVED, FAILED), State.SUSPECT),
        ((FAILED, FAILED, FAILED), State.OUT),
        ((FAILED, MISSED), State.SUSPECT),
        ((FAILED, MISSED, MISSED), State.OUT),
        ((NEAR, MISSED, MISSED), State.OUT),
        ((NEAR, MISSED, PASSED, MISSED), State.SUSPECT),
        ((FAILED, PASSED, PASSED), State.HEALTHY),
        # What probes do not see counts on, however often they pass.
        ((FAILED, PASSED, PASSED, FAILED, PASSED, PASSED, FAILED), State.OUT),
        # Probes of an earlier suspicion are no judgement of a healthy one.
        ((MISSED, MISSED), State.HEALTHY),
        ((PASSED, PASSED), State.HEALTHY),
        ((FAILED, FAILED, FAILED, SERVED, NEAR, FAILED), State.OUT),
    ],
)
def test_states(events: tuple[Event, ...], state: State) -> None:
    assert told(*events).state is state


def test_failed_probes_let_it_back_as_soon_as_they_pass() -> None:
    out = told(FAILED, MISSED, MISSED)
    assert told(PASSED, health=out).state is State.OUT
    assert told(PASSED, MISSED, PASSED, health=out).state is State.OUT
    assert told(PASSED, PASSED, health=out) == Health(
        passed_probes=2, failed_probes=0, back_s=100.0
    )


def test_failed_requests_keep_it_out_for_a_time_that_grows() -> None:
    out = told(FAILED, FAILED, FAILED, PASSED, PASSED, PASSED)
    assert (out.state, out.until_s) == (State.OUT, 103.0)
    back = told(PASSED, health=out, now_s=103.0)
    assert back.state is State.HEALTHY
    again = told(FAILED, FAILED, FAILED, health=back, now_s=110.0)
    assert (again.times, again.until_s) == (2, 116.0)
    good = told(FAILED, FAILED, FAILED, health=back, now_s=170.0)
    assert (good.times, good.until_s) == (1, 173.0)
    often = told(FAILED, FAILED, FAILED, health=replace(back, times=50), now_s=110.0)
    assert often.until_s == 140.0


def test_a_clock_that_was_set_back_keeps_nobody_out_for_longer_than_any_time_out() -> None:
    out = told(FAILED, FAILED, FAILED, now_s=10_000.0)
    back = told(PASSED, PASSED, health=out, now_s=100.0)
    assert back.state is State.HEALTHY
