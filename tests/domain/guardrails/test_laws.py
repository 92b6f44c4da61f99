"""Properties of the envelope: whatever a model proposes, for as many cycles as it likes."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from controlplane.domain.dither import DitherMode
from controlplane.domain.guardrails.envelope import judge
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.guardrails.state import GuardState, Outcome, Verdict
from controlplane.domain.strategies.situation import CurvePoint, Proposal, Shares, Situation
from controlplane.domain.telemetry import ServiceWindow, extended
from controlplane.domain.topology import Role
from tests.domain.two_centers import (
    CYCLE_S,
    NOW_S,
    PERIOD_S,
    Load,
    centers,
    observe,
    situation,
    utilizations,
)

LIMITS = EnvelopeLimits()
EPSILON = 1e-9

ratios = st.floats(0.20, 0.80)
anything = st.floats(allow_nan=True, allow_infinity=True)
curves = st.lists(st.floats(1.0, 1e4), min_size=61, max_size=61)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One cycle as it was: what was in force, what became of it."""

    situation: Situation
    load: Load
    verdict: Verdict

    @property
    def hot(self) -> bool:
        rho = utilizations(self.load, self.situation.applied)
        return max(rho) > LIMITS.hot_level - EPSILON


Model = Callable[[Situation, Load], Proposal]


def play(
    model: Model,
    loads: list[Load],
    applied: Shares = (0.5, 0.5),
    limits: EnvelopeLimits = LIMITS,
) -> list[Step]:
    """Run the envelope in a world without noise, one load per cycle."""
    window, state, steps = ServiceWindow(service="tickets"), GuardState(), []
    for cycle, load in enumerate(loads):
        now_s = NOW_S + cycle * CYCLE_S
        for back in reversed(range(5)):
            window = extended(window, observe(load, applied, now_s - back * PERIOD_S), 3600.0)
        facts = replace(situation(), window=window, applied=applied, now_s=now_s)
        verdict = judge(model(facts, load), facts, state, limits)
        steps.append(Step(situation=facts, load=load, verdict=verdict))
        state, applied = verdict.state, verdict.shares
    return steps


def curve_of(values: list[float]) -> tuple[CurvePoint, ...]:
    return tuple(
        CurvePoint(ratio=(20 + i) / 100, response_time_ms=value) for i, value in enumerate(values)
    )


def searched(values: list[float]) -> Proposal:
    best = (20 + values.index(min(values))) / 100
    shares = (best, 1 - best)
    return Proposal(strategy="m", shares=shares, curve=curve_of(values), learned=True)


def nothing(facts: Situation, load: Load) -> Proposal:
    """NaN: the strategy drops every candidate and holds."""
    return Proposal(strategy="m", shares=facts.applied, learned=True)


def constant(facts: Situation, load: Load) -> Proposal:
    return searched([100.0] * 61)


def inverted(facts: Situation, load: Load) -> Proposal:
    """Best where the world is worst."""
    worst = [-max(utilizations(load, (r / 100, 1 - r / 100))) for r in range(20, 81)]
    return searched([1000.0 * (value + 5.0) for value in worst])


@given(
    target=st.tuples(anything, anything),
    applied=ratios,
    load_rps=st.floats(0.0, 200.0),
    urgent=st.booleans(),
)
@example(target=(1.7e308, 1.7e308), applied=0.5, load_rps=50.0, urgent=False)
def test_shares_sum_to_one_within_bounds_and_step(
    target: Shares, applied: float, load_rps: float, urgent: bool
) -> None:
    shares = (applied, 1.0 - applied)
    facts = situation(applied=shares, load=Load(total_rps=load_rps))
    verdict = judge(
        Proposal(strategy="m", shares=target, urgent=urgent), facts, GuardState(), LIMITS
    )
    assert abs(math.fsum(verdict.shares) - 1.0) <= EPSILON
    assert all(0.20 - EPSILON <= share <= 0.80 + EPSILON for share in verdict.shares)
    step = LIMITS.hot_step if max(s.cpu_avg or 0 for s in newest(facts)) > 0.88 else LIMITS.step
    assert abs(verdict.shares[0] - applied) <= step + EPSILON


