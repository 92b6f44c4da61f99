"""The live ledger: one forecast a cycle, judged when the cycle is over."""

import math
from dataclasses import replace

import pytest

from controlplane.domain.guardrails.ledger import (
    HIGHEST_LEVEL,
    Forecast,
    Ledger,
    Pair,
    cycle_ms,
    foretold,
    level,
    mean_error,
    mean_persistence_error,
    settled,
)
from controlplane.domain.strategies.rules import failed
from controlplane.domain.strategies.situation import CenterCurve, Note, Proposal, Situation
from tests.domain.guardrails.drafting import valley
from tests.domain.two_centers import CYCLE_S, NOW_S, Load, changed, history, law_model, situation

HALF = (0.5, 0.5)
USUAL = Load(total_rps=60.0)
REALISED_MS = 48.077191


def facts(load: Load = USUAL, **values: object) -> Situation:
    return replace(situation(load=load, model=law_model()), **values)  # type: ignore[arg-type]


def opened(age_cycles: float = 1.0, predicted_ms: float | None = 50.0) -> Ledger:
    forecast = Forecast(
        time_s=NOW_S - age_cycles * CYCLE_S,
        shares=HALF,
        predicted_ms=predicted_ms,
        persisted_ms=45.0,
        span=0.3,
    )
    return Ledger(model="m1", pending=forecast)


def pair(error: float | None, persistence_error: float = 0.0) -> Pair:
    return Pair(
        time_s=NOW_S,
        predicted_ms=None if error is None else 100.0 * (1 + error),
        realised_ms=100.0,
        persisted_ms=100.0 * (1 + persistence_error),
        span=0.3,
    )


def test_a_forecast_becomes_a_pair_when_its_cycle_is_over() -> None:
    ledger = settled(opened(), facts(), 12)
    assert ledger.pending is None
    (found,) = ledger.pairs
    assert (found.time_s, found.predicted_ms, found.persisted_ms) == (NOW_S, 50.0, 45.0)
    assert found.realised_ms == pytest.approx(REALISED_MS)
    assert found.error == pytest.approx(50.0 / REALISED_MS - 1, rel=1e-4)
    assert found.persistence_error == pytest.approx(45.0 / REALISED_MS - 1, rel=1e-4)
    assert found.use == pytest.approx(0.6)
    assert found.realised_ms == 48.0772, "six digits"


def test_the_newest_pairs_stay() -> None:
    full = replace(opened(), pairs=tuple(pair(number / 100) for number in range(12)))
    ledger = settled(full, facts(), 12)
    assert len(ledger.pairs) == 12
    assert ledger.pairs[:-1] == full.pairs[1:]
    assert ledger.judged == full.judged + 1


@pytest.mark.parametrize(("age", "stays"), [(0.2, True), (1.6, False), (-0.1, False)])
def test_too_early_waits_too_late_is_void(age: float, stays: bool) -> None:
    ledger = settled(opened(age), facts(), 12)
    assert ledger.pairs == ()
    assert (ledger.pending is not None) is stays


def test_shares_that_others_moved_void_the_forecast() -> None:
    for shares in ((0.52, 0.48), (0.4, 0.3, 0.3)):
        ledger = settled(opened(), facts(applied=shares), 12)
        assert (ledger.pending, ledger.pairs) == (None, ())


def test_without_load_or_with_a_full_center_nothing_is_judged() -> None:
    for load in (Load(total_rps=0.0), Load(total_rps=110.0)):
        ledger = settled(opened(), facts(load), 12)
        assert (ledger.pending, ledger.pairs) == (None, ())


def test_a_miss_counts_in_a_full_center_too() -> None:
    ledger = settled(opened(predicted_ms=None), facts(Load(total_rps=110.0)), 12)
    assert [found.error for found in ledger.pairs] == [None]


def test_another_model_begins_anew() -> None:
    full = replace(opened(), pairs=(pair(0.1),))
    assert settled(full, facts(model=law_model(digest="m2")), 12) == Ledger(model="m2")
    assert settled(full, facts(model=None), 12) == Ledger()


