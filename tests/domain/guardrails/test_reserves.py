from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.domain.guardrails.draft import distance
from controlplane.domain.guardrails.envelope import judge
from controlplane.domain.guardrails.reserves import mustered
from controlplane.domain.guardrails.state import GuardState, Outcome
from controlplane.domain.services import StrategyName
from controlplane.domain.strategies.registry import propose
from controlplane.domain.strategies.situation import Muster, Proposal, Shares, Situation
from controlplane.domain.topology import Role
from tests.domain.guardrails.drafting import LIMITS, many, rule
from tests.domain.two_centers import CYCLE_S, NOW_S, codes

ROLES = (Role.PRIMARY, Role.SAME_CITY, Role.DISASTER_RECOVERY, Role.CLOUD)
CALM = (0.6, 0.4, 0.0, 0.0)
ALL = (0.4, 0.25, 0.2, 0.15)
CAPACITIES = (60.0, 40.0, 30.0, 30.0)


def four(
    applied: Shares = CALM,
    total_rps: float = 50.0,
    strategy: StrategyName = StrategyName.CPU_EQUALIZER,
) -> Situation:
    facts = many(ROLES, applied, total_rps)
    return replace(facts, service=replace(facts.service, strategy=strategy))


def at(facts: Situation, cycle: int) -> Situation:
    """The same facts so many cycles later."""
    late_s = cycle * CYCLE_S
    samples = {
        name: tuple(
            replace(s, time_s=s.time_s + late_s, received_s=s.received_s + late_s) for s in kept
        )
        for name, kept in facts.window.samples.items()
    }
    return replace(facts, now_s=NOW_S + late_s, window=replace(facts.window, samples=samples))


def without_endpoints(facts: Situation, *names: str) -> Situation:
    return replace(
        facts,
        centers=tuple(
            replace(c, cluster=replace(c.cluster, endpoints=())) if c.name in names else c
            for c in facts.centers
        ),
    )


def silent(facts: Situation, *names: str) -> Situation:
    samples = {n: kept for n, kept in facts.window.samples.items() if n not in names}
    return replace(facts, window=replace(facts.window, samples=samples))


def test_reserves_stand_at_zero_while_the_active_ones_have_room() -> None:
    facts = mustered(four(total_rps=85.0), LIMITS)
    assert facts.bearing == (True, True, False, False)
    assert not facts.muster.changing
    assert judge(propose(facts), facts, GuardState(), LIMITS).shares[2:] == (0.0, 0.0)


@pytest.mark.parametrize(
    ("total_rps", "joining"), [(88.5, ("gamma",)), (114.0, ("gamma",)), (115.0, ("gamma", "delta"))]
)
def test_they_join_in_order_as_many_as_are_needed(
    total_rps: float, joining: tuple[str, ...]
) -> None:
    facts = mustered(four(total_rps=total_rps), LIMITS)
    assert facts.muster.joining == joining
    verdict = judge(propose(facts), facts, GuardState(), LIMITS)
    assert verdict.outcome is Outcome.MOVED
    assert [share > 0 for share in verdict.shares] == [True, True, True, "delta" in joining]
    assert verdict.shares[2] <= LIMITS.hot_step + 1e-9
    assert "reserve_joins" in codes(verdict.notes)


@pytest.mark.parametrize(
    "shares", [CALM, (float("nan"), 0.5, 0.5, 0.0), (1.0,), (1.0, 0.0, 0.0, 0.0)]
)
def test_they_join_whatever_the_strategy_proposes(shares: Shares) -> None:
    facts = mustered(four(total_rps=100.0), LIMITS)
    verdict = judge(rule(*shares), facts, GuardState(), LIMITS)
    assert 0.0 < verdict.shares[2] <= LIMITS.hot_step + 1e-9
    assert verdict.shares[3] == 0.0


def test_a_joining_reserve_waits_for_nothing() -> None:
    facts = mustered(four(total_rps=100.0), LIMITS)
    just = GuardState(changes_s=(NOW_S - 60.0,) * LIMITS.changes, hold_until_s=NOW_S + 1_000.0)
    assert judge(propose(facts), facts, just, LIMITS).shares[2] > 0


