"""The audit finds each kind of broken promise, and none where there is none."""

import math

import pytest

from controlplane.domain.guardrails.state import GuardState, Outcome, Verdict
from tests.training.backtest.playing import lived
from training.backtest.audit import Audit
from training.backtest.lane import Decided

CALM, BUSY = 0.5, 0.9
HALF = (0.5, 0.5)


def decided(*shares: float, outcome: Outcome = Outcome.MOVED) -> Decided:
    verdict = Verdict(outcome=outcome, shares=shares, state=GuardState())
    return Decided(shares=shares, strategy="hybrid", verdict=verdict)


def found(before: tuple[float, ...], after: tuple[float, ...], busiest: float) -> list[str]:
    audit = Audit()
    audit.follow(before, decided(*after), 300.0, busiest)
    return audit.violations


@pytest.mark.parametrize(
    ("before", "after", "busiest", "words"),
    [
        ((0.22, 0.78), (0.19, 0.81), CALM, "share 0.1900 is outside 0.2..0.8"),
        ((0.1, 0.1, 0.8), (0.04, 0.16, 0.8), BUSY, "share 0.0400 is outside 0.05..0.8"),
        (HALF, (0.56, 0.44), CALM, "a step of 0.0600, at most 0.05"),
        (HALF, (0.66, 0.34), BUSY, "a step of 0.1600, at most 0.15"),
        (HALF, (0.52, 0.47), CALM, "is no split"),
        (HALF, (math.nan, 0.5), CALM, "is no split"),
    ],
)
def test_what_is_broken_is_said(
    before: tuple[float, ...], after: tuple[float, ...], busiest: float, words: str
) -> None:
    violations = found(before, after, busiest)
    assert violations
    assert violations[0].startswith("300: ")
    assert any(words in violation for violation in violations)


@pytest.mark.parametrize(
    ("before", "after", "busiest"),
    [
        (HALF, (0.55, 0.45), CALM),
        (HALF, (0.65, 0.35), BUSY),
        ((0.24, 0.76), (0.2, 0.8), CALM),
        ((0.25, 0.25, 0.25, 0.25), (0.3, 0.2, 0.25, 0.25), CALM),
        ((0.1, 0.45, 0.45), (0.05, 0.475, 0.475), CALM),
    ],
)
def test_what_is_kept_is_not(
    before: tuple[float, ...], after: tuple[float, ...], busiest: float
) -> None:
    assert found(before, after, busiest) == []


def wandered(outcome: Outcome, moves: int, minutes: int, busiest: float) -> list[str]:
    """Violations of so many moves to and fro, so far apart."""
    audit, before = Audit(), HALF
    for move in range(moves):
        after = (0.51, 0.49) if before == HALF else HALF
        audit.follow(before, decided(*after, outcome=outcome), 60.0 * minutes * move, busiest)
        before = after
    return audit.violations


@pytest.mark.parametrize("outcome", [Outcome.MOVED, Outcome.REVERTED])
def test_a_seventh_move_within_an_hour_is_too_many(outcome: Outcome) -> None:
    assert wandered(outcome, 6, 5, CALM) == []
    (violation,) = wandered(outcome, 7, 5, CALM)
    assert "7 moves within an hour" in violation


def test_an_hour_later_moves_are_forgotten() -> None:
    assert wandered(Outcome.MOVED, 30, 10, CALM) == []


def test_a_hot_center_may_move_as_often_as_it_must() -> None:
    assert wandered(Outcome.MOVED, 12, 5, BUSY) == []


@pytest.mark.parametrize("outcome", [Outcome.RAMPED, Outcome.DITHERED, Outcome.HELD])
def test_the_way_back_and_chance_are_no_moves(outcome: Outcome) -> None:
    assert wandered(outcome, 12, 5, CALM) == []


def test_what_stays_is_no_move() -> None:
    audit = Audit()
    for cycle in range(12):
        audit.follow(HALF, decided(*HALF), 300.0 * cycle, CALM)
    assert audit.violations == []


def test_without_an_envelope_nothing_was_promised() -> None:
    audit = Audit()
    audit.follow(HALF, Decided(shares=(0.9, 0.1), strategy="hybrid", verdict=None), 0.0, CALM)
    assert audit.violations == []


def test_a_day_behind_the_envelope_has_none() -> None:
    assert lived(("cpu_equalizer", "threshold"), 1440).violations == ((), ())