@given(target=ratios, applied=ratios, age_s=st.floats(120.001, 1e6), curve=curves)
def test_nothing_is_judged_on_stale_metrics(
    target: float, applied: float, age_s: float, curve: list[float]
) -> None:
    facts = situation(applied=(applied, 1 - applied), load=Load(total_rps=120.0))
    facts = replace(facts, now_s=NOW_S + age_s)
    proposal = Proposal(strategy="m", shares=(target, 1 - target), curve=curve_of(curve))
    verdict = judge(proposal, facts, GuardState(), LIMITS)
    assert verdict.outcome in (Outcome.HELD, Outcome.RAMPED)
    if age_s <= LIMITS.ramp_after_s:
        assert verdict.shares == facts.applied
    by_capacity = 80 / 130
    assert abs(verdict.shares[0] - by_capacity) <= abs(applied - by_capacity) + EPSILON
    assert abs(verdict.shares[0] - applied) <= LIMITS.ramp_step + EPSILON


@given(target=ratios, applied=ratios, load_rps=st.floats(1.0, 128.0))
def test_no_move_passes_the_capacity_limit(target: float, applied: float, load_rps: float) -> None:
    load = Load(total_rps=load_rps)
    facts = situation(applied=(applied, 1 - applied), load=load)
    verdict = judge(
        Proposal(strategy="m", shares=(target, 1 - target)), facts, GuardState(), LIMITS
    )
    before, after = max(utilizations(load, facts.applied)), max(utilizations(load, verdict.shares))
    limit = max(0.85, load_rps / 130 + 0.03)
    assert after <= max(limit, before) + 1e-6
    if verdict.outcome is Outcome.MOVED and before > limit:
        assert after < before


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), start=ratios)
def test_a_random_model_for_two_hours(seed: int, start: float) -> None:
    rng = np.random.default_rng(seed)

    def model(facts: Situation, load: Load) -> Proposal:
        found = searched(rng.uniform(1.0, 1e4, 61).tolist())
        ratio = float(rng.uniform(0.0, 1.0))
        rule = Proposal(strategy="rule", shares=(ratio, 1 - ratio), urgent=True)
        return found if rng.random() < 0.5 else rule

    loads = rng.uniform(10.0, 126.0, 24).tolist()
    steps = play(model, [Load(total_rps=load) for load in loads], (start, 1 - start))
    for before, step in zip([None, *steps[:-1]], steps, strict=True):
        move = abs(step.verdict.shares[0] - step.situation.applied[0])
        assert move <= (LIMITS.hot_step if step.hot else LIMITS.step) + EPSILON
        if before is not None:
            assert step.situation.applied == before.verdict.shares
    moves = (Outcome.MOVED, Outcome.REVERTED)
    calm = [s for s in steps if s.verdict.outcome in moves and not s.hot]
    for step in calm:
        hour = [
            other
            for other in steps
            if other.verdict.outcome in moves
            and 0 <= step.situation.now_s - other.situation.now_s < 3600
        ]
        assert len([other for other in hour if not other.hot]) <= LIMITS.changes


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), start=ratios)
def test_shifts_by_chance_keep_to_everything(seed: int, start: float) -> None:
    rng = np.random.default_rng(seed)

    def model(facts: Situation, load: Load) -> Proposal:
        """A valley that is flat or steep, now here, now there."""
        best = round(float(rng.uniform(0.2, 0.8)), 2)
        depth = float(rng.choice([2.0, 10.0, 30.0]))
        return searched([50.0 + depth * abs(r / 100 - best) for r in range(20, 81)])

    loads = [Load(total_rps=load) for load in rng.uniform(10.0, 126.0, 48).tolist()]
    steps = play(model, loads, (start, 1 - start), replace(LIMITS, dither=DitherMode.ALL))
    for step in steps:
        before, after = step.situation.applied, step.verdict.shares
        assert abs(math.fsum(after) - 1.0) <= EPSILON
        assert abs(after[0] - before[0]) <= (LIMITS.hot_step if step.hot else LIMITS.step) + EPSILON
        if step.verdict.outcome is not Outcome.DITHERED:
            continue
        assert not step.hot
        assert LIMITS.low - EPSILON <= after[0] <= LIMITS.high + EPSILON
        limit = max(0.85, step.load.total_rps / 130 + 0.03, max(utilizations(step.load, before)))
        assert max(utilizations(step.load, after)) <= limit + 1e-6


