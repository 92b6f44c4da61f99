"""Intents under a clock that was set back."""

import pytest

from controlplane.domain.intents.intent import IntentKind, IntentState
from controlplane.domain.intents.set_back import ahead_s, moved_back
from tests.domain.intents.standing_intents import NOW_S, fleet, intent, published, weights


@pytest.mark.parametrize("later_s", [0.0, 30.0, 59.0, 61.0])
def test_a_drain_is_where_it_was(later_s: float) -> None:
    drain = intent(IntentKind.DRAIN, over_s=60.0)
    moved = moved_back(drain, 600.0, 7)
    usual = weights(published(fleet(), drain, now_s=NOW_S + later_s))
    assert weights(published(fleet(), moved, now_s=NOW_S + later_s - 600.0)) == usual
    assert (moved.change, moved.created_s) == (7, drain.created_s)


def test_an_expiry_is_as_far_away_as_before() -> None:
    moved = moved_back(intent(IntentKind.FREEZE, expires_s=NOW_S + 5.0), 600.0, 2)
    assert moved.wanted.expires_s == NOW_S - 595.0
    assert moved_back(intent(IntentKind.FREEZE), 600.0, 2).wanted.expires_s is None


def test_a_newest_step_that_is_to_come_says_that_the_clock_went_back() -> None:
    going = intent(IntentKind.DRAIN, state=IntentState.RETURNING, returning_s=NOW_S + 9.0)
    assert ahead_s(going, NOW_S) == 9.0
    assert ahead_s(moved_back(going, 9.0, 2), NOW_S) == 0.0
    preparing = intent(IntentKind.FAILOVER, state=IntentState.PREPARING, active_s=None)
    assert ahead_s(preparing, NOW_S) < 0
