"""Queue laws of what is measured just now, and the ladder below them."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.domain.guardrails.draft import predicted_ms
from controlplane.domain.services import StrategyName
from controlplane.domain.strategies.candidates import GRID
from controlplane.domain.strategies.fallback import fall_back, observed_laws
from controlplane.domain.strategies.registry import propose
from controlplane.domain.strategies.situation import Note, Situation
from controlplane.domain.strategies.spread import spread
from controlplane.domain.topology import Role
from tests.domain.guardrails.drafting import many
from tests.domain.two_centers import (
    CAPACITIES,
    Load,
    centers,
    changed,
    codes,
    law_model,
    mean_ms,
    situation,
)

RULE = StrategyName.OBSERVED_LAWS
MACHINES = (8, 5)
USUAL = Load()
# What a whole share moved may have to gain, relative.
HESITATION = 0.3


def facts(load: Load = USUAL, ratio: float = 0.5) -> Situation:
    """Two centres that declare their machines."""
    found = situation(RULE, applied=(ratio, 1.0 - ratio), load=load)
    declared = tuple(
        replace(center, cluster=replace(center.cluster, servers=servers))
        for center, servers in zip(found.centers, MACHINES, strict=True)
    )
    return replace(found, centers=declared)


@settings(max_examples=50, deadline=None)
@given(
    total_rps=st.just(0.0) | st.floats(1e-9, 200.0),
    ratio=st.floats(0.2, 0.8),
    own=st.tuples(st.floats(0.0, 0.5), st.floats(0.0, 0.5)),
    times_ms=st.tuples(st.floats(0.1, 10_000.0), st.floats(0.1, 10_000.0)),
)
def test_whatever_is_measured_the_shares_are_shares(
    total_rps: float, ratio: float, own: tuple[float, float], times_ms: tuple[float, float]
) -> None:
    seen = facts(Load(total_rps=total_rps, own=own), ratio)
    window = seen.window
    for center, time_ms in zip(seen.centers, times_ms, strict=True):
        window = changed(window, center.name, response_time_ms=time_ms)
    proposal = propose(replace(seen, window=window))
    assert math.fsum(proposal.shares) == pytest.approx(1.0)
    assert all(0.0 <= share <= 1.0 for share in proposal.shares)
    if proposal.strategy == RULE:
        assert proposal.shares[0] in GRID
        assert not proposal.learned


def test_a_load_next_to_nothing_is_none() -> None:
    assert math.fsum(
        propose(facts(Load(total_rps=1e-312, own=(0.5, 0.25)))).shares
    ) == pytest.approx(1.0)


@settings(max_examples=30, deadline=None)
@given(total_rps=st.floats(40.0, 115.0), ratio=st.floats(0.4, 0.75))
def test_where_cpu_is_the_bottleneck_it_is_near_the_best(total_rps: float, ratio: float) -> None:
    load = Load(total_rps=total_rps)
    chosen = mean_ms(load, propose(facts(load, ratio)).shares)
    best_ms, best = min((mean_ms(load, (float(r), 1.0 - float(r))), float(r)) for r in GRID)
    assert chosen <= 1.05 * best_ms * (1.0 + HESITATION * abs(best - ratio))


def test_a_slow_center_with_idle_cpu_gets_less_than_equal_cpu_gives_it() -> None:
    seen = facts()
    slow = replace(seen, window=changed(seen.window, "beta", response_time_ms=400.0))
    equal = propose(replace(slow, service=replace(slow.service, strategy="cpu_equalizer")))
    assert propose(slow).shares[1] < min(propose(seen).shares[1], equal.shares[1])


def test_what_was_measured_is_met_at_the_ratio_in_force() -> None:
    seen = facts()
    predicted = predicted_ms(propose(seen), seen.applied)
    assert predicted == pytest.approx(mean_ms(Load(), seen.applied), rel=1e-6)


@pytest.mark.parametrize(
    ("center", "values"),
    [("alpha", {"response_time_ms": math.inf}), ("beta", {"response_time_ms": -math.inf})],
)
def test_without_a_response_time_cpu_is_made_equal(center: str, values: dict[str, float]) -> None:
    seen = facts()
    window = changed(seen.window, center, **values)
    if values["response_time_ms"] < 0:
        window = changed(window, "alpha", response_time_ms=math.nan)
    proposal = propose(replace(seen, window=window))
    assert proposal.strategy == "cpu_equalizer"
    assert "laws_unknown" in codes(proposal.notes)
    assert proposal.shares[0] == pytest.approx(8 / 13, abs=0.01)


def test_without_cpu_the_static_ratio_answers() -> None:
    seen = facts()
    proposal = propose(replace(seen, window=changed(seen.window, "beta", cpu_avg=None)))
    assert proposal.strategy == "capacity"
    assert codes(proposal.notes) == ["laws_unknown", "cpu_missing"]


def test_without_traffic_or_with_one_center_there_are_no_laws() -> None:
    quiet = propose(facts(Load(total_rps=0.0)))
    assert "laws_unknown" in codes(quiet.notes)
    alone = replace(situation(RULE), centers=centers((Role.PRIMARY,), CAPACITIES), applied=(1.0,))
    assert propose(alone).shares == (1.0,)


def test_a_silent_center_holds() -> None:
    seen = facts()
    proposal = propose(replace(seen, window=replace(seen.window, samples={})))
    assert (proposal.strategy, codes(proposal.notes)) == (RULE, ["metrics_missing"])
    assert proposal.shares == seen.applied


@pytest.mark.parametrize("model", [None, law_model(laws=(), centers=())], ids=["none", "of laws"])
def test_of_many_centers_it_is_the_best_split_without_a_model(model: object) -> None:
    roles = (Role.PRIMARY, Role.SAME_CITY, Role.SAME_CITY)
    seen = replace(many(roles, (0.4, 0.3, 0.3), 110.0), model=model)  # type: ignore[arg-type]
    proposal = observed_laws(seen)
    assert proposal == spread(replace(seen, model=None))
    assert (proposal.strategy, codes(proposal.notes)) == (RULE, ["laws_declared"])
    assert proposal.predicts
    assert not proposal.modeled


def test_what_falls_back_says_why_and_is_no_answer_of_the_model() -> None:
    why = Note(code="model_missing", message="no model yet")
    proposal = fall_back(facts(), why)
    assert proposal.strategy == RULE
    assert why in proposal.notes
    assert proposal.predicts
    assert not proposal.modeled