def test_the_last_to_join_leaves_first_when_the_others_stay_clearly_below() -> None:
    assert mustered(four(ALL, 97.5), LIMITS).muster == Muster(bearing=(True,) * 4)
    facts = mustered(four(ALL, 96.0), LIMITS)
    assert facts.muster.leaving == ("delta",)
    verdict = judge(propose(facts), facts, GuardState(), LIMITS)
    assert ALL[3] - LIMITS.step - 1e-9 <= verdict.shares[3] < ALL[3]
    assert verdict.shares[2] > 0
    assert "reserve_leaves" in codes(verdict.notes)
    # With delta gone, gamma stays while two alone would be above the level.
    assert not mustered(four((0.5, 0.3, 0.2, 0.0), 80.0), LIMITS).muster.changing
    assert mustered(four((0.5, 0.3, 0.2, 0.0), 74.0), LIMITS).muster.leaving == ("gamma",)


def test_a_leaving_reserve_keeps_the_dwell_and_needs_no_gain() -> None:
    facts = mustered(four(ALL, 60.0, StrategyName.GREYBOX), LIMITS)
    just = GuardState(changes_s=(NOW_S - 60.0,))
    assert judge(propose(facts), facts, just, LIMITS).shares == ALL
    held = Proposal(strategy="m", shares=ALL)
    assert judge(held, facts, GuardState(), LIMITS).shares[3] < ALL[3]


def test_an_active_centre_without_endpoints_is_replaced() -> None:
    facts = without_endpoints(four((1.0, 0.0, 0.0, 0.0), 30.0), "beta")
    assert mustered(facts, LIMITS).muster.joining == ("gamma",)
    joined = without_endpoints(four((0.6, 0.0, 0.4, 0.0), 30.0), "beta")
    assert mustered(joined, LIMITS).muster == Muster(bearing=(True, False, True, False))
    back = mustered(four((0.6, 0.0, 0.4, 0.0), 30.0), LIMITS)
    assert back.muster.leaving == ("gamma",)
    assert back.bearing == (True, True, False, False)


def test_without_any_active_centre_all_that_have_endpoints_bear() -> None:
    facts = without_endpoints(four((0.0, 0.0, 0.5, 0.5)), "alpha", "beta")
    assert mustered(facts, LIMITS) == facts
    assert facts.bearing == facts.awaited == (False, False, True, True)
    assert without_endpoints(facts, "gamma", "delta").bearing == (True,) * 4


def test_an_idle_reserve_need_not_report_and_may_join_by_declared_capacity() -> None:
    calm = silent(mustered(four(), LIMITS), "gamma", "delta")
    assert "metrics_stale" not in codes(
        judge(rule(0.6, 0.4, 0, 0), calm, GuardState(), LIMITS).notes
    )
    facts = mustered(silent(four(total_rps=100.0), "gamma", "delta"), LIMITS)
    assert facts.muster.joining == ("gamma",)
    assert judge(propose(facts), facts, GuardState(), LIMITS).shares[2] > 0


def test_a_reserve_that_joined_must_report_soon() -> None:
    facts = mustered(silent(four((0.5, 0.35, 0.15, 0.0), 100.0), "gamma"), LIMITS)
    assert not facts.muster.changing
    early = GuardState(changes_s=(NOW_S - 100.0,))
    late = GuardState(changes_s=(NOW_S - LIMITS.fresh_s - 1.0,))
    assert "metrics_stale" not in codes(judge(propose(facts), facts, early, LIMITS).notes)
    assert "metrics_stale" in codes(judge(propose(facts), facts, late, LIMITS).notes)
    assert "metrics_stale" in codes(judge(propose(facts), facts, GuardState(), LIMITS).notes)


def test_a_reserve_of_unknown_use_is_passed_over() -> None:
    facts = four(total_rps=100.0)
    # By bandwidth the declared capacity says nothing, and an idle centre's CPU neither.
    samples = {
        name: tuple(replace(s, request_rate_rps=None, ingress_bandwidth_bps=1e6) for s in kept)
        for name, kept in facts.window.samples.items()
        if name in ("alpha", "beta")
    }
    facts = replace(facts, window=replace(facts.window, samples=samples))
    assert not mustered(facts, LIMITS).muster.changing


