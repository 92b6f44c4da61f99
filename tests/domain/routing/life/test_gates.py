"""A gray release steps when its time is over and its gates are open, and holds when in doubt."""

import math

import pytest

from controlplane.domain.routing.life.gates import Reading, Seen, Word, verdict
from controlplane.domain.routing.life.release import Gate, Gray, GrayBy, GrayStep

GOOD = Reading(datacenter="a", age_s=5.0, requests_s=10.0, error_ratio=0.001, response_time_ms=20.0)
BAD = Reading(datacenter="b", age_s=5.0, requests_s=10.0, error_ratio=0.03, response_time_ms=90.0)


USUAL = Gate()


def gray(gate: Gate = USUAL, hold_s: float | None = 60.0) -> Gray:
    return Gray(by=GrayBy.USER, steps=(GrayStep(share=500, hold_s=hold_s),), gate=gate)


def seen(*readings: Reading) -> Seen:
    return Seen(readings=readings, fresh_s=30.0)


def word(gate: Gate, *readings: Reading, age_s: float = 1_000.0) -> tuple[Word, str]:
    found = verdict(gray(gate), 0, age_s, seen(*readings))
    return found.word, found.reason


def test_a_step_lasts_its_time_or_until_an_operator_comes() -> None:
    assert verdict(gray(), 0, 59.9, seen(GOOD)).word is Word.WAIT
    assert verdict(gray(), 0, 60.0, seen(GOOD)).word is Word.STEP
    assert verdict(gray(hold_s=None), 0, 1e9, seen(GOOD)).word is Word.WAIT


def test_a_route_without_a_service_goes_by_time_alone() -> None:
    assert verdict(gray(), 0, 60.0, Seen()).word is Word.STEP


@pytest.mark.parametrize(
    ("readings", "reason"),
    [
        ((), "no data center bears traffic"),
        ((GOOD, Reading(datacenter="b")), "data center b has sent no metrics"),
        ((Reading(datacenter="a", age_s=31.0),), "data center a has sent no metrics"),
        (
            (Reading(datacenter="a", age_s=1.0, requests_s=1.0, response_time_ms=1.0),),
            "data center a does not report its error ratio",
        ),
    ],
)
def test_missing_metrics_wait_for_a_while_and_then_hold(
    readings: tuple[Reading, ...], reason: str
) -> None:
    for age_s, expected in ((60.0, Word.WAIT), (89.9, Word.WAIT), (90.0, Word.HOLD)):
        found, why = word(Gate(), *readings, age_s=age_s)
        assert found is expected
        assert reason in why


def test_a_gate_that_asks_nothing_needs_no_metrics() -> None:
    assert word(Gate(most_error_ratio=None))[0] is Word.STEP


def test_limits_hold_for_the_mean_over_requests() -> None:
    assert word(Gate(most_error_ratio=0.0155), GOOD, BAD)[0] is Word.STEP
    assert word(Gate(most_error_ratio=0.0154), GOOD, BAD) == (
        Word.HOLD,
        "the error ratio is 0.0155, the gate allows 0.0154",
    )
    slow = Gate(most_error_ratio=None, most_response_time_ms=50.0)
    assert "mean response time in ms is 55" in word(slow, GOOD, BAD)[1]


def test_without_request_rates_the_worst_data_center_counts() -> None:
    unknown = Reading(datacenter="b", age_s=5.0, error_ratio=0.03, response_time_ms=1.0)
    assert math.isnan(unknown.requests_s)
    assert word(Gate(most_error_ratio=0.02), GOOD, unknown)[0] is Word.HOLD
    assert word(Gate(most_error_ratio=0.03), GOOD, unknown)[0] is Word.STEP
