"""Least connections, of all and of two."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.domain.instances.connections import least, least_of_two

weights_of = st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 9), min_size=1)
loads_of = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 50))
draw = st.floats(0, 1, exclude_max=True)


@settings(deadline=None)
@given(weights_of, loads_of)
def test_nobody_is_better_off_than_the_least(
    weights: dict[str, int], loads: dict[str, int]
) -> None:
    found = least(weights, loads)
    cost = (loads.get(found, 0) + 1) / weights[found]
    assert all(cost <= (loads.get(name, 0) + 1) / weight for name, weight in weights.items())


@settings(deadline=None)
@given(weights_of)
def test_held_requests_spread_by_weight(weights: dict[str, int]) -> None:
    loads: Counter[str] = Counter()
    total = sum(weights.values())
    for _ in range(10 * total):
        loads[least(weights, loads)] += 1
    assert all(abs(loads[name] - 10 * weight) <= 1 for name, weight in weights.items())


@settings(deadline=None)
@given(weights_of, loads_of, draw, draw)
def test_of_two_one_is_chosen_and_never_the_worse(
    weights: dict[str, int], loads: dict[str, int], first: float, second: float
) -> None:
    found = least_of_two(weights, loads, (first, second))
    costs = {name: (loads.get(name, 0) + 1) / weight for name, weight in weights.items()}
    assert found in weights
    assert (
        len(costs) == 1
        or costs[found] < max(costs.values())
        or len(set(costs.values())) < len(costs)
    )


def test_draws_are_by_weight_and_the_end_of_the_range_is_somebody() -> None:
    weights = {"a": 3, "b": 1}
    assert least_of_two(weights, {"a": 9}, (0.74, 0.0)) == "b"
    assert least_of_two(weights, {}, (0.99, 0.0)) == "a"
    assert least_of_two({"a": 1}, {}, (1.0, 1.0)) == "a"


def test_two_are_enough_to_keep_queues_short() -> None:
    weights, loads = dict.fromkeys("abcdefghij", 1), Counter[str]()
    for number in range(1_000):
        draws = (number * 0.618034 % 1, number * 0.414214 % 1)
        loads[least_of_two(weights, loads, draws)] += 1
    assert max(loads.values()) == pytest.approx(100, abs=4)