@pytest.mark.parametrize("model", [nothing, constant, inverted])
@pytest.mark.parametrize("start", [0.20, 0.50, 0.80])
@pytest.mark.parametrize("load_rps", [60.0, 100.0, 120.0])
def test_no_model_keeps_a_center_past_its_capacity(
    model: Model, start: float, load_rps: float
) -> None:
    """Law 2: the load is there from the first cycle; five cycles later no centre is past it."""
    steps = play(model, [Load(total_rps=load_rps)] * 24, (start, 1 - start))
    peaks = [max(utilizations(s.load, s.verdict.shares)) for s in steps]
    assert max(peaks[5:]) <= max(0.88, load_rps / 130 + 0.03) + 1e-6
    assert all(after <= max(before, 0.99) for before, after in pairwise(peaks))


@pytest.mark.parametrize("model", [nothing, constant, inverted])
def test_no_model_overloads_while_the_load_grows_and_half_a_center_is_lost(model: Model) -> None:
    growth = [Load(total_rps=40.0 * 1.04**n) for n in range(25)]
    steps = play(model, growth, (0.5, 0.5))
    assert max(max(utilizations(s.load, s.verdict.shares)) for s in steps) < 1.0
    lost = [Load(total_rps=70.0)] * 3 + [Load(total_rps=70.0, capacity_rps=(40.0, 50.0))] * 9
    after = play(model, lost, (0.62, 0.38))
    assert max(utilizations(after[-1].load, after[-1].verdict.shares)) < 0.90


@given(
    roles=st.lists(st.sampled_from(list(Role)), min_size=1, max_size=4),
    weights=st.lists(st.floats(0.0, 1.0), min_size=4, max_size=4),
)
def test_any_number_of_centers_and_roles(roles: list[Role], weights: list[float]) -> None:
    count = len(roles)
    total = math.fsum(weights[:count])
    target = tuple(w / total for w in weights[:count]) if total > 0.1 else (1.0 / count,) * count
    applied = tuple(1.0 / count for _ in range(count))
    kept = centers(tuple(roles), (60.0, 40.0, 30.0, 30.0)[:count])
    two = situation()
    samples = {
        center.name: tuple(
            replace(s, datacenter=center.name, cpu_avg=0.4) for s in two.window.samples["alpha"]
        )
        for center in kept
    }
    facts = replace(two, centers=kept, applied=applied, window=replace(two.window, samples=samples))
    verdict = judge(Proposal(strategy="m", shares=target), facts, GuardState(), LIMITS)
    assert abs(math.fsum(verdict.shares) - 1.0) <= EPSILON
    assert all(share >= -EPSILON for share in verdict.shares)
    step = max(abs(a - b) for a, b in zip(verdict.shares, applied, strict=True))
    assert step <= LIMITS.hot_step + EPSILON
    for center, share, before in zip(kept, verdict.shares, applied, strict=True):
        if not center.active and any(c.active for c in kept):
            assert share <= before + EPSILON


def newest(facts: Situation) -> list[object]:
    return [facts.window.latest(center.name) for center in facts.centers]


@given(target=ratios, applied=ratios, load_rps=st.floats(1.0, 150.0), curve=curves)
def test_the_same_facts_give_the_same_verdict(
    target: float, applied: float, load_rps: float, curve: list[float]
) -> None:
    facts = situation(applied=(applied, 1 - applied), load=Load(total_rps=load_rps))
    proposal = Proposal(strategy="m", shares=(target, 1 - target), curve=curve_of(curve))
    first = judge(proposal, facts, GuardState(), LIMITS)
    assert judge(proposal, facts, GuardState(), LIMITS) == first
