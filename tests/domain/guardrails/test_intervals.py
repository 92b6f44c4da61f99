"""The interval of the coming cycle: for which shares, how wide, and when it is judged."""

import math
from dataclasses import replace

import pytest

from controlplane.domain.guardrails.intervals import announced, compared
from controlplane.domain.guardrails.ledger import cycle_ms
from controlplane.domain.strategies.situation import Situation
from controlplane.domain.uncertainty import (
    NORMAL_90,
    UNKNOWN_SPREAD,
    Calibration,
    Interval,
)
from tests.domain.guardrails.drafting import rule, run, valley
from tests.domain.two_centers import CYCLE_S, NOW_S, Load, history, law_model, situation

HALF = (0.5, 0.5)
MODEL = law_model(residual_spread=0.03)


def facts(**values: object) -> Situation:
    return replace(situation(load=Load(total_rps=60.0), model=MODEL), **values)  # type: ignore[arg-type]


def said(calibration: Calibration) -> Interval:
    assert calibration.pending is not None
    return calibration.pending


def opened(age_cycles: float = 1.0) -> Calibration:
    return announced(Calibration(), facts(now_s=NOW_S - age_cycles * CYCLE_S), valley(0.5), HALF)


def test_it_is_made_for_the_shares_that_go_out() -> None:
    one = said(announced(Calibration(), facts(), valley(0.5), (0.6, 0.4)))
    assert (one.time_s, one.shares, one.predicted_ms) == (NOW_S, (0.6, 0.4), pytest.approx(60.0))
    assert (one.spread, one.quantile) == (0.03, NORMAL_90)


def test_members_that_disagree_widen_it_where_they_do() -> None:
    spreads = tuple(0.04 if i >= 40 else 0.0 for i in range(61))
    proposal = replace(valley(0.5), spreads=spreads)
    assert said(announced(Calibration(), facts(), proposal, HALF)).spread == 0.03
    assert said(announced(Calibration(), facts(), proposal, (0.7, 0.3))).spread == 0.05


@pytest.mark.parametrize("spread", [0.0, math.nan, math.inf])
def test_a_model_that_does_not_know_its_error_counts_as_an_unsure_one(spread: float) -> None:
    unsure = facts(model=law_model(residual_spread=spread))
    assert said(announced(Calibration(), unsure, valley(0.5), HALF)).spread == UNKNOWN_SPREAD


def test_an_open_one_stays_while_its_shares_do() -> None:
    first = opened(0.2)
    assert announced(first, facts(), valley(0.4), HALF) == first
    assert said(announced(first, facts(), valley(0.4), (0.45, 0.55))).time_s == NOW_S


def test_there_is_none_without_a_forecast() -> None:
    assert announced(opened(), facts(), rule(0.6, 0.4), (0.6, 0.4)).pending is None
    nothing = replace(
        valley(0.5, depth=0.0),
        curve=tuple(replace(point, response_time_ms=0.0) for point in valley(0.5).curve),
    )
    assert announced(opened(), facts(), nothing, (0.6, 0.4)).pending is None


def test_it_is_judged_by_what_the_cycle_brought() -> None:
    after = compared(opened(), facts())
    realised = cycle_ms(facts())
    assert realised is not None
    assert (after.judged, after.missed, after.pending) == (1, 0, None)
    assert after.scores == (round(100 * abs(math.log(realised / 50.0)) / 0.03),)


def test_a_full_center_counts_too() -> None:
    full = Load(total_rps=200.0)
    after = compared(opened(), facts(window=history(full, HALF)))
    assert (after.judged, after.missed) == (1, 1)


@pytest.mark.parametrize("age", [0.0, 0.3])
def test_a_poke_in_between_judges_nothing(age: float) -> None:
    assert compared(opened(age), facts()) == opened(age)


@pytest.mark.parametrize(
    ("age", "values"),
    [
        (2.0, {}),
        (-0.1, {}),
        (1.0, {"applied": (0.6, 0.4)}),
        (1.0, {"applied": (0.6, 0.2, 0.2)}),
        (1.0, {"window": history(Load(total_rps=0.0), HALF)}),
    ],
)
def test_what_was_not_realised_is_void(age: float, values: dict[str, object]) -> None:
    after = compared(opened(age), facts(**values))
    assert (after.judged, after.pending) == (0, None)


def test_the_envelope_keeps_it() -> None:
    first = run(valley(0.5), facts())
    assert said(first.state.calibration).shares == first.shares
    later = facts(now_s=NOW_S + CYCLE_S, window=history(Load(), HALF, now_s=NOW_S + CYCLE_S))
    assert run(valley(0.5), later, first.state).state.calibration.judged == 1
