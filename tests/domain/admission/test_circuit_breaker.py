"""A breaker through its phases."""

import math
from dataclasses import replace

import pytest

from controlplane.domain.admission.asking import ADMITTED, Asked, Verdict
from controlplane.domain.admission.circuit_breaker import (
    CLOSED,
    Breaker,
    BreakerFacts,
    CircuitBreakerPolicy,
    Phase,
    begun,
    check_circuit_breaker,
    decide,
    ended,
    rest_s,
    unused,
)
from controlplane.domain.errors import Invalid
from controlplane.domain.routing.matching.request import Request

POLICY = CircuitBreakerPolicy(slow_ms=500.0, requests=10)
GOOD, BAD, LOST, SLOW = (200, 5.0), (503, 5.0), (0, 5.0), (200, 800.0)


def asked(now_s: float) -> Asked:
    return Asked(request=Request(path="/"), now_s=now_s, service="seats")


def after(*answers: tuple[int, float], breaker: Breaker = CLOSED, now_s: float = 100.0) -> Breaker:
    for answer in answers:
        breaker = ended(POLICY, breaker, answer, now_s)
    return breaker


@pytest.mark.parametrize(
    ("answers", "phase"),
    [
        ([BAD] * 9, Phase.CLOSED),
        ([BAD] * 5 + [GOOD] * 5, Phase.OPEN),
        ([LOST] * 5 + [GOOD] * 5, Phase.OPEN),
        ([BAD] * 4 + [GOOD] * 6, Phase.CLOSED),
        ([SLOW] * 7 + [GOOD] * 3, Phase.CLOSED),
        ([SLOW] * 8 + [GOOD] * 2, Phase.OPEN),
        ([(404, 5.0)] * 20, Phase.CLOSED),
    ],
)
def test_enough_failed_or_slow_answers_open_it(
    answers: list[tuple[int, float]], phase: Phase
) -> None:
    worst_last = sorted(answers, key=lambda one: one in (BAD, LOST, SLOW))
    assert after(*worst_last).phase is phase


def test_what_left_the_window_does_not_count() -> None:
    old = after(*[BAD] * 9)
    assert after(BAD, breaker=old, now_s=111.0).phase is Phase.CLOSED
    assert after(BAD, breaker=old, now_s=105.0).phase is Phase.OPEN


def test_slow_answers_count_only_where_it_is_said_what_is_slow() -> None:
    policy = replace(POLICY, slow_ms=None)
    breaker = CLOSED
    for _ in range(20):
        breaker = ended(policy, breaker, SLOW, 100.0)
    assert breaker.phase is Phase.CLOSED


def test_after_its_rest_one_probe_decides() -> None:
    opened = after(*[BAD] * 10)
    refused = decide(POLICY, asked(102.0), BreakerFacts(breaker=opened))
    assert (refused.verdict, refused.reason, refused.status) == (
        Verdict.REFUSE,
        "circuit_open",
        503,
    )
    assert refused.retry_after_s == pytest.approx(3.0)
    assert decide(POLICY, asked(105.0), BreakerFacts(breaker=opened)) is ADMITTED
    probed = begun(opened, 105.0)
    assert probed.phase is Phase.HALF_OPEN
    others = decide(POLICY, asked(105.1), BreakerFacts(breaker=probed))
    assert others.verdict is Verdict.REFUSE
    assert others.details["phase"] == "half_open"
    closed = after(GOOD, breaker=probed, now_s=105.2)
    assert closed == Breaker(since_s=105.2)
    assert decide(POLICY, asked(105.3), BreakerFacts(breaker=closed)) is ADMITTED


@pytest.mark.parametrize("answer", [BAD, LOST, SLOW])
def test_a_probe_that_fails_doubles_the_rest(answer: tuple[int, float]) -> None:
    breaker, now_s = after(*[BAD] * 10), 100.0
    assert rest_s(POLICY, breaker) == 5.0
    for rest in (10.0, 20.0, 40.0, 60.0, 60.0):
        now_s += rest_s(POLICY, breaker)
        probed = begun(breaker, now_s)
        now_s += 1.0
        breaker = after(answer, breaker=probed, now_s=now_s)
        assert rest_s(POLICY, breaker) == rest


def test_answers_that_began_before_the_probe_say_nothing() -> None:
    opened = after(*[BAD] * 10)
    assert after(GOOD, breaker=opened, now_s=100.5) == opened
    probed = begun(opened, 105.0)
    assert after((200, 400.0), breaker=probed, now_s=105.1) == probed


def test_a_probe_that_never_ends_makes_room_for_another() -> None:
    probed = begun(after(*[BAD] * 10), 105.0)
    assert decide(POLICY, asked(114.9), BreakerFacts(breaker=probed)).verdict is Verdict.REFUSE
    assert decide(POLICY, asked(115.0), BreakerFacts(breaker=probed)) is ADMITTED


def test_a_clock_that_went_back_does_not_prolong_the_rest_beyond_its_length() -> None:
    opened = after(*[BAD] * 10)
    refused = decide(POLICY, asked(0.0), BreakerFacts(breaker=opened))
    assert refused.retry_after_s == 5.0


def test_a_closed_breaker_lets_everything_through_and_remembers_nothing_of_it() -> None:
    assert decide(POLICY, asked(0.0), BreakerFacts()) is ADMITTED
    assert begun(CLOSED, 1.0) is CLOSED


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"error_ratio": 0.0}, "error_ratio is 0.0: give more than 0, up to 1"),
        ({"slow_ratio": math.nan}, "slow_ratio is nan: give more than 0, up to 1"),
        ({"slow_ms": -1.0}, "slow_ms is -1.0"),
        ({"requests": 0}, "requests is 0: give 1..1000000"),
        ({"most_open_s": 1.0}, "most_open_s is 1.0: give 5.0..86400.0"),
        ({"statuses": (404,)}, "statuses has 404: give 500..599"),
    ],
)
def test_what_cannot_be_carried_out_says_which_limit(values: dict[str, object], words: str) -> None:
    with pytest.raises(Invalid, match=f"circuit_breaker: {words}"):
        check_circuit_breaker(replace(POLICY, **values))  # type: ignore[arg-type]


def test_defaults_can_be_carried_out() -> None:
    check_circuit_breaker(CircuitBreakerPolicy())


def test_a_probe_that_never_reached_the_upstream_leaves_its_place_to_the_next() -> None:
    probed = begun(after(*[BAD] * 10), 105.0)
    again = unused(POLICY, probed)
    assert decide(POLICY, asked(105.0), BreakerFacts(breaker=again)) is ADMITTED
    assert rest_s(POLICY, again) == 5.0
    assert unused(POLICY, CLOSED) is CLOSED
