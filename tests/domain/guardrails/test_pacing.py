import pytest

from controlplane.domain.guardrails.state import GuardState, Outcome, come_true
from controlplane.domain.strategies.situation import Situation
from tests.domain.guardrails.drafting import rule, run
from tests.domain.two_centers import NOW_S, Load, codes, law_model, situation


def paced(ago_s: float, *, cycle_rps: float = 60.0) -> tuple[Situation, GuardState]:
    return situation(load=Load(total_rps=cycle_rps)), GuardState(changes_s=(NOW_S - ago_s,))


@pytest.mark.parametrize(("ago_s", "moves"), [(300.0, False), (598.0, True), (600.0, True)])
def test_two_cycles_between_moves(ago_s: float, moves: bool) -> None:
    facts, state = paced(ago_s)
    verdict = run(rule(0.53, 0.47), facts, state)
    assert (verdict.outcome is Outcome.MOVED) is moves
    assert codes(verdict.notes) == ([] if moves else ["dwell"])


def test_dwell_is_waived_when_urgent_alarmed_or_hot() -> None:
    facts, state = paced(300.0)
    assert run(rule(0.53, 0.47, urgent=True), facts, state).outcome is Outcome.MOVED
    alarmed, state = paced(300.0, cycle_rps=82.0)
    assert run(rule(0.53, 0.47), alarmed, state).outcome is Outcome.MOVED
    hot, state = paced(300.0, cycle_rps=90.0)
    assert run(rule(0.60, 0.40), hot, state).shares == (0.60, 0.40)


def test_changes_per_hour_are_bounded_unless_hot() -> None:
    spent = GuardState(changes_s=tuple(NOW_S - 3000 + 300 * n for n in range(6)))
    verdict = run(rule(0.53, 0.47), state=spent)
    assert codes(verdict.notes) == ["change_budget"]
    hot = situation(load=Load(total_rps=92.0))
    assert run(rule(0.53, 0.47), hot, spent).outcome is Outcome.MOVED
    old = GuardState(changes_s=tuple(NOW_S - 3700 + 300 * n for n in range(6)))
    verdict = run(rule(0.53, 0.47), state=old)
    assert verdict.outcome is Outcome.MOVED
    assert len(verdict.state.changes_s) == 6


def test_a_load_to_come_is_no_reason_for_a_seventh_move() -> None:
    spent = GuardState(changes_s=tuple(NOW_S - 3000 + 300 * n for n in range(6)))
    # A quarter more within the next five minutes: 0.75 of the second centre's capacity now.
    profile = (1.0,) * 166 + (1.3,) * 122
    facts = situation(load=Load(total_rps=75.0), model=law_model(profile=profile))
    assert run(rule(0.60, 0.40), facts).shares == (0.60, 0.40)
    verdict = run(rule(0.60, 0.40), facts, spent)
    assert verdict.outcome is Outcome.HELD
    assert "change_budget" in codes(verdict.notes)
    assert run(rule(0.50, 0.50), facts, spent).outcome is Outcome.HELD
    assert run(rule(0.50, 0.50), facts).outcome is Outcome.MOVED


def test_the_pause_does_not_stop_a_hot_center() -> None:
    hot = situation(load=Load(total_rps=92.0))
    verdict = run(rule(0.55, 0.45), hot, GuardState(hold_until_s=NOW_S + 1000))
    assert verdict.outcome is Outcome.MOVED


def test_a_clock_that_was_set_back_holds_nothing_up() -> None:
    ahead = GuardState(
        changes_s=(NOW_S - 900.0, NOW_S + 3600.0),
        reverts_s=(NOW_S + 3600.0,),
        hold_until_s=NOW_S + 5400.0,
        counted_s=NOW_S + 3600.0,
    )
    state = come_true(ahead, NOW_S)
    assert state == GuardState(changes_s=(NOW_S - 900.0,))
    assert run(rule(0.53, 0.47), state=state).outcome is Outcome.MOVED
    usual = GuardState(changes_s=(NOW_S,), counted_s=NOW_S, hold_until_s=NOW_S + 60.0)
    assert come_true(usual, NOW_S) is usual
