"""The guard over all services: their moves together overfill no pool."""

import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.domain.guardrails.pools import (
    FULL,
    FloatArray,
    Occupancy,
    PoolLimits,
    fitted,
    utilizations,
)

LIMITS = PoolLimits(level=0.85, hot=0.88, step=0.15)
EPSILON = 1e-4


def occupancy(
    weight: FloatArray,
    before: FloatArray,
    after: FloatArray,
    rank: list[int] | None = None,
    relieves: bool = False,
) -> Occupancy:
    """Each column is one pool that all services share."""
    services, pools = before.shape
    return Occupancy(
        pool=np.tile(np.arange(pools), (services, 1)),
        weight=np.asarray(weight, dtype=np.float64),
        before=before,
        after=after,
        lowest=np.full_like(after, 0.05) if relieves else after,
        highest=np.full_like(after, 0.80) if relieves else after,
        rank=np.array(rank or [1] * services),
        standing=np.zeros(pools),
    )


def two(weights: list[float], before: float, after: list[float], **more: object) -> Occupancy:
    share = np.array(after)
    return occupancy(
        np.array([[w, w] for w in weights]),
        np.array([[before, 1 - before]] * len(weights)),
        np.column_stack([share, 1 - share]),
        **more,  # type: ignore[arg-type]
    )


def test_what_fits_is_let_through() -> None:
    facts = two([0.5, 0.5, 0.5], 0.5, [0.55, 0.55, 0.55])
    np.testing.assert_array_equal(fitted(facts, LIMITS), facts.after)


def test_a_mover_that_weighs_next_to_nothing_is_taken_back_whole() -> None:
    facts = two([1.8, 1e-309], 0.5, [0.5, 0.6])
    np.testing.assert_allclose(fitted(facts, LIMITS)[1], [0.5, 0.5])


def test_the_lowest_class_gives_way_first_and_of_one_class_the_largest_mover() -> None:
    # 0.75 in force, 0.90 with all moves: 0.05 too much.
    facts = two([0.6, 0.3, 0.6], 0.5, [0.6, 0.6, 0.6], rank=[0, 1, 2])
    shares = fitted(facts, LIMITS)
    assert shares[:2, 0] == pytest.approx([0.6, 0.6])
    assert utilizations(facts, shares)[0] == pytest.approx(0.85)
    equals = fitted(replace(facts, rank=np.array([1, 1, 1])), LIMITS)
    assert equals[:, 0] == pytest.approx([0.6 - 0.05 / 0.6, 0.6, 0.6])


def test_a_class_that_is_not_enough_is_followed_by_the_next() -> None:
    facts = two([0.6, 0.5, 0.4], 0.5, [0.8, 0.8, 0.8], rank=[0, 1, 2])
    shares = fitted(facts, LIMITS)
    assert shares[2, 0] == 0.5
    assert shares[1, 0] == 0.5
    assert 0.5 < shares[0, 0] < 0.8


def test_a_pool_that_grew_too_full_is_relieved_by_the_lowest_class() -> None:
    facts = two([0.8, 0.8], 0.6, [0.6, 0.6], rank=[0, 2], relieves=True)
    shares = fitted(facts, LIMITS)
    assert shares[0].tolist() == facts.after[0].tolist()
    assert utilizations(facts, shares) == pytest.approx([0.85, 0.75])
    # Nobody who may move: it stays.
    still = two([0.8, 0.8], 0.6, [0.6, 0.6])
    np.testing.assert_array_equal(fitted(still, LIMITS), still.after)


def test_relief_keeps_step_bounds_and_the_room_of_the_others() -> None:
    facts = two([1.4], 0.8, [0.8], relieves=True)
    assert fitted(facts, LIMITS)[0, 0] == pytest.approx(0.65)
    low = two([1.5], 0.62, [0.62], relieves=True)
    low = replace(low, lowest=np.array([[0.60, 0.0]]))
    assert fitted(low, LIMITS)[0, 0] == pytest.approx(0.60)


