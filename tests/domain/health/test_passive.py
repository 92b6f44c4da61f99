"""What requests say about a cluster."""

from dataclasses import replace

from controlplane.domain.health.ejection import Event
from controlplane.domain.health.passive import (
    QUIET,
    Passive,
    PassiveLimits,
    Telling,
    looked_at,
    still_out,
    told,
)

LIMITS = PassiveLimits()


def tell(
    passive: Passive, *rows: tuple[str, int, int], time_s: float, limits: PassiveLimits = LIMITS
) -> Passive:
    for reporter, served, failed in rows:
        telling = Telling(reporter=reporter, time_s=time_s, served=served, failed=failed)
        passive = told(passive, telling, limits)
    return passive


def failed() -> Passive:
    return tell(QUIET, ("a", 5, 50), ("b", 0, 30), ("a", 0, 40), time_s=100.0)


def test_two_who_see_most_requests_fail_put_a_cluster_out() -> None:
    assert not tell(QUIET, ("a", 5, 50), ("b", 0, 30), time_s=100.0).failing
    found = failed()
    assert found.failing
    assert found.ratio > 0.9


def test_one_alone_is_told_and_not_acted_on() -> None:
    found = tell(QUIET, *[("a", 0, 50)] * 5, time_s=100.0)
    assert (found.failing, found.alone) == (False, True)
    one = replace(LIMITS, least_reporters=1)
    assert tell(QUIET, *[("a", 0, 50)] * 5, time_s=100.0, limits=one).failing


def test_who_is_outvoted_changes_nothing() -> None:
    rows = [("a", 0, 50), ("b", 50, 0), ("c", 50, 0)] * 4
    found = tell(QUIET, *rows, time_s=100.0)
    assert (found.failing, found.alone) == (False, False)


def test_few_requests_say_nothing() -> None:
    found = tell(QUIET, *[("a", 0, 3), ("b", 0, 3)] * 3, time_s=100.0)
    assert (found.failing, found.alone, found.ratio) == (False, False, 1.0)


def test_what_was_told_long_ago_is_forgotten() -> None:
    found = looked_at(failed(), Event.PROBE_PASSED, 200.0, LIMITS)
    assert (found.tellings, found.ratio) == ((), 0.0)


def test_checks_that_pass_bring_it_back_after_a_time_that_grows() -> None:
    out = failed()
    for _ in range(3):
        out = looked_at(out, Event.PROBE_PASSED, 110.0, LIMITS)
        assert out.failing
    back = looked_at(out, Event.PROBE_PASSED, 131.0, LIMITS)
    assert not back.failing
    again = tell(back, *[("a", 0, 50), ("b", 0, 50)] * 2, time_s=150.0)
    assert again.failing
    for _ in range(3):
        again = looked_at(again, Event.PROBE_PASSED, 190.0, LIMITS)
    assert again.failing
    assert looked_at(again, Event.PROBE_PASSED, 211.0, LIMITS).failing is False


def test_what_was_out_before_a_restart_is_out_for_its_first_time() -> None:
    out = still_out(100.0, LIMITS)
    for _ in range(3):
        out = looked_at(out, Event.PROBE_PASSED, 129.0, LIMITS)
        assert out.failing
    assert not looked_at(out, Event.PROBE_PASSED, 130.0, LIMITS).failing


def test_checks_that_fail_do_not_bring_it_back() -> None:
    out = failed()
    for _ in range(3):
        out = looked_at(out, Event.PROBE_FAILED, 200.0, LIMITS)
    assert out.failing


def test_a_cluster_that_serves_is_left_alone() -> None:
    found = tell(QUIET, ("a", 50, 0), ("b", 50, 1), time_s=100.0)
    assert looked_at(found, Event.PROBE_FAILED, 101.0, LIMITS) == found


def test_many_reports_of_one_within_a_second_are_one() -> None:
    found = QUIET
    for number in range(500):
        found = tell(found, ("a", 1, 1), time_s=100.0 + number / 1_000)
    (one,) = found.tellings
    assert (one.served, one.failed) == (500, 500)
    assert len(tell(found, ("a", 1, 0), ("b", 1, 0), time_s=101.5).tellings) == 3


def test_what_was_told_before_the_clock_went_back_is_forgotten() -> None:
    assert looked_at(failed(), Event.PROBE_PASSED, -3_500.0, LIMITS).tellings == ()
