"""Forecasts of moved sessions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.failover.sessions import MovedSessions, moved_sessions
from controlplane.domain.services import StickyMode

HALVES = {"east": 5_000, "west": 5_000}
WEIGHTS = st.dictionaries(st.sampled_from(["a", "b", "c"]), st.integers(0, 10_000))


@pytest.mark.parametrize(
    ("before", "after", "part"),
    [
        (HALVES, {"west": 10_000}, 0.5),
        (HALVES, HALVES, 0.0),
        ({"a": 34, "b": 33, "c": 33}, {"a": 44, "b": 28, "c": 28}, 0.1),
        (HALVES, {}, 0.0),
        ({}, HALVES, 0.0),
    ],
)
def test_what_losers_lose_moves(
    before: dict[str, float], after: dict[str, float], part: float
) -> None:
    found = moved_sessions(before, after, StickyMode.HASH, drain_s=60.0)
    assert found.on_the_way == pytest.approx(part)
    assert found.at_deadline == 0.0


def test_sessions_move_at_the_deadline_of_a_drain_and_at_once_without_one() -> None:
    after = {"west": 10_000}
    at_end = MovedSessions(on_the_way=0.0, at_deadline=0.5)
    assert moved_sessions(HALVES, after, StickyMode.SESSION, drain_s=60.0) == at_end
    at_once = MovedSessions(on_the_way=0.5, at_deadline=0.0)
    assert moved_sessions(HALVES, after, StickyMode.SESSION) == at_once


@given(before=WEIGHTS, after=WEIGHTS)
def test_no_more_than_all_move_and_back_as_many(
    before: dict[str, float], after: dict[str, float]
) -> None:
    there = moved_sessions(before, after, StickyMode.HASH).on_the_way
    assert 0.0 <= there <= 1.0 + 1e-9
    if any(before.values()) and any(after.values()):
        back = moved_sessions(after, before, StickyMode.HASH).on_the_way
        assert back == pytest.approx(there)
