"""Shifts by chance: when, how far, and what the other guards make of them."""

import math
from collections import Counter
from dataclasses import replace

import pytest

from controlplane.domain.dither import Dither, DitherMode, sign_of
from controlplane.domain.findings import Observation
from controlplane.domain.guardrails.state import GuardState, Outcome, Verdict
from controlplane.domain.strategies.situation import Muster, Proposal, SharedPool, Situation
from controlplane.domain.topology import Role
from tests.domain.guardrails.drafting import LIMITS, NEW, many, rule, run, valley
from tests.domain.two_centers import (
    CYCLE_S,
    Load,
    codes,
    history,
    law_model,
    situation,
)

ON = replace(LIMITS, dither=DitherMode.ALL)
# Where a shift is cheap the curve is so flat that a move within the step gains little.
EAGER = replace(ON, gain=0.01)
BLOCK_S = ON.dither_cycles * CYCLE_S
QUIET = Load(total_rps=60.0)


def block(sign: int) -> int:
    """A block in which the draw is this one, and the one after it another."""
    return next(
        n for n in range(600, 700) if sign_of("tickets", n) == sign != sign_of("tickets", n + 1)
    )


UP, DOWN, STILL = block(1), block(-1), block(0)


def facts(number: int, cycle: int = 0, **values: object) -> Situation:
    now_s = number * BLOCK_S + cycle * CYCLE_S
    applied = values.get("applied", (0.5, 0.5))
    window = history(QUIET, applied, now_s=now_s)  # type: ignore[arg-type]
    return replace(situation(), **{"now_s": now_s, "window": window, **values})  # type: ignore[arg-type]


def flat() -> Proposal:
    """A curve on which 0.02 cost 0.4 %, a move of 0.05 1 %."""
    return valley(0.5, depth=10.0)


def shift(verdict: Verdict) -> Dither:
    assert verdict.state.dither is not None
    return verdict.state.dither


def shifted(number: int = UP) -> Verdict:
    return run(flat(), facts(number), limits=ON)


@pytest.mark.parametrize(("number", "share", "chance"), [(UP, 0.52, 0.25), (DOWN, 0.48, 0.25)])
def test_a_draw_goes_out_with_its_propensity(number: int, share: float, chance: float) -> None:
    verdict = shifted(number)
    assert verdict.outcome is Outcome.DITHERED
    assert verdict.shares == pytest.approx((share, 1 - share))
    assert codes(verdict.notes) == ["dithered"]
    assert (shift(verdict).block, shift(verdict).propensity) == (number, chance)
    assert shift(verdict).offset == pytest.approx(share - 0.5)
    assert shift(verdict).anchor == (0.5, 0.5)


def test_a_draw_of_nothing_is_logged_too() -> None:
    verdict = shifted(STILL)
    assert (verdict.outcome, verdict.shares, verdict.notes) == (Outcome.HELD, (0.5, 0.5), ())
    assert (shift(verdict).offset, shift(verdict).propensity) == (0.0, 0.5)


@pytest.mark.parametrize("mode", [DitherMode.DECLARED, DitherMode.OFF])
def test_nobody_is_shifted_who_did_not_ask(mode: DitherMode) -> None:
    verdict = run(flat(), facts(UP), limits=replace(ON, dither=mode))
    assert (verdict.outcome, verdict.state.dither) == (Outcome.HELD, None)


def test_a_service_asks_for_itself() -> None:
    asking = replace(situation().service, dither=True)
    declared = replace(ON, dither=DitherMode.DECLARED)
    assert run(flat(), facts(UP, service=asking), limits=declared).outcome is Outcome.DITHERED
    off = replace(ON, dither=DitherMode.OFF)
    assert run(flat(), facts(UP, service=asking), limits=off).outcome is Outcome.HELD


def test_it_lasts_a_block_and_is_no_move() -> None:
    first = shifted()
    for cycle in range(1, 6):
        verdict = run(flat(), facts(UP, cycle, applied=first.shares), first.state, ON)
        assert (verdict.outcome, verdict.shares) == (Outcome.HELD, first.shares)
        assert shift(verdict) == shift(first)
    state = first.state
    assert (state.changes_s, state.previous, state.expected_ms) == ((), (), 0.0)
    after = run(flat(), facts(UP + 1, applied=first.shares), state, ON)
    assert after.outcome is Outcome.DITHERED
    assert after.shares[0] == pytest.approx(0.5 + 0.02 * sign_of("tickets", UP + 1))


def test_a_move_starts_from_the_split_without_the_shift() -> None:
    """0.98 % from the shifted split, 0.58 % from the one that it stands for: not worth it."""
    first, limits = shifted(), replace(ON, gain=0.008)
    toward = valley(0.471, depth=10.0)
    held = run(toward, facts(UP, 1, applied=first.shares), first.state, limits)
    assert "gain_too_small" in codes(held.notes)
    assert held.shares == first.shares


