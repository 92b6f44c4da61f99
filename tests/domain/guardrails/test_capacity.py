from dataclasses import replace

import pytest

from controlplane.domain.guardrails.capacity import level
from controlplane.domain.guardrails.state import Outcome
from controlplane.domain.strategies.projection import UseByShare, use_by_share
from controlplane.domain.strategies.situation import LearnedModel, Proposal
from tests.domain.guardrails.drafting import LIMITS, rule, run
from tests.domain.two_centers import LAWS, Load, changed, codes, law_model, situation


def test_the_veto_stops_before_a_center_is_full() -> None:
    facts = situation(load=Load(total_rps=85.0), applied=(0.60, 0.40))
    verdict = run(rule(0.45, 0.55), facts)
    # beta: 85 rps on 50 rps; the veto lets it reach 0.85.
    assert verdict.shares[1] == pytest.approx(0.85 * 50 / 85, abs=0.051)
    assert 85 * verdict.shares[1] / 50 <= 0.85 + 1e-9
    tight = situation(load=Load(total_rps=105.0), applied=(0.60, 0.40))
    verdict = run(rule(0.55, 0.45), tight)
    assert codes(verdict.notes) == ["capacity_veto"]
    # The best split has 105 / 130; 0.03 above is the limit.
    assert 105 * verdict.shares[1] / 50 == pytest.approx(max(0.85, 105 / 130 + 0.03))


def test_an_overloaded_split_steps_towards_the_least_loaded_one() -> None:
    facts = situation(load=Load(total_rps=95.0), applied=(0.50, 0.50))
    verdict = run(rule(0.40, 0.60), facts)
    assert 95 * verdict.shares[1] / 50 == pytest.approx(0.85)
    assert codes(verdict.notes) == ["capacity_veto"]
    worse = situation(load=Load(total_rps=95.0), applied=(0.25, 0.75))
    verdict = run(rule(0.20, 0.80), worse)
    assert verdict.shares == pytest.approx((0.40, 0.60))


def test_a_model_that_holds_cannot_keep_a_center_overloaded() -> None:
    facts = situation(load=Load(total_rps=95.0), applied=(0.45, 0.55))
    verdict = run(rule(0.45, 0.55), facts)
    assert verdict.outcome is Outcome.MOVED
    assert verdict.shares == pytest.approx((0.60, 0.40))
    assert codes(verdict.notes) == ["capacity_relief"]
    assert verdict.state.expected_ms == 0


def test_a_declared_ratio_is_not_relieved() -> None:
    facts = situation(load=Load(total_rps=95.0), applied=(0.45, 0.55))
    verdict = run(Proposal(strategy="static", shares=(0.45, 0.55)), facts)
    assert verdict.outcome is Outcome.HELD


def test_when_all_are_full_the_best_split_holds() -> None:
    best = (80 / 130, 50 / 130)
    facts = situation(load=Load(total_rps=128.0), applied=best)
    verdict = run(rule(*best), facts)
    assert (verdict.outcome, verdict.shares) == (Outcome.HELD, best)


def test_saturation_of_the_law_counts() -> None:
    laws = law_model().laws
    model = law_model(laws=(laws[0], replace(laws[1], saturation=0.5)))
    verdict = run(rule(0.45, 0.55), situation(load=Load(total_rps=50.0), model=model))
    assert "capacity_veto" in codes(verdict.notes)


def test_without_cpu_the_declared_capacity_counts() -> None:
    facts = situation(load=Load(total_rps=85.0), applied=(0.5, 0.5))
    facts = replace(facts, window=changed(facts.window, "beta", cpu_avg=None))
    assert "capacity_veto" in codes(run(rule(0.45, 0.55), facts).notes)


def test_without_cpu_and_rate_nothing_moves() -> None:
    facts = situation()
    window = changed(facts.window, "beta", cpu_avg=None, request_rate_rps=None)
    verdict = run(rule(0.53, 0.47), replace(facts, window=window))
    assert codes(verdict.notes) == ["utilization_unknown"]
    assert verdict.outcome is Outcome.HELD


def test_without_traffic_a_move_passes() -> None:
    facts = situation(load=Load(total_rps=0.0))
    assert run(rule(0.53, 0.47), facts).shares == (0.53, 0.47)


@pytest.mark.parametrize(
    "model",
    [
        law_model(laws=tuple(replace(law, full_cpu=1e9) for law in LAWS)),
        law_model(laws=tuple(replace(law, idle_cpu=0.99) for law in LAWS)),
        # The present moment is in part 164 of the day.
        law_model(profile=(1.0,) * 165 + (1e-6,) * 123),
    ],
    ids=["a CPU range without end", "idle at 99 %", "a profile that foresees no load"],
)
def test_a_bad_model_cannot_make_a_full_center_look_idle(model: LearnedModel) -> None:
    facts = situation(load=Load(total_rps=95.0), applied=(0.45, 0.55), model=model)
    verdict = run(rule(0.40, 0.60), facts)
    assert codes(verdict.notes) == ["capacity_veto"]
    assert 95 * verdict.shares[1] / 50 <= 0.85 + 1e-9


def test_bounds_that_cannot_hold_the_whole_load_share_it_by_what_they_allow() -> None:
    facts = situation(load=Load(total_rps=60.0))
    narrow = replace(LIMITS, low=0.1, high=0.4)
    assert level(use_by_share(facts), facts, narrow) == pytest.approx((0.5, 0.5))


def test_without_load_no_split_is_more_level_than_that_in_force() -> None:
    idle = UseByShare(per_share=(0.0, 0.0), standing=(0.0, 0.0))
    facts = situation(applied=(0.7, 0.3))
    assert level(idle, facts, LIMITS) == (0.7, 0.3)
