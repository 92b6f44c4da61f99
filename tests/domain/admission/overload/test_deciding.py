"""What becomes of a request to an upstream that may be overloaded."""

from dataclasses import replace
from math import inf

import pytest

from controlplane.domain.admission.asking import ADMITTED, Asked, Verdict
from controlplane.domain.admission.overload.deciding import (
    OverloadFacts,
    Protection,
    Turn,
    alive,
    decide,
)
from controlplane.domain.admission.overload.policy import OverloadPolicy, Read
from controlplane.domain.routing.matching.request import Request

POLICY = OverloadPolicy(
    reads=(Read(path="/seats"),), threshold=100, lifetime_s=2.0, stale_s=10.0, carried_s=30.0
)
READ = Asked(request=Request(path="/seats"), now_s=0.0)
PROTECTED = OverloadFacts(count=101, protected_for_s=50.0)


def verdict(facts: OverloadFacts, policy: OverloadPolicy = POLICY) -> tuple[Verdict, str]:
    decision = decide(policy, READ, facts)
    return decision.verdict, decision.reason


def test_below_the_threshold_and_beside_the_reads_everything_goes_on() -> None:
    assert decide(POLICY, READ, OverloadFacts(count=100, age_s=0.1)) == ADMITTED
    other = Asked(request=Request(path="/orders", method="POST"), now_s=0.0)
    assert decide(POLICY, other, PROTECTED) == ADMITTED


@pytest.mark.parametrize(
    ("age_s", "turn", "expected"),
    [
        (1.9, Turn.UNASKED, (Verdict.ANSWER, "cached")),
        (1.9, Turn.FAILED, (Verdict.ANSWER, "cached")),
        (2.0, Turn.UNASKED, (Verdict.WAIT, "token_wanted")),
        (inf, Turn.HELD, (Verdict.ADMIT, "token")),
        (inf, Turn.WAITING, (Verdict.WAIT, "token_taken")),
        (11.9, Turn.FAILED, (Verdict.ANSWER, "stale")),
        (11.9, Turn.LATE, (Verdict.ANSWER, "stale")),
        (11.9, Turn.FULL, (Verdict.ANSWER, "stale")),
        (12.0, Turn.FAILED, (Verdict.REFUSE, "upstream_failed")),
        (11.9, Turn.APART, (Verdict.ANSWER, "stale")),
        (inf, Turn.APART, (Verdict.REFUSE, "shared_state_away")),
        (inf, Turn.LATE, (Verdict.REFUSE, "waited_too_long")),
        (inf, Turn.FULL, (Verdict.REFUSE, "too_many_waiting")),
    ],
)
def test_the_table_of_the_protection(
    age_s: float, turn: Turn, expected: tuple[Verdict, str]
) -> None:
    assert verdict(replace(PROTECTED, age_s=age_s, turn=turn)) == expected


def test_a_refusal_says_what_was_counted_and_when_to_come_again() -> None:
    refused = decide(POLICY, READ, replace(PROTECTED, turn=Turn.FAILED))
    assert (refused.status, refused.retry_after_s) == (503, 2.0)
    assert refused.details == {"count": 101, "threshold": 100}


def test_without_stale_answers_a_failure_is_a_refusal() -> None:
    facts = replace(PROTECTED, age_s=2.1, turn=Turn.FAILED)
    assert verdict(facts, replace(POLICY, stale_s=0.0)) == (Verdict.REFUSE, "upstream_failed")


def test_lifetimes_begin_to_count_when_the_protection_begins() -> None:
    from_before = OverloadFacts(count=101, protected_for_s=1.9, age_s=30.0)
    assert alive(POLICY, from_before)
    assert not alive(POLICY, replace(from_before, protected_for_s=2.0))
    assert not alive(POLICY, replace(from_before, age_s=30.1))


def test_the_protection_begins_above_the_threshold_and_ends_at_it() -> None:
    off = Protection()
    assert off.after(100, 100, 5.0) is off
    on = off.after(101, 100, 5.0)
    assert on == Protection(5.0)
    assert on.after(500, 100, 9.0) is on
    assert on.after(100, 100, 9.0) == off