def test_a_full_pool_is_better_than_an_overloaded_one() -> None:
    """2.0 of load on two pools: at the level of 0.85 the first would stay at 1.15."""
    facts = two([1.0, 1.0], 0.65, [0.5, 0.5], relieves=True)
    shares = fitted(facts, LIMITS)
    assert utilizations(facts, shares) == pytest.approx([1.0, 1.0])


shares_of_three = st.lists(st.floats(0.0, 1.0), min_size=3, max_size=3).map(
    lambda s: [v / sum(s) for v in s] if sum(s) > 0 else [1.0, 0.0, 0.0]
)


@st.composite
def occupancies(draw: st.DrawFn) -> Occupancy:
    count = draw(st.integers(1, 12))
    before = np.array([draw(shares_of_three) for _ in range(count)])
    target = np.array([draw(shares_of_three) for _ in range(count)])
    decided = np.array([draw(st.booleans()) for _ in range(count)])
    weight = np.array([[draw(st.floats(0.0, 1.0)) for _ in range(3)] for _ in range(count)])
    facts = occupancy(
        weight * draw(st.floats(0.1, 5.0)) / count,
        before,
        np.where(decided[:, None], target, before),
        [draw(st.integers(0, 2)) for _ in range(count)],
        relieves=True,
    )
    movable = decided & np.array([draw(st.booleans()) for _ in range(count)])
    return replace(
        facts,
        lowest=np.where(movable[:, None], 0.0, facts.after),
        highest=np.where(movable[:, None], 1.0, facts.after),
    )


@settings(max_examples=300, deadline=None)
@given(facts=occupancies())
def test_no_set_of_moves_overfills_a_pool(facts: Occupancy) -> None:
    shares = fitted(facts, LIMITS)
    assert shares.sum(axis=1) == pytest.approx(np.ones(len(shares)))
    assert (shares >= -EPSILON).all()
    before, use = utilizations(facts, facts.before), utilizations(facts, shares)
    allowed = FULL if use.max() > FULL + EPSILON or before.max() > LIMITS.level else LIMITS.level
    assert (use <= np.maximum(before, allowed) + EPSILON).all()
    if (before <= LIMITS.level).all():
        assert (use <= LIMITS.level + EPSILON).all()
    undecided = (facts.before == facts.after).all(axis=1) & (facts.lowest == facts.after).all(
        axis=1
    )
    np.testing.assert_allclose(shares[undecided], facts.before[undecided], atol=1e-12)


def crowd(seed: int, count: int = 1_000) -> Occupancy:
    """Many services that all run for the fourth of four pools."""
    rng = np.random.default_rng(seed)
    return occupancy(
        rng.uniform(0.5, 1.5, (count, 4)) * 3.0 / count,
        rng.dirichlet([2.0] * 4, count),
        rng.dirichlet([1.0, 1.0, 2.0, 6.0], count),
        rng.integers(0, 3, count).tolist(),
        relieves=True,
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_the_services_changes_nothing(seed: int) -> None:
    facts = crowd(seed, 40)
    order = np.random.default_rng(seed).permutation(40)
    rows = ("pool", "weight", "before", "after", "lowest", "highest", "rank")
    shuffled = replace(facts, **{name: getattr(facts, name)[order] for name in rows})
    np.testing.assert_allclose(fitted(shuffled, LIMITS), fitted(facts, LIMITS)[order], atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_a_thousand_services_on_four_pools_are_quick(seed: int) -> None:
    facts = crowd(seed)
    assert utilizations(facts, facts.after).max() > LIMITS.level
    taken = []
    for _ in range(3):
        start = time.process_time()
        shares = fitted(facts, LIMITS)
        taken.append(time.process_time() - start)
    assert utilizations(facts, shares).max() <= LIMITS.level + EPSILON
    assert min(taken) < 0.050, taken
