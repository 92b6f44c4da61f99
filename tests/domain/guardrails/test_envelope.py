from controlplane.domain.guardrails.state import GuardState, Outcome
from tests.domain.guardrails.drafting import NEW, rule, run
from tests.domain.two_centers import NOW_S


def test_a_sound_move_passes() -> None:
    verdict = run(rule(0.53, 0.47))
    assert verdict.outcome is Outcome.MOVED
    assert verdict.shares == (0.53, 0.47)
    assert verdict.notes == ()
    assert verdict.state == GuardState(
        changes_s=(NOW_S,), previous=(0.5, 0.5), moved_to=(0.53, 0.47)
    )


def test_no_difference_is_no_move() -> None:
    verdict = run(rule(0.50004, 0.49996))
    assert verdict.outcome is Outcome.HELD
    assert verdict.shares == (0.5, 0.5)
    assert verdict.state == NEW
