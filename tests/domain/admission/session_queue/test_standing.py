from dataclasses import replace

import pytest

from controlplane.domain.admission.asking import ADMITTED, Asked, Verdict
from controlplane.domain.admission.session_queue.policy import Gate, SessionQueuePolicy
from controlplane.domain.admission.session_queue.room import Standing
from controlplane.domain.admission.session_queue.standing import (
    SessionQueueFacts,
    decide,
    expected_wait_s,
    poll_s,
)
from controlplane.domain.routing.matching.request import Request

POLICY = SessionQueuePolicy(initial_size=2)
ASKED = Asked(request=Request(path="/"), now_s=1_000.0)
WAITING = SessionQueueFacts(
    standing=Standing.WAITING, position=30, size=10, inside=10, waiting=80, rate_per_s=0.5
)


def test_somebody_new_enters_where_there_is_room_and_nobody_waits() -> None:
    assert decide(POLICY, ASKED, SessionQueueFacts()) is ADMITTED
    full = SessionQueueFacts(inside=2)
    assert decide(POLICY, ASKED, full).reason == "queued"
    assert decide(POLICY, ASKED, replace(full, size=3)) is ADMITTED
    assert decide(POLICY, ASKED, SessionQueueFacts(waiting=1)).verdict is Verdict.WAIT


def test_who_is_inside_goes_on_and_with_the_bypass_everybody() -> None:
    assert decide(POLICY, ASKED, SessionQueueFacts(standing=Standing.INSIDE)) is ADMITTED
    assert decide(replace(POLICY, gate=Gate.BYPASS), ASKED, WAITING) is ADMITTED


def test_who_waits_is_told_position_and_expected_wait() -> None:
    decision = decide(POLICY, ASKED, WAITING)
    assert (decision.verdict, decision.status) == (Verdict.WAIT, 503)
    assert decision.details == {
        "waiting": 80,
        "size": 10,
        "position": 30,
        "expected_wait_s": 60.0,
    }
    assert decision.retry_after_s == 6.0


def test_what_is_not_known_is_not_said() -> None:
    decision = decide(POLICY, ASKED, replace(WAITING, position=0, rate_per_s=0.0))
    assert decision.details == {"waiting": 80, "size": 10}
    assert decision.retry_after_s == 8.5


def test_before_the_start_everybody_waits() -> None:
    policy = replace(POLICY, starts_at_s=1_100.0)
    early = decide(policy, ASKED, SessionQueueFacts())
    assert early.reason == "queue_not_open"
    assert early.details["opens_in_s"] == 100.0
    assert early.retry_after_s == 10.0
    assert decide(policy, ASKED, WAITING).details["expected_wait_s"] == 160.0


def test_while_it_is_held_nobody_new_enters() -> None:
    decision = decide(replace(POLICY, gate=Gate.HOLD), ASKED, SessionQueueFacts())
    assert decision.reason == "queue_held"


def test_a_full_line_is_said_with_its_limit() -> None:
    turned = SessionQueueFacts(standing=Standing.TURNED_AWAY, waiting=100_000)
    decision = decide(POLICY, ASKED, turned)
    assert (decision.verdict, decision.reason) == (Verdict.REFUSE, "queue_full")
    assert decision.details == {"waiting": 100_000, "limit": 100_000}


@pytest.mark.parametrize(
    ("wait_s", "expected"), [(None, 8.5), (1.0, 2.0), (60.0, 6.0), (9_999.0, 15.0)]
)
def test_who_is_far_behind_asks_less_often(wait_s: float | None, expected: float) -> None:
    assert poll_s(POLICY, wait_s) == expected


def test_the_wait_follows_littles_law() -> None:
    assert expected_wait_s(30, 0.5) == 60
    assert expected_wait_s(30, 0.0) is None
    assert expected_wait_s(0, 0.5) is None
