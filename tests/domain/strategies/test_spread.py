from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from controlplane.domain.guardrails.draft import predicted_ms
from controlplane.domain.services import StrategyName
from controlplane.domain.strategies.allocation import allocated
from controlplane.domain.strategies.center_use import trusted_laws
from controlplane.domain.strategies.queue_law import CenterLaw, response_time_ms
from controlplane.domain.strategies.registry import propose
from controlplane.domain.strategies.situation import GRID_OF_MANY, LearnedModel, Muster, Situation
from controlplane.domain.strategies.spread import center_curves, observed_laws
from controlplane.domain.topology import Role
from tests.domain.guardrails.drafting import many
from tests.domain.two_centers import codes

FloatArray = NDArray[np.float64]

CITY = (Role.PRIMARY, Role.SAME_CITY, Role.SAME_CITY, Role.SAME_CITY)
EQUAL = {3: (0.4, 0.3, 0.3), 4: (0.25, 0.25, 0.25, 0.25)}
# (centers, parts) like the capacities of `many`: 60, 40, 30, 30.
CAPACITIES = (60.0, 40.0, 30.0, 30.0)


def splits(count: int, low: int = 5, high: int = 80) -> NDArray[np.int64]:
    """Every split in hundredths within the bounds: (splits, count)."""
    grid = np.array(list(product(range(low, high + 1), repeat=count - 1)))
    last = 100 - grid.sum(axis=1)
    kept = (last >= low) & (last <= high)
    return np.column_stack([grid[kept], last[kept]])


SPLITS = {3: splits(3), 4: splits(4)}


def brute_force(parts: FloatArray) -> float:
    every = SPLITS[len(parts)]
    return float(min(sum(parts[d][every[:, d]] for d in range(len(parts)))))


def value(parts: FloatArray, split: tuple[int, ...]) -> float:
    return float(sum(parts[d][at] for d, at in enumerate(split)))


laws = st.builds(
    CenterLaw,
    base_ms=st.floats(5.0, 300.0),
    contention=st.floats(0.0, 1.0),
    wait_ms=st.floats(0.0, 60.0),
    servers=st.integers(1, 32).map(float),
    saturation=st.floats(0.5, 1.0),
)


@pytest.mark.parametrize("count", [3, 4])
@settings(max_examples=40, deadline=None)
@given(data=st.data(), peak=st.floats(0.1, 1.2))
def test_no_split_is_better_than_the_allocated_one(
    count: int, data: st.DataObject, peak: float
) -> None:
    chosen = [data.draw(laws) for _ in range(count)]
    total = sum(CAPACITIES[:count])
    use = [peak * total / capacity for capacity in CAPACITIES[:count]]
    parts = np.array(
        [
            GRID_OF_MANY * response_time_ms(law, u * GRID_OF_MANY)
            for law, u in zip(chosen, use, strict=True)
        ]
    )
    split = allocated(parts, [(5, 80)] * count)
    assert sum(split) == 100
    assert all(5 <= at <= 80 for at in split)
    best = brute_force(parts)
    assert value(parts, split) <= best * (1 + 1e-12)