def test_a_move_carries_the_shift_of_its_block() -> None:
    state = shifted().state
    moved = run(valley(0.47, depth=20.0), facts(UP, 1, applied=(0.52, 0.48)), state, EAGER)
    assert moved.outcome is Outcome.MOVED
    assert moved.shares == pytest.approx((0.49, 0.51))
    assert (shift(moved).anchor, shift(moved).propensity) == ((0.47, 0.53), 0.25)


def test_a_move_to_where_a_shift_is_expensive_goes_without() -> None:
    state = shifted().state
    moved = run(valley(0.47), facts(UP, 1, applied=(0.52, 0.48)), state, ON)
    assert moved.outcome is Outcome.MOVED
    assert moved.shares == pytest.approx((0.47, 0.53))
    assert shift(moved).propensity == 1.0


def test_within_a_move_a_draw_keeps_the_step() -> None:
    gentle = valley(0.53, depth=20.0)
    moved = run(gentle, facts(UP), limits=EAGER)
    assert moved.outcome is Outcome.MOVED
    assert moved.shares[0] == pytest.approx(0.55)
    far = run(valley(0.56, depth=15.0), facts(UP), limits=EAGER)
    assert far.shares[0] == pytest.approx(0.55)
    # Up is beyond the step, so only down could have been drawn.
    assert (shift(far).offset, shift(far).propensity) == (0.0, 0.75)
    undrawn = replace(EAGER, dither=DitherMode.OFF)
    assert run(gentle, facts(UP), limits=undrawn).shares[0] == pytest.approx(0.53)
    assert moved.state.previous == (0.5, 0.5)


def test_a_promise_goes_on_over_a_shift() -> None:
    made = GuardState(
        changes_s=(UP * BLOCK_S - CYCLE_S,),
        previous=(0.45, 0.55),
        moved_to=(0.5, 0.5),
        expected_ms=60.0,
    )
    first = run(flat(), facts(UP), made, ON)
    assert (first.state.previous, first.state.expected_ms) == ((0.45, 0.55), 60.0)
    assert first.state.moved_to == first.shares
    state, verdict = first.state, first
    for cycle in range(1, 5):
        now = facts(UP, cycle, applied=(0.52, 0.48))
        late = history(Load(total_rps=90.0), (0.52, 0.48), now_s=now.now_s)
        samples = {
            name: tuple(replace(s, response_time_ms=500.0, cpu_avg=0.5) for s in kept)
            for name, kept in late.samples.items()
        }
        verdict = run(flat(), replace(now, window=replace(late, samples=samples)), state, ON)
        if verdict.outcome is Outcome.REVERTED:
            break
        state = verdict.state
    # From 0.52 with the shift, and a step is a step.
    assert verdict.shares == pytest.approx((0.47, 0.53))
    assert verdict.state.dither is None


def test_a_shift_alone_is_never_undone_as_a_broken_promise() -> None:
    first = shifted()
    state = first.state
    for cycle in range(1, 6):
        now = facts(UP, cycle, applied=first.shares)
        samples = {
            name: tuple(replace(s, response_time_ms=500.0) for s in kept)
            for name, kept in now.window.samples.items()
        }
        now = replace(now, window=replace(now.window, samples=samples))
        verdict = run(flat(), now, state, ON)
        assert verdict.outcome is Outcome.HELD
        state = verdict.state


def test_an_expensive_shift_is_not_drawn() -> None:
    verdict = run(valley(0.5, depth=30.0), facts(UP), limits=ON)
    assert (verdict.outcome, shift(verdict).propensity) == (Outcome.HELD, 1.0)


def test_one_side_may_be_closed() -> None:
    """Bounds: up is beyond 0.80, so what would have been up is nothing."""
    near = facts(
        UP,
        applied=(0.79, 0.21),
        window=history(Load(total_rps=30.0), (0.79, 0.21), now_s=UP * BLOCK_S),
    )
    verdict = run(valley(0.79, depth=10.0), near, limits=ON)
    assert (verdict.outcome, shift(verdict).propensity) == (Outcome.HELD, 0.75)


def test_a_network_stays_in_its_support() -> None:
    model = law_model(ratio_low=0.45, ratio_high=0.495)
    learned = replace(flat(), learned=True)
    verdict = run(learned, facts(UP, model=model), limits=ON)
    assert shift(verdict).propensity == 0.75
    wide = law_model(ratio_low=0.45, ratio_high=0.55)
    assert run(learned, facts(UP, model=wide), limits=ON).outcome is Outcome.DITHERED


def test_no_shift_beyond_capacity() -> None:
    busy = Load(total_rps=104.0)
    shares = (0.6, 0.4)
    now = facts(DOWN, applied=shares, window=history(busy, shares, now_s=DOWN * BLOCK_S))
    verdict = run(valley(0.6, depth=10.0), now, limits=ON)
    # 0.42 of 104 requests/s are 87 % of the second centre.
    assert (verdict.outcome, shift(verdict).offset) == (Outcome.HELD, 0.0)