def test_health_checks_of_an_idle_reserve_are_no_measure_of_its_capacity() -> None:
    facts = four(total_rps=100.0)
    trickle = tuple(
        replace(s, request_rate_rps=0.1, cpu_avg=0.05) for s in facts.window.samples["gamma"]
    )
    samples = {**facts.window.samples, "gamma": trickle}
    facts = mustered(replace(facts, window=replace(facts.window, samples=samples)), LIMITS)
    assert facts.muster.joining == ("gamma",)


def test_old_metrics_call_nobody() -> None:
    facts = replace(four(total_rps=100.0), now_s=NOW_S + LIMITS.fresh_s + 1.0)
    assert not mustered(facts, LIMITS).muster.changing
    absurd = four()
    bad = tuple(replace(s, cpu_avg=7.0) for s in absurd.window.samples["delta"])
    absurd = replace(
        absurd, window=replace(absurd.window, samples={**absurd.window.samples, "delta": bad})
    )
    assert "metrics_insane" not in codes(
        judge(rule(0.6, 0.4, 0.0, 0.0), mustered(absurd, LIMITS), GuardState(), LIMITS).notes
    )


def test_a_declared_ratio_is_left_alone() -> None:
    facts = four(total_rps=100.0, strategy=StrategyName.STATIC)
    assert mustered(facts, LIMITS) is facts


@pytest.mark.parametrize(
    "strategy", [s for s in StrategyName if s is not StrategyName.STATIC], ids=str
)
def test_a_day_of_four_centers(strategy: StrategyName) -> None:
    """Up to 125 of the active centres' 100, and down again: in order, each reserve once."""
    climb = [60.0 + 2.0 * i for i in range(33)]
    loads = [*climb, *[124.0] * 8, *reversed(climb), *[60.0] * 24]
    state, applied = GuardState(), CALM
    history = [applied]
    for cycle, load in enumerate(loads):
        facts = at(four(applied, load, strategy), cycle)
        facts = mustered(facts, LIMITS)
        verdict = judge(propose(facts), facts, state, LIMITS)
        state, applied = verdict.state, verdict.shares
        history.append(applied)
    joined = [tuple(share > 0 for share in shares[2:]) for shares in history]
    changes = [after for before, after in pairwise(joined) if before != after]
    assert changes == [(True, False), (True, True), (True, False), (False, False)]
    assert all(
        max(abs(a - b) for a, b in zip(x, y, strict=True)) < 0.1501 for x, y in pairwise(history)
    )


def nothing(facts: Situation, rng: np.random.Generator) -> Proposal:
    return Proposal(strategy="m", shares=facts.applied)


def not_a_number(facts: Situation, rng: np.random.Generator) -> Proposal:
    return Proposal(strategy="m", shares=(float("nan"),) * 4)


def anything(facts: Situation, rng: np.random.Generator) -> Proposal:
    return Proposal(strategy="m", shares=tuple(rng.dirichlet([0.3] * 4).tolist()), urgent=True)


def the_fullest(facts: Situation, rng: np.random.Generator) -> Proposal:
    """Everything to the smallest centre."""
    return Proposal(strategy="m", shares=(0.0, 0.0, 0.0, 1.0), urgent=True)


@pytest.mark.parametrize("model", [nothing, not_a_number, anything, the_fullest])
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_no_model_overfills_one_of_four_centers(
    model: Callable[[Situation, np.random.Generator], Proposal], seed: int
) -> None:
    """An hour of a load that changes by up to 6 a cycle, between 40 and 125 of 160."""
    rng = np.random.default_rng(seed)
    state, applied, load = GuardState(), CALM, 70.0
    for cycle in range(12):
        load = float(np.clip(load + rng.uniform(-6.0, 6.0), 40.0, 125.0))
        facts = mustered(at(four(applied, load), cycle), LIMITS)
        verdict = judge(model(facts, rng), facts, state, LIMITS)
        before, after = (
            max(load * s / c for s, c in zip(shares, CAPACITIES, strict=True))
            for shares in (applied, verdict.shares)
        )
        assert after <= max(LIMITS.capacity_level, before, load / 100.0 + 0.03) + 1e-6
        assert after < 1.0
        assert sum(verdict.shares) == pytest.approx(1.0)
        assert distance(verdict.shares, applied) <= LIMITS.hot_step + 1e-9
        joined = [share > 0 for share in verdict.shares[2:]]
        assert joined in ([False, False], [True, False], [True, True])
        state, applied = verdict.state, verdict.shares
