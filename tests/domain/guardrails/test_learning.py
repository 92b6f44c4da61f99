from dataclasses import replace

import pytest

from controlplane.domain.guardrails.ledger import Ledger, Pair
from controlplane.domain.guardrails.state import GuardState, Outcome, Verdict
from controlplane.domain.strategies.situation import Proposal, Shares, Situation
from tests.domain.guardrails.drafting import LIMITS, rule, run, valley
from tests.domain.two_centers import CYCLE_S, NOW_S, Load, codes, history, law_model, situation


@pytest.mark.parametrize(
    "shares",
    [(float("nan"), 0.5), (0.5, float("inf")), (1.5, -0.5), (0.2, 0.2), (0.3, 0.3, 0.4), ()],
)
def test_a_proposal_that_is_no_split_holds(shares: Shares) -> None:
    verdict = run(rule(*shares))
    assert (verdict.outcome, verdict.shares) == (Outcome.HELD, (0.5, 0.5))
    assert codes(verdict.notes) == ["proposal_invalid"]


def test_a_network_stays_where_it_was_trained() -> None:
    model = law_model(ratio_low=0.48, ratio_high=0.51)
    facts = situation(load=Load(total_rps=60.0), model=model)
    verdict = run(valley(0.60, depth=1000.0, learned=True), facts)
    assert verdict.shares == pytest.approx((0.53, 0.47))
    assert codes(verdict.notes) == ["outside_support"]
    inside = run(valley(0.52, depth=1000.0, learned=True), facts)
    assert inside.shares == pytest.approx((0.52, 0.48))
    law = run(valley(0.55, depth=1000.0), facts)
    assert law.shares == pytest.approx((0.55, 0.45))


@pytest.mark.parametrize("learned", [False, True])
# 0.05 of a slope of 16 ms: 0.8 ms of 50.8 ms, 1.6 %; of 24 ms 2.3 %.
@pytest.mark.parametrize(("depth", "moves"), [(16.0, False), (24.0, True)])
def test_a_move_must_be_worth_it(learned: bool, depth: float, moves: bool) -> None:
    verdict = run(valley(0.55, depth=depth, learned=learned))
    assert (verdict.outcome is Outcome.MOVED) is moves
    assert codes(verdict.notes) == ([] if moves else ["gain_too_small"])


@pytest.mark.parametrize(("learned", "moves"), [(False, True), (True, False)])
def test_a_network_has_a_least_gain_of_its_own(learned: bool, moves: bool) -> None:
    verdict = run(valley(0.55, depth=16.0, learned=learned), limits=replace(LIMITS, gain=0.01))
    assert (verdict.outcome is Outcome.MOVED) is moves


def test_a_curve_without_the_shares_in_force_does_not_keep_them_out_of_bounds() -> None:
    facts = situation(load=Load(total_rps=60.0), applied=(0.84, 0.16))
    verdict = run(valley(0.60), facts)
    assert verdict.shares == pytest.approx((0.79, 0.21))
    assert codes(verdict.notes) == ["step_limited", "gain_unknown"]


def test_a_move_to_where_nothing_was_predicted_holds() -> None:
    whole = valley(0.55, depth=1000.0)
    partly = replace(whole, curve=tuple(p for p in whole.curve if p.ratio < 0.53))
    assert codes(run(partly).notes) == ["gain_too_small"]


def test_a_hot_center_is_relieved_without_a_gain() -> None:
    facts = situation(load=Load(total_rps=92.0), applied=(0.50, 0.50))
    flat = valley(0.62, depth=0.0)
    verdict = run(flat, facts)
    assert verdict.outcome is Outcome.MOVED
    assert verdict.shares == pytest.approx((0.62, 0.38))


def after_move(total_rps: float = 60.0) -> tuple[Situation, GuardState]:
    """One cycle after a move from 0.5 to 0.55 that promised 50 ms."""
    facts = situation(applied=(0.55, 0.45), load=Load(total_rps=total_rps))
    state = GuardState(
        changes_s=(NOW_S - CYCLE_S,),
        previous=(0.5, 0.5),
        moved_to=(0.55, 0.45),
        expected_ms=45.0,
    )
    return facts, state


def cycles(facts: Situation, state: GuardState, proposal: Proposal, count: int) -> list[Verdict]:
    """Judge once per cycle with the same metrics coming in."""
    verdicts = []
    for number in range(count):
        now_s = NOW_S + number * CYCLE_S
        load = Load(total_rps=60.0)
        window = history(load, facts.applied, now_s=now_s)
        facts = replace(facts, now_s=now_s, window=window)
        verdicts.append(run(proposal, facts, state))
        state = verdicts[-1].state
        facts = replace(facts, applied=verdicts[-1].shares)
    return verdicts