def test_a_way_back_that_load_has_closed_is_not_taken() -> None:
    first = shifted(UP)
    shares = first.shares
    busy = Load(total_rps=86.0)
    now = facts(UP + 1, applied=shares, window=history(busy, shares, now_s=(UP + 1) * BLOCK_S))
    verdict = run(flat(), now, first.state, ON)
    assert verdict.outcome is Outcome.HELD
    assert verdict.state.dither is None


def hot_facts() -> Situation:
    load = Load(total_rps=120.0)
    return facts(UP, window=history(load, (0.5, 0.5), now_s=UP * BLOCK_S))


def doubted() -> Situation:
    doubt = Observation(code="sample_jump", subject="service/tickets", message="no", held="it")
    return facts(UP, suspicions=(doubt,))


def shared() -> Situation:
    now = facts(UP)
    pool = SharedPool(name="p", use_per_work=0.001, others=10.0)
    return replace(now, centers=tuple(replace(c, shared=pool) for c in now.centers))


def resting() -> GuardState:
    return replace(NEW, hold_until_s=math.inf)


@pytest.mark.parametrize(
    ("now", "state", "proposal"),
    [
        (hot_facts(), NEW, flat()),
        (doubted(), NEW, flat()),
        (facts(UP, window=replace(situation().window, samples={})), NEW, flat()),
        (shared(), NEW, flat()),
        (facts(UP), resting(), flat()),
        (facts(UP), NEW, rule(0.5, 0.5)),
        (facts(UP), NEW, replace(flat(), urgent=True)),
        (facts(UP, muster=Muster(bearing=(True, True), joining=("beta",))), NEW, flat()),
        (
            many((Role.PRIMARY, Role.SAME_CITY, Role.SAME_CITY), (0.4, 0.3, 0.3)),
            NEW,
            rule(0.4, 0.3, 0.3),
        ),
    ],
)
def test_nothing_is_drawn_while_something_else_goes_on(
    now: Situation, state: GuardState, proposal: Proposal
) -> None:
    verdict = run(proposal, now, state, ON)
    assert verdict.outcome is not Outcome.DITHERED
    assert verdict.state.dither is None or not verdict.state.dither.drawn


def test_a_block_that_began_without_a_draw_has_none() -> None:
    began = run(flat(), facts(UP), resting(), ON).state
    assert shift_of(began).propensity == 1.0
    later = run(flat(), facts(UP, 1), replace(began, hold_until_s=0.0), ON)
    assert (later.outcome, shift(later).propensity) == (Outcome.HELD, 1.0)


def shift_of(state: GuardState) -> Dither:
    assert state.dither is not None
    return state.dither


def test_a_shift_that_has_become_expensive_ends_and_stays_away() -> None:
    first = shifted()
    steep = valley(0.5, depth=30.0)
    ended = run(steep, facts(UP, 1, applied=first.shares), first.state, ON)
    assert (ended.outcome, ended.shares) == (Outcome.DITHERED, (0.5, 0.5))
    assert run(flat(), facts(UP, 2), ended.state, ON).outcome is Outcome.HELD


def test_blind_a_shift_stays_and_is_no_draw() -> None:
    first = shifted()
    blind = facts(UP, 1, applied=first.shares, now_s=UP * BLOCK_S + 2 * CYCLE_S)
    verdict = run(flat(), blind, first.state, ON)
    assert verdict.outcome is Outcome.HELD
    assert (shift(verdict).offset, shift(verdict).propensity) == (pytest.approx(0.02), 1.0)


def test_switched_off_it_goes_back() -> None:
    first = shifted()
    back = run(flat(), facts(UP, 1, applied=first.shares), first.state)
    assert (back.outcome, back.shares) == (Outcome.DITHERED, (0.5, 0.5))
    assert back.state.dither is None


def test_what_somebody_else_moved_is_no_shift() -> None:
    first = shifted()
    verdict = run(valley(0.55, depth=10.0), facts(UP, 1, applied=(0.55, 0.45)), first.state)
    assert (verdict.outcome, verdict.state.dither) == (Outcome.HELD, None)


def test_over_weeks_draws_are_fair_and_moves_few() -> None:
    state, applied = NEW, (0.5, 0.5)
    offsets: Counter[float] = Counter()
    changes = 0
    for cycle in range(14 * 288):
        verdict = run(flat(), facts(600, cycle, applied=applied), state, ON)
        state, applied = verdict.state, verdict.shares
        offsets[round(shift(verdict).offset, 3)] += 1
        changes += verdict.outcome is not Outcome.HELD
    total = offsets.total()
    assert offsets[0.0] / total == pytest.approx(0.5, abs=0.06)
    assert offsets[0.02] / total == pytest.approx(0.25, abs=0.06)
    assert 20 <= changes / 14 <= 40
