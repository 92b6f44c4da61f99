"""Spreading an amount over bounded places."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.domain.failover.filling import spread


def test_in_proportion_while_there_is_room() -> None:
    assert spread(30.0, {"a": 2.0, "b": 1.0}, {"a": 100.0, "b": 100.0}) == {"a": 20.0, "b": 10.0}


def test_who_is_full_leaves_the_rest_to_the_others() -> None:
    given_ = spread(30.0, {"a": 2.0, "b": 1.0}, {"a": 5.0, "b": 100.0})
    assert given_ == pytest.approx({"a": 5.0, "b": 25.0})


def test_without_room_only_the_rooms_are_filled() -> None:
    assert spread(99.0, {"a": 1.0, "b": 1.0}, {"a": 5.0, "b": 0.0}) == {"a": 5.0, "b": 0.0}
    assert spread(9.0, {}, {}) == {}
    assert spread(9.0, {"a": 0.0}, {"a": 5.0}) == {"a": 0.0}


def test_the_least_of_weights_gets_no_more_than_there_is() -> None:
    found = spread(4.0, {"a": 1.0, "b": 5e-324}, {"a": 2.5, "b": 2.0})
    assert found == {"a": 2.5, "b": 1.5}


amounts = st.floats(0.0, 1e6)


@settings(deadline=None)
@given(amount=amounts, rows=st.lists(st.tuples(st.floats(0.0, 1e3), amounts), max_size=6))
def test_no_place_passes_its_room_and_nothing_is_lost(
    amount: float, rows: list[tuple[float, float]]
) -> None:
    weights = {str(i): weight for i, (weight, _) in enumerate(rows)}
    rooms = {str(i): room for i, (_, room) in enumerate(rows)}
    found = spread(amount, weights, rooms)
    assert all(-1e-6 <= part <= rooms[name] + 1e-6 for name, part in found.items())
    able = math.fsum(rooms[name] for name, weight in weights.items() if weight > 0)
    total = math.fsum(found.values())
    assert total <= amount + 1e-6
    if all(weight == 0 or weight > 1e-3 for weight in weights.values()):
        assert total == pytest.approx(min(amount, able), rel=1e-6, abs=1e-3)