def test_a_broken_promise_is_undone_after_three_cycles() -> None:
    facts, state = after_move()
    verdicts = cycles(facts, state, rule(0.55, 0.45), 4)
    assert [v.outcome for v in verdicts] == [
        Outcome.HELD,
        Outcome.HELD,
        Outcome.REVERTED,
        Outcome.HELD,
    ]
    assert [v.state.cycles_over for v in verdicts] == [1, 2, 0, 0]
    assert verdicts[2].shares == (0.5, 0.5)
    assert codes(verdicts[2].notes) == ["reverted"]
    reverted_s = NOW_S + 2 * CYCLE_S
    assert verdicts[2].state.reverts_s == (reverted_s,)
    assert verdicts[2].state.hold_until_s == reverted_s + 1800
    assert verdicts[2].state.previous == ()


def test_a_wide_move_is_undone_by_a_calm_step() -> None:
    facts, state = after_move()
    far = replace(state, previous=(0.43, 0.57), cycles_over=2)
    verdict = run(rule(0.55, 0.45), facts, far)
    assert verdict.outcome is Outcome.REVERTED
    assert verdict.shares == pytest.approx((0.50, 0.50))
    assert codes(verdict.notes) == ["reverted", "step_limited"]


def test_undoing_waits_when_the_moves_of_an_hour_are_made() -> None:
    facts, state = after_move()
    spent = tuple(NOW_S - CYCLE_S * ago for ago in (11.5, 9, 7, 5, 3, 1))
    waiting = replace(state, changes_s=spent, cycles_over=2)
    verdict = run(rule(0.55, 0.45), facts, waiting)
    assert verdict.outcome is Outcome.HELD
    assert codes(verdict.notes) == ["reverted", "change_budget"]
    # A cycle later the first of the six is an hour ago.
    verdicts = cycles(facts, waiting, rule(0.55, 0.45), 2)
    assert [v.outcome for v in verdicts] == [Outcome.HELD, Outcome.REVERTED]


def test_a_promise_is_about_the_choice_and_not_about_how_slow_the_site_has_become() -> None:
    facts, state = after_move()
    slower = Pair(
        time_s=NOW_S - CYCLE_S, predicted_ms=40.0, realised_ms=46.0, persisted_ms=46.0, span=0.3
    )
    known = replace(state, ledger=Ledger(pairs=(slower,) * 3))
    assert cycles(facts, state, rule(0.55, 0.45), 1)[0].state.cycles_over == 1
    verdicts = cycles(facts, known, rule(0.55, 0.45), 1)
    assert verdicts[0].state.cycles_over == 0


def test_after_a_revert_nothing_moves_until_the_pause_ends() -> None:
    facts, state = after_move()
    verdicts = cycles(facts, state, rule(0.55, 0.45), 10)
    assert [codes(v.notes) for v in verdicts[3:8]] == [["dwell"], *[["cooling_down"]] * 4]
    assert verdicts[8].outcome is Outcome.MOVED


def test_a_kept_promise_counts_nothing() -> None:
    facts, state = after_move()
    verdicts = cycles(facts, replace(state, expected_ms=100.0, cycles_over=2), rule(0.55, 0.45), 3)
    assert {v.outcome for v in verdicts} == {Outcome.HELD}
    assert verdicts[-1].state.cycles_over == 0


def test_a_higher_load_that_the_model_explains_breaks_no_promise() -> None:
    facts, state = after_move()
    verdicts = cycles(facts, state, valley(0.55), 4)
    assert Outcome.REVERTED not in {v.outcome for v in verdicts}


def test_a_burst_of_pokes_is_one_cycle() -> None:
    facts, state = after_move()
    for _ in range(5):
        verdict = run(rule(0.55, 0.45), facts, state)
        state = verdict.state
    assert verdict.outcome is Outcome.HELD
    assert state.cycles_over == 1


@pytest.mark.parametrize(
    "values",
    [
        {"moved_to": (0.6, 0.4)},
        {"changes_s": (NOW_S - 1801,)},
        {"changes_s": ()},
        {"previous": ()},
        {"expected_ms": 0.0},
    ],
    ids=["moved by others", "long ago", "forgotten", "nothing before", "no promise"],
)
def test_a_void_promise_is_not_watched(values: dict[str, object]) -> None:
    facts, state = after_move()
    state = replace(state, cycles_over=2, **values)  # type: ignore[arg-type]
    verdict = run(rule(0.55, 0.45), facts, state)
    assert verdict.outcome is Outcome.HELD
    assert verdict.state.cycles_over == 0


def test_a_cycle_without_load_is_not_counted() -> None:
    facts, state = after_move(total_rps=0.0)
    verdict = run(rule(0.55, 0.45), facts, replace(state, cycles_over=2))
    assert verdict.state.cycles_over == 2


def test_a_move_by_a_curve_leaves_its_promise() -> None:
    verdict = run(valley(0.55))
    assert verdict.state.expected_ms == pytest.approx(50.0 * 1.10)
    wide = situation(load=Load(total_rps=60.0), model=law_model(residual_spread=0.15))
    assert run(valley(0.55), wide).state.expected_ms == pytest.approx(50.0 * 1.30)
