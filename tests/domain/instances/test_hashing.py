"""Consistent hashing moves few keys, and its bound holds."""

import math
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.domain.instances.hashing import BALANCE, bounded, consistent

KEYS = [f"user-{number}" for number in range(400)]
weights_of = st.dictionaries(
    st.integers(1, 40).map(lambda n: f"10.0.0.{n}:80"), st.integers(1, 20), min_size=2, max_size=12
)


def owners(weights: dict[str, int], keys: list[str] = KEYS) -> dict[str, str]:
    return {key: consistent(key, weights) for key in keys}


@settings(max_examples=40, deadline=None)
@given(weights_of, st.randoms(use_true_random=False))
def test_who_goes_moves_its_own_keys_and_no_others(
    weights: dict[str, int], rng: random.Random
) -> None:
    gone = rng.choice(sorted(weights))
    rest = {name: weight for name, weight in weights.items() if name != gone}
    before, after = owners(weights), owners(rest)
    assert {key for key in KEYS if before[key] != after[key]} == {
        key for key in KEYS if before[key] == gone
    }


@settings(max_examples=40, deadline=None)
@given(weights_of, st.integers(1, 20))
def test_a_larger_weight_only_attracts(weights: dict[str, int], more: int) -> None:
    name = min(weights)
    before, after = owners(weights), owners(weights | {name: weights[name] + more})
    assert {after[key] for key in KEYS if before[key] != after[key]} <= {name}


def test_each_has_its_part() -> None:
    keys = [f"k{number}" for number in range(20_000)]
    counts = Counter(owners({"a": 5, "b": 1, "c": 2}, keys).values())
    assert counts["a"] / 20_000 == pytest.approx(0.625, abs=0.015)
    assert counts["b"] / 20_000 == pytest.approx(0.125, abs=0.01)


@settings(max_examples=60, deadline=None)
@given(
    weights_of,
    st.lists(st.sampled_from(KEYS[:30]), max_size=120),
    st.sampled_from([1.0, 1.1, BALANCE, 2.0]),
    st.randoms(use_true_random=False),
)
def test_nobody_has_more_than_the_bound(
    weights: dict[str, int], keys: list[str], balance: float, rng: random.Random
) -> None:
    loads: Counter[str] = Counter()
    total = sum(weights.values())
    for key in keys:
        name = bounded(key, weights, loads, balance)
        loads[name] += 1
        assert loads[name] <= math.ceil(balance * loads.total() * weights[name] / total)
        if rng.random() < 0.3:
            loads[rng.choice(list(loads.elements()))] -= 1


@settings(deadline=None)
@given(weights_of, st.sampled_from(KEYS))
def test_an_idle_service_is_hashed_without_a_bound(weights: dict[str, int], key: str) -> None:
    assert bounded(key, weights, {}) == consistent(key, weights)


def test_who_comes_under_load_disturbs_only_what_it_takes() -> None:
    weights = {f"s{number}": 1 for number in range(10)}
    loads = dict.fromkeys(weights, 100)
    before = {key: bounded(key, weights, loads) for key in KEYS}
    after = {key: bounded(key, weights | {"new": 1}, loads) for key in KEYS}
    assert {after[key] for key in KEYS if before[key] != after[key]} == {"new"}