@given(count=st.integers(2, 6), seed=st.integers(0, 1_000))
def test_any_objective_ends_within_the_bounds(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    bounds = [(int(rng.integers(0, 17)), int(rng.integers(50, 101))) for _ in range(count)]
    split = allocated(rng.uniform(0.0, 100.0, (count, 101)), bounds)
    assert sum(split) == 100
    assert all(low <= at <= high for at, (low, high) in zip(split, bounds, strict=True))


def facts(count: int, total_rps: float = 100.0, learned: bool = True) -> Situation:
    situation = many(CITY[:count], EQUAL[count], total_rps)
    model = LearnedModel(
        digest="m",
        laws=tuple(
            CenterLaw(base_ms=30.0 + 10.0 * i, contention=0.2, wait_ms=4.0 + i, servers=4.0)
            for i in range(count)
        ),
    )
    service = replace(situation.service, strategy=StrategyName.GREYBOX)
    return replace(situation, service=service, model=model if learned else None)


@pytest.mark.parametrize("strategy", [StrategyName.GREYBOX, StrategyName.HYBRID])
@pytest.mark.parametrize("learned", [True, False], ids=["learned", "declared"])
@pytest.mark.parametrize("count", [3, 4])
def test_many_centers_get_the_best_split_of_their_laws(
    count: int, learned: bool, strategy: StrategyName
) -> None:
    situation = facts(count, 110.0, learned)
    situation = replace(situation, service=replace(situation.service, strategy=strategy))
    proposal = propose(situation)
    assert proposal.strategy == (StrategyName.GREYBOX if learned else StrategyName.OBSERVED_LAWS)
    assert codes(proposal.notes) == ([] if learned else ["laws_declared"])
    model = situation.model
    parts = GRID_OF_MANY * np.array(
        [
            curve.response_time_ms
            for curve in center_curves(situation, model.laws if model else observed_laws(situation))
        ]
    )
    predicted = predicted_ms(proposal, proposal.shares)
    assert predicted == pytest.approx(brute_force(parts), rel=1e-3)
    assert predicted < (predicted_ms(proposal, situation.applied) or 0.0)


def named(situation: Situation, *names: str) -> Situation:
    assert situation.model is not None
    return replace(situation, model=replace(situation.model, centers=names))


def test_laws_with_names_are_found_by_them() -> None:
    situation = facts(3, 110.0)
    names = tuple(center.name for center in situation.centers)
    by_place = propose(situation)
    assert propose(named(situation, *names)) == by_place
    assert situation.model is not None
    turned = replace(
        situation,
        model=replace(situation.model, laws=situation.model.laws[::-1], centers=names[::-1]),
    )
    assert propose(turned) == by_place


def test_a_center_that_the_model_does_not_know_brings_back_the_declared_laws() -> None:
    situation = facts(3, 110.0)
    names = [center.name for center in situation.centers]
    assert codes(propose(named(situation, *names[:2], "elsewhere")).notes) == ["laws_declared"]
    fewer = many(CITY[:2], (0.5, 0.5), 80.0)
    assert trusted_laws(replace(fewer, model=named(situation, *names).model)) == (
        situation.model.laws[:2] if situation.model else ()
    )


def test_laws_that_are_not_learned_meet_what_was_measured() -> None:
    situation = facts(4, 120.0)
    for center, law in zip(situation.centers, observed_laws(situation), strict=True):
        sample = situation.window.latest(center.name)
        assert sample is not None
        rho = 120.0 * 0.25 / center.cluster.capacity_rps
        assert float(response_time_ms(law, rho)) == pytest.approx(sample.response_time_ms)


def test_a_reserve_that_never_served_counts_as_fast_as_the_others() -> None:
    roles = (Role.PRIMARY, Role.SAME_CITY, Role.DISASTER_RECOVERY)
    situation = many(roles, (0.6, 0.4, 0.0), 95.0)
    situation = replace(
        situation,
        service=replace(situation.service, strategy=StrategyName.HYBRID),
        muster=Muster(bearing=(True, True, True), joining=("gamma",)),
    )
    samples = {n: kept for n, kept in situation.window.samples.items() if n != "gamma"}
    situation = replace(situation, window=replace(situation.window, samples=samples))
    first, second, third = observed_laws(situation)
    assert third.base_ms == pytest.approx(first.base_ms)
    assert third.base_ms == pytest.approx(second.base_ms)
    proposal = propose(situation)
    assert proposal.shares[2] > 0.1
    assert sum(proposal.shares) == pytest.approx(1.0)


def test_who_does_not_bear_gets_nothing() -> None:
    roles = (Role.PRIMARY, Role.SAME_CITY, Role.CLOUD)
    situation = many(roles, (0.6, 0.4, 0.0), 60.0)
    situation = replace(
        situation, service=replace(situation.service, strategy=StrategyName.GREYBOX)
    )
    assert propose(situation).shares[2] == 0.0
    assert propose(situation).shares[0] <= 0.8
    alone = replace(situation, muster=Muster(bearing=(True, False, False)))
    assert propose(alone).shares == (1.0, 0.0, 0.0)


def test_an_unknown_load_is_never_guessed() -> None:
    situation = facts(3, learned=False)
    bare = {
        name: tuple(replace(s, request_rate_rps=None, ingress_bandwidth_bps=None) for s in kept)
        for name, kept in situation.window.samples.items()
    }
    unknown = replace(situation, window=replace(situation.window, samples=bare))
    assert "load_unknown" in codes(propose(unknown).notes)
    assert "load_unknown" in codes(propose(replace(unknown, model=facts(3).model)).notes)
    still = {
        name: tuple(replace(s, request_rate_rps=0.0) for s in kept)
        for name, kept in situation.window.samples.items()
    }
    proposal = propose(replace(situation, window=replace(situation.window, samples=still)))
    assert "load_unknown" in codes(proposal.notes)
    silent = replace(situation, window=replace(situation.window, samples={}))
    assert codes(propose(silent).notes) == ["metrics_missing"]
