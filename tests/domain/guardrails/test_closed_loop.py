"""Strategies behind the envelope in a small world that answers: a day, one cycle at a time."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from controlplane.domain.dither import DitherMode
from controlplane.domain.guardrails.envelope import judge
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.guardrails.state import GuardState, Outcome
from controlplane.domain.services import StrategyName
from controlplane.domain.strategies.registry import propose
from controlplane.domain.strategies.situation import LearnedModel, Shares
from controlplane.domain.telemetry import ServiceWindow, extended
from tests.domain.two_centers import (
    CYCLE_S,
    NOW_S,
    PERIOD_S,
    Load,
    law_model,
    make_service,
    mean_ms,
    observe,
    situation,
)

CYCLES = 288
NOISE = 0.02
LIMITS = EnvelopeLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """What a day came to: mean response time, moves, and the last shares."""

    mean_ms: float
    moves: int
    shares: Shares
    state: GuardState


def load_at(minute: float) -> Load:
    """A daily wave, and a load of its own in each centre that shifts over the day."""
    angle = 2 * math.pi * minute / 1440
    return Load(
        total_rps=55.0 - 20.0 * math.cos(angle),
        own=(0.08 + 0.05 * math.sin(angle), 0.08 - 0.05 * math.sin(angle)),
    )


def live_a_day(
    strategy: StrategyName,
    model: LearnedModel | None,
    limits: EnvelopeLimits = LIMITS,
) -> Day:
    rng = np.random.default_rng(5)
    state, applied = GuardState(), (0.5, 0.5)
    window = ServiceWindow(service="tickets")
    cost, requests, moves = 0.0, 0.0, 0
    for minute in range(CYCLES * 5):
        load = load_at(minute)
        now_s = NOW_S + minute * PERIOD_S
        noisy = [
            replace(
                s,
                cpu_avg=float(np.clip((s.cpu_avg or 0) * (1 + NOISE * rng.normal()), 0, 1)),
                response_time_ms=s.response_time_ms * math.exp(NOISE * rng.normal()),
            )
            for s in observe(load, applied, now_s)
        ]
        window = extended(window, noisy, keep_s=3600.0)
        cost += load.total_rps * mean_ms(load, applied)
        requests += load.total_rps
        if minute % 5 == 4:
            facts = replace(situation(), window=window, applied=applied, now_s=now_s, model=model)
            facts = replace(facts, service=make_service(strategy, alpha=0.5, beta=0.5))
            verdict = judge(propose(facts), facts, state, limits)
            moves += verdict.outcome is not Outcome.HELD
            state, applied = verdict.state, verdict.shares
    return Day(mean_ms=cost / requests, moves=moves, shares=applied, state=state)


def fixed_ms() -> float:
    """Mean response time of the day with 0.5 held."""
    loads = [load_at(minute) for minute in range(CYCLES * 5)]
    total = math.fsum(load.total_rps for load in loads)
    return math.fsum(load.total_rps * mean_ms(load, (0.5, 0.5)) for load in loads) / total


def test_a_static_ratio_stays() -> None:
    day = live_a_day(StrategyName.STATIC, None)
    assert day.moves == 0
    assert day.mean_ms == pytest.approx(fixed_ms())


@pytest.mark.parametrize("strategy", [StrategyName.GREYBOX, StrategyName.HYBRID])
def test_the_queue_law_beats_fixed(strategy: StrategyName) -> None:
    day = live_a_day(strategy, law_model(ensemble=lambda x: np.zeros((5, len(x)))))
    assert day.mean_ms < 0.97 * fixed_ms()
    assert day.moves <= 24


def test_shifts_by_chance_cost_next_to_nothing_and_intervals_hold() -> None:
    plain = live_a_day(StrategyName.GREYBOX, law_model(residual_spread=0.02))
    model = law_model(residual_spread=0.02)
    shifted = live_a_day(StrategyName.GREYBOX, model, replace(LIMITS, dither=DitherMode.ALL))
    assert shifted.mean_ms <= 1.002 * plain.mean_ms
    assert plain.moves < shifted.moves <= 60
    for day in (plain, shifted):
        assert day.state.calibration.judged > 250
        assert 0.85 <= (day.state.calibration.coverage or 0.0) <= 0.95


def test_a_network_of_nan_changes_nothing() -> None:
    model = LearnedModel(digest="nan", network=lambda x: np.full(len(x), np.nan))
    facts = situation(StrategyName.PAPER_MLP, load=Load(total_rps=60.0), model=model)
    state = GuardState()
    for cycle in range(12):
        now_s = NOW_S + cycle * CYCLE_S
        window = extended(
            facts.window, observe(Load(total_rps=60.0), facts.applied, now_s), keep_s=3600.0
        )
        facts = replace(facts, now_s=now_s, window=window)
        verdict = judge(propose(facts), facts, state, EnvelopeLimits())
        assert verdict.outcome is Outcome.HELD
        assert verdict.shares == (0.5, 0.5)
        state = verdict.state
    assert replace(state, ledger=GuardState().ledger) == GuardState()
    assert [pair.error for pair in state.ledger.pairs] == [None] * 11


def test_a_network_of_nan_is_no_worse_than_fixed() -> None:
    model = LearnedModel(digest="nan", network=lambda x: np.full(len(x), np.nan))
    day = live_a_day(StrategyName.PAPER_MLP, model)
    assert day.mean_ms <= 1.0001 * fixed_ms()