def test_what_is_foretold_is_the_curve_at_the_shares_that_go_out() -> None:
    ledger = foretold(Ledger(model="m1"), facts(), valley(0.55), (0.55, 0.45))
    assert ledger.pending is not None
    assert ledger.pending.predicted_ms == pytest.approx(50.0)
    assert ledger.pending.persisted_ms == pytest.approx(REALISED_MS)
    assert ledger.pending.shares == (0.55, 0.45)
    assert ledger.pending.span == pytest.approx(35 / 85)


def test_an_open_forecast_stays_while_its_shares_do() -> None:
    ledger = opened(0.2)
    assert foretold(ledger, facts(), valley(0.55), HALF) == ledger
    moved = foretold(ledger, facts(), valley(0.55), (0.55, 0.45)).pending
    assert moved is not None
    assert moved.time_s == NOW_S


def test_a_model_that_failed_leaves_a_forecast_without_a_number() -> None:
    proposal = failed(facts(), "hybrid", Note(code="model_failed", message="it raised"))
    pending = foretold(Ledger(model="m1"), facts(), proposal, HALF).pending
    assert pending is not None
    assert pending.predicted_ms is None


@pytest.mark.parametrize(
    ("ledger", "proposal", "load"),
    [
        (Ledger(), valley(0.5), USUAL),
        (Ledger(model="m1"), Proposal(strategy="rule", shares=HALF), USUAL),
        (Ledger(model="m1"), valley(0.5), Load(total_rps=0.0)),
    ],
    ids=["no model", "a rule", "no load"],
)
def test_no_forecast(ledger: Ledger, proposal: Proposal, load: Load) -> None:
    assert foretold(ledger, facts(load), proposal, HALF).pending is None


def test_declared_machines_are_no_forecast_of_the_model() -> None:
    curves = tuple(
        CenterCurve(datacenter=name, response_time_ms=(50.0,) * 99 + (math.nan, 60.0))
        for name in ("alpha", "beta")
    )
    proposal = Proposal(strategy="greybox", shares=HALF, center_curves=curves)
    pending = foretold(Ledger(model="m1"), facts(), proposal, HALF).pending
    assert pending is not None
    assert (pending.predicted_ms, pending.span) == (50.0, pytest.approx(1 / 6, rel=1e-5))
    for said in (proposal, valley(0.5)):
        stand_in = replace(said, strategy="observed_laws")
        assert foretold(Ledger(model="m1"), facts(), stand_in, HALF).pending is None


def test_the_level_is_how_much_slower_everything_was() -> None:
    slower = tuple(replace(pair(-0.1), time_s=NOW_S - 300.0 * back) for back in range(6))
    assert level(slower, NOW_S) == pytest.approx(1 / 0.9)
    assert level(slower, NOW_S - 900.0) == pytest.approx(1 / 0.9)
    assert level(slower, NOW_S - 1200.0) == 1.0, "too few before then"
    assert level(tuple(pair(0.2) for _ in range(12)), NOW_S) == 1.0, "faster is no level"
    assert level(tuple(pair(-0.5) for _ in range(12)), NOW_S) == HIGHEST_LEVEL
    assert level((pair(None), pair(None), pair(None), pair(-1.0)), NOW_S) == 1.0


def test_a_response_time_of_0_is_no_measure() -> None:
    window = history(USUAL, HALF)
    for name in ("alpha", "beta"):
        window = changed(window, name, response_time_ms=0.0)
    assert cycle_ms(facts(window=window)) is None


def test_a_miss_counts_as_the_worst_at_least_as_100_percent() -> None:
    assert mean_error(()) == mean_persistence_error(()) == 0.0
    assert mean_error((pair(0.1), pair(-0.3))) == pytest.approx(0.2)
    assert mean_error((pair(0.5), pair(None))) == pytest.approx(0.75)
    assert mean_error((pair(2.0), pair(None))) == pytest.approx(2.0)
    assert mean_persistence_error((pair(0, 0.1), pair(0, -0.1))) == pytest.approx(0.1)
