from dataclasses import replace

import pytest

from controlplane.domain.guardrails.envelope import judge
from controlplane.domain.guardrails.limits import EnvelopeLimits, scaled
from controlplane.domain.guardrails.state import GuardState, Outcome, Verdict
from controlplane.domain.strategies.situation import (
    CurvePoint,
    Proposal,
    Shares,
    Situation,
)
from controlplane.domain.topology import Role, StrategyName
from tests.domain.two_centers import (
    CYCLE_S,
    NOW_S,
    Load,
    centers,
    changed,
    codes,
    history,
    law_model,
    make_service,
    situation,
)

LIMITS = EnvelopeLimits()
NEW = GuardState()


def rule(*shares: float, urgent: bool = False) -> Proposal:
    return Proposal(strategy="rule", shares=shares, urgent=urgent)


def valley(best: float, depth: float = 100.0, learned: bool = False) -> Proposal:
    """A curve in ms with its bottom at `best`."""
    curve = tuple(
        CurvePoint(ratio=r / 100, response_time_ms=50.0 + depth * abs(r / 100 - best))
        for r in range(20, 81)
    )
    return Proposal(strategy="model", shares=(best, 1 - best), curve=curve, learned=learned)


def run(
    proposal: Proposal,
    facts: Situation | None = None,
    state: GuardState = NEW,
    limits: EnvelopeLimits = LIMITS,
) -> Verdict:
    return judge(proposal, facts or situation(load=Load(total_rps=60.0)), state, limits)


def many(roles: tuple[Role, ...], applied: Shares) -> Situation:
    capacities = (60.0, 40.0, 30.0, 30.0)[: len(roles)]
    load = Load(total_rps=50.0, capacity_rps=capacities, own=(0.0,) * len(roles))
    facts = situation()
    return replace(
        facts,
        centers=centers(roles, capacities),
        applied=applied,
        window=replace(facts.window, samples=_samples(load, applied)),
    )


def _samples(load: Load, applied: Shares) -> dict[str, tuple[object, ...]]:
    two = history(Load(total_rps=50.0), (0.5, 0.5))
    names = ("alpha", "beta", "gamma", "delta")[: len(applied)]
    return {
        name: tuple(
            replace(
                sample,
                datacenter=name,
                request_rate_rps=load.total_rps * share,
                cpu_avg=load.total_rps * share / capacity,
            )
            for sample in two.samples["alpha"]
        )
        for name, share, capacity in zip(names, applied, load.capacity_rps, strict=True)
    }


def test_a_sound_move_passes() -> None:
    verdict = run(rule(0.53, 0.47))
    assert verdict.outcome is Outcome.MOVED
    assert verdict.shares == (0.53, 0.47)
    assert verdict.notes == ()
    assert verdict.state == GuardState(
        changes_s=(NOW_S,), previous=(0.5, 0.5), moved_to=(0.53, 0.47)
    )


def test_no_difference_is_no_move() -> None:
    verdict = run(rule(0.50004, 0.49996))
    assert verdict.outcome is Outcome.HELD
    assert verdict.shares == (0.5, 0.5)
    assert verdict.state == NEW


# Freshness


def test_old_metrics_hold() -> None:
    facts = replace(situation(), now_s=NOW_S + 121)
    verdict = run(rule(0.53, 0.47), facts)
    assert (verdict.outcome, verdict.shares) == (Outcome.HELD, (0.5, 0.5))
    assert codes(verdict.notes) == ["metrics_stale"]


def test_one_silent_center_is_enough_to_hold() -> None:
    facts = situation()
    samples = {"alpha": facts.window.samples["alpha"]}
    facts = replace(
        facts,
        window=replace(facts.window, samples=samples),
        service=make_service(StrategyName.HYBRID, alpha=0.5, beta=0.5),
    )
    verdict = run(rule(0.53, 0.47), facts)
    assert verdict.outcome is Outcome.HELD
    assert codes(verdict.notes) == ["metrics_stale", "ramping_to_static"]


def test_long_silence_ramps_to_the_static_ratio_and_arrives() -> None:
    facts = replace(
        situation(),
        now_s=NOW_S + 601,
        service=make_service(StrategyName.HYBRID, alpha=0.55, beta=0.45),
    )
    state, seen = NEW, []
    for _ in range(4):
        verdict = run(rule(0.2, 0.8), facts, state)
        seen.append((verdict.outcome, round(verdict.shares[0], 6)))
        state, facts = verdict.state, replace(facts, applied=verdict.shares)
    assert seen == [
        (Outcome.RAMPED, 0.52),
        (Outcome.RAMPED, 0.54),
        (Outcome.RAMPED, 0.55),
        (Outcome.HELD, 0.55),
    ]
    assert state.changes_s == ()


@pytest.mark.parametrize(
    "values", [{"response_time_ms": float("nan")}, {"cpu_avg": 1.5}, {"request_rate_rps": -1.0}]
)
def test_a_sample_that_is_no_fact_holds(values: dict[str, float]) -> None:
    facts = situation()
    verdict = run(rule(0.53, 0.47), replace(facts, window=changed(facts.window, "beta", **values)))
    assert verdict.outcome is Outcome.HELD
    assert codes(verdict.notes) == ["metrics_insane"]


def test_a_standby_center_needs_no_metrics() -> None:
    facts = many((Role.PRIMARY, Role.SAME_CITY, Role.CLOUD), (0.5, 0.5, 0.0))
    kept = {n: s for n, s in facts.window.samples.items() if n != "gamma"}
    facts = replace(facts, window=replace(facts.window, samples=kept))
    assert run(rule(0.53, 0.47, 0.0), facts).outcome is Outcome.MOVED


def test_nothing_in_force_is_left_alone() -> None:
    verdict = run(rule(0.5, 0.5), situation(applied=(0.0, 0.0)))
    assert (verdict.outcome, verdict.shares) == (Outcome.HELD, (0.0, 0.0))


# Bounds and step


def test_the_step_is_limited() -> None:
    verdict = run(rule(0.75, 0.25))
    assert verdict.shares == pytest.approx((0.55, 0.45))
    assert codes(verdict.notes) == ["step_limited"]


def test_two_centers_stay_within_their_bounds() -> None:
    verdict = run(rule(0.95, 0.05), situation(load=Load(total_rps=60.0), applied=(0.78, 0.22)))
    assert verdict.shares == pytest.approx((0.80, 0.20))
    assert codes(verdict.notes) == ["bounded"]


def test_standby_centers_get_nothing_and_may_only_lose() -> None:
    facts = many((Role.PRIMARY, Role.SAME_CITY, Role.DISASTER_RECOVERY), (0.5, 0.48, 0.02))
    verdict = run(rule(0.5, 0.3, 0.2), facts)
    assert codes(verdict.notes) == ["bounded", "step_limited"]
    assert verdict.shares[2] < 0.02
    again = run(rule(0.5, 0.3, 0.2), replace(facts, applied=(0.55, 0.44, 0.01)))
    assert again.shares == pytest.approx((0.6, 0.4, 0.0))


def test_more_centers_have_a_lower_floor() -> None:
    facts = many((Role.PRIMARY, Role.SAME_CITY, Role.SAME_CITY), (0.6, 0.33, 0.07))
    verdict = run(rule(0.62, 0.36, 0.02), facts)
    assert verdict.shares == pytest.approx((0.605, 0.345, 0.05))


def test_a_single_center_keeps_all() -> None:
    facts = many((Role.PRIMARY, Role.CLOUD), (1.0, 0.0))
    verdict = run(rule(0.7, 0.3), facts)
    assert (verdict.outcome, verdict.shares) == (Outcome.HELD, (1.0, 0.0))


def test_automation_evacuates_one_center_at_most() -> None:
    limits = replace(LIMITS, low_of_many=0.0, high=1.0, step=0.10)
    facts = many((Role.PRIMARY, Role.SAME_CITY, Role.SAME_CITY), (0.92, 0.04, 0.04))
    verdict = run(rule(1.0, 0.0, 0.0), facts, limits=replace(limits, capacity_level=2.0))
    assert verdict.shares == facts.applied
    assert "evacuation_limited" in codes(verdict.notes)
    one = run(rule(0.95, 0.05, 0.0), facts, limits=replace(limits, capacity_level=2.0))
    assert one.shares == pytest.approx((0.95, 0.05, 0.0))


@pytest.mark.parametrize(
    "shares",
    [(float("nan"), 0.5), (0.5, float("inf")), (1.5, -0.5), (0.2, 0.2), (0.3, 0.3, 0.4), ()],
)
def test_a_proposal_that_is_no_split_holds(shares: Shares) -> None:
    verdict = run(rule(*shares))
    assert (verdict.outcome, verdict.shares) == (Outcome.HELD, (0.5, 0.5))
    assert codes(verdict.notes) == ["proposal_invalid"]


# Capacity


def test_the_veto_stops_before_a_center_is_full() -> None:
    facts = situation(load=Load(total_rps=85.0), applied=(0.60, 0.40))
    verdict = run(rule(0.45, 0.55), facts)
    # beta: 85 rps on 50 rps; the veto lets it reach 0.85.
    assert verdict.shares[1] == pytest.approx(0.85 * 50 / 85, abs=0.051)
    assert 85 * verdict.shares[1] / 50 <= 0.85 + 1e-9
    tight = situation(load=Load(total_rps=105.0), applied=(0.60, 0.40))
    verdict = run(rule(0.55, 0.45), tight)
    assert codes(verdict.notes) == ["capacity_veto"]
    # The best split has 105 / 130; 0.03 above is the limit.
    assert 105 * verdict.shares[1] / 50 == pytest.approx(max(0.85, 105 / 130 + 0.03))


def test_an_overloaded_split_steps_towards_the_least_loaded_one() -> None:
    facts = situation(load=Load(total_rps=95.0), applied=(0.50, 0.50))
    verdict = run(rule(0.40, 0.60), facts)
    assert 95 * verdict.shares[1] / 50 == pytest.approx(0.85)
    assert codes(verdict.notes) == ["capacity_veto"]
    worse = situation(load=Load(total_rps=95.0), applied=(0.25, 0.75))
    verdict = run(rule(0.20, 0.80), worse)
    assert verdict.shares == pytest.approx((0.40, 0.60))


def test_a_model_that_holds_cannot_keep_a_center_overloaded() -> None:
    facts = situation(load=Load(total_rps=95.0), applied=(0.45, 0.55))
    verdict = run(rule(0.45, 0.55), facts)
    assert verdict.outcome is Outcome.MOVED
    assert verdict.shares == pytest.approx((0.60, 0.40))
    assert codes(verdict.notes) == ["capacity_relief"]
    assert verdict.state.expected_ms == 0


def test_a_declared_ratio_is_not_relieved() -> None:
    facts = situation(load=Load(total_rps=95.0), applied=(0.45, 0.55))
    verdict = run(Proposal(strategy="static", shares=(0.45, 0.55)), facts)
    assert verdict.outcome is Outcome.HELD


def test_when_all_are_full_the_best_split_holds() -> None:
    best = (80 / 130, 50 / 130)
    facts = situation(load=Load(total_rps=128.0), applied=best)
    verdict = run(rule(*best), facts)
    assert (verdict.outcome, verdict.shares) == (Outcome.HELD, best)


def test_saturation_of_the_law_counts() -> None:
    laws = law_model().laws
    model = law_model(laws=(laws[0], replace(laws[1], saturation=0.5)))
    verdict = run(rule(0.45, 0.55), situation(load=Load(total_rps=50.0), model=model))
    assert "capacity_veto" in codes(verdict.notes)


def test_without_cpu_the_declared_capacity_counts() -> None:
    facts = situation(load=Load(total_rps=85.0), applied=(0.5, 0.5))
    facts = replace(facts, window=changed(facts.window, "beta", cpu_avg=None))
    assert "capacity_veto" in codes(run(rule(0.45, 0.55), facts).notes)


def test_without_cpu_and_rate_nothing_moves() -> None:
    facts = situation()
    window = changed(facts.window, "beta", cpu_avg=None, request_rate_rps=None)
    verdict = run(rule(0.53, 0.47), replace(facts, window=window))
    assert codes(verdict.notes) == ["utilization_unknown"]
    assert verdict.outcome is Outcome.HELD


def test_without_traffic_a_move_passes() -> None:
    facts = situation(load=Load(total_rps=0.0))
    assert run(rule(0.53, 0.47), facts).shares == (0.53, 0.47)


# Learning


def test_a_network_stays_where_it_was_trained() -> None:
    model = law_model(ratio_low=0.48, ratio_high=0.51)
    facts = situation(load=Load(total_rps=60.0), model=model)
    verdict = run(valley(0.60, depth=1000.0, learned=True), facts)
    assert verdict.shares == pytest.approx((0.53, 0.47))
    assert codes(verdict.notes) == ["outside_support"]
    inside = run(valley(0.52, depth=1000.0, learned=True), facts)
    assert inside.shares == pytest.approx((0.52, 0.48))
    law = run(valley(0.55, depth=1000.0), facts)
    assert law.shares == pytest.approx((0.55, 0.45))


@pytest.mark.parametrize(("learned", "moves"), [(False, True), (True, False)])
def test_a_move_must_be_worth_it(learned: bool, moves: bool) -> None:
    # 0.05 of a slope of 16 ms: 0.8 ms of 50.8 ms, 1.6 %.
    verdict = run(valley(0.55, depth=16.0, learned=learned))
    assert (verdict.outcome is Outcome.MOVED) is moves
    assert codes(verdict.notes) == ([] if moves else ["gain_too_small"])


def test_a_curve_without_the_shares_in_force_does_not_keep_them_out_of_bounds() -> None:
    facts = situation(load=Load(total_rps=60.0), applied=(0.84, 0.16))
    verdict = run(valley(0.60), facts)
    assert verdict.shares == pytest.approx((0.79, 0.21))
    assert codes(verdict.notes) == ["step_limited", "gain_unknown"]


def test_a_move_to_where_nothing_was_predicted_holds() -> None:
    whole = valley(0.55, depth=1000.0)
    partly = replace(whole, curve=tuple(p for p in whole.curve if p.ratio < 0.53))
    assert codes(run(partly).notes) == ["gain_too_small"]


def test_a_hot_center_is_relieved_without_a_gain() -> None:
    facts = situation(load=Load(total_rps=92.0), applied=(0.50, 0.50))
    flat = valley(0.62, depth=0.0)
    verdict = run(flat, facts)
    assert verdict.outcome is Outcome.MOVED
    assert verdict.shares == pytest.approx((0.62, 0.38))


def after_move(total_rps: float = 60.0) -> tuple[Situation, GuardState]:
    """One cycle after a move from 0.5 to 0.55 that promised 50 ms."""
    facts = situation(applied=(0.55, 0.45), load=Load(total_rps=total_rps))
    state = GuardState(
        changes_s=(NOW_S - CYCLE_S,),
        previous=(0.5, 0.5),
        moved_to=(0.55, 0.45),
        expected_ms=45.0,
    )
    return facts, state


def cycles(facts: Situation, state: GuardState, proposal: Proposal, count: int) -> list[Verdict]:
    """Judge once per cycle with the same metrics coming in."""
    verdicts = []
    for number in range(count):
        now_s = NOW_S + number * CYCLE_S
        load = Load(total_rps=60.0)
        window = history(load, facts.applied, now_s=now_s)
        facts = replace(facts, now_s=now_s, window=window)
        verdicts.append(run(proposal, facts, state))
        state = verdicts[-1].state
        facts = replace(facts, applied=verdicts[-1].shares)
    return verdicts


def test_a_broken_promise_is_undone_after_three_cycles() -> None:
    facts, state = after_move()
    verdicts = cycles(facts, state, rule(0.55, 0.45), 4)
    assert [v.outcome for v in verdicts] == [
        Outcome.HELD,
        Outcome.HELD,
        Outcome.REVERTED,
        Outcome.HELD,
    ]
    assert [v.state.cycles_over for v in verdicts] == [1, 2, 0, 0]
    assert verdicts[2].shares == (0.5, 0.5)
    assert codes(verdicts[2].notes) == ["reverted"]
    reverted_s = NOW_S + 2 * CYCLE_S
    assert verdicts[2].state.reverts_s == (reverted_s,)
    assert verdicts[2].state.hold_until_s == reverted_s + 1800
    assert verdicts[2].state.previous == ()


def test_after_a_revert_nothing_moves_until_the_pause_ends() -> None:
    facts, state = after_move()
    verdicts = cycles(facts, state, rule(0.55, 0.45), 10)
    assert [codes(v.notes) for v in verdicts[3:8]] == [["dwell"], *[["cooling_down"]] * 4]
    assert verdicts[8].outcome is Outcome.MOVED


def test_a_kept_promise_counts_nothing() -> None:
    facts, state = after_move()
    verdicts = cycles(facts, replace(state, expected_ms=100.0, cycles_over=2), rule(0.55, 0.45), 3)
    assert {v.outcome for v in verdicts} == {Outcome.HELD}
    assert verdicts[-1].state.cycles_over == 0


def test_a_higher_load_that_the_model_explains_breaks_no_promise() -> None:
    facts, state = after_move()
    verdicts = cycles(facts, state, valley(0.55), 4)
    assert Outcome.REVERTED not in {v.outcome for v in verdicts}


def test_a_burst_of_pokes_is_one_cycle() -> None:
    facts, state = after_move()
    for _ in range(5):
        verdict = run(rule(0.55, 0.45), facts, state)
        state = verdict.state
    assert verdict.outcome is Outcome.HELD
    assert state.cycles_over == 1


@pytest.mark.parametrize(
    "values",
    [
        {"moved_to": (0.6, 0.4)},
        {"changes_s": (NOW_S - 1801,)},
        {"changes_s": ()},
        {"previous": ()},
        {"expected_ms": 0.0},
    ],
    ids=["moved by others", "long ago", "forgotten", "nothing before", "no promise"],
)
def test_a_void_promise_is_not_watched(values: dict[str, object]) -> None:
    facts, state = after_move()
    state = replace(state, cycles_over=2, **values)  # type: ignore[arg-type]
    verdict = run(rule(0.55, 0.45), facts, state)
    assert verdict.outcome is Outcome.HELD
    assert verdict.state.cycles_over == 0


def test_a_cycle_without_load_is_not_counted() -> None:
    facts, state = after_move(total_rps=0.0)
    verdict = run(rule(0.55, 0.45), facts, replace(state, cycles_over=2))
    assert verdict.state.cycles_over == 2


def test_a_move_by_a_curve_leaves_its_promise() -> None:
    verdict = run(valley(0.55))
    assert verdict.state.expected_ms == pytest.approx(50.0 * 1.10)
    wide = situation(load=Load(total_rps=60.0), model=law_model(residual_spread=0.15))
    assert run(valley(0.55), wide).state.expected_ms == pytest.approx(50.0 * 1.30)


# Pacing


def paced(ago_s: float, *, cycle_rps: float = 60.0) -> tuple[Situation, GuardState]:
    return situation(load=Load(total_rps=cycle_rps)), GuardState(changes_s=(NOW_S - ago_s,))


@pytest.mark.parametrize(("ago_s", "moves"), [(300.0, False), (598.0, True), (600.0, True)])
def test_two_cycles_between_moves(ago_s: float, moves: bool) -> None:
    facts, state = paced(ago_s)
    verdict = run(rule(0.53, 0.47), facts, state)
    assert (verdict.outcome is Outcome.MOVED) is moves
    assert codes(verdict.notes) == ([] if moves else ["dwell"])


def test_dwell_is_waived_when_urgent_alarmed_or_hot() -> None:
    facts, state = paced(300.0)
    assert run(rule(0.53, 0.47, urgent=True), facts, state).outcome is Outcome.MOVED
    alarmed, state = paced(300.0, cycle_rps=82.0)
    assert run(rule(0.53, 0.47), alarmed, state).outcome is Outcome.MOVED
    hot, state = paced(300.0, cycle_rps=90.0)
    assert run(rule(0.60, 0.40), hot, state).shares == (0.60, 0.40)


def test_changes_per_hour_are_bounded_unless_hot() -> None:
    spent = GuardState(changes_s=tuple(NOW_S - 3000 + 300 * n for n in range(6)))
    verdict = run(rule(0.53, 0.47), state=spent)
    assert codes(verdict.notes) == ["change_budget"]
    hot = situation(load=Load(total_rps=92.0))
    assert run(rule(0.53, 0.47), hot, spent).outcome is Outcome.MOVED
    old = GuardState(changes_s=tuple(NOW_S - 3700 + 300 * n for n in range(6)))
    verdict = run(rule(0.53, 0.47), state=old)
    assert verdict.outcome is Outcome.MOVED
    assert len(verdict.state.changes_s) == 6


def test_the_pause_does_not_stop_a_hot_center() -> None:
    hot = situation(load=Load(total_rps=92.0))
    verdict = run(rule(0.55, 0.45), hot, GuardState(hold_until_s=NOW_S + 1000))
    assert verdict.outcome is Outcome.MOVED


def test_time_constants_scale_together() -> None:
    demo = scaled(LIMITS, 1 / 60)
    assert demo.fresh_s == pytest.approx(2.0)
    assert demo.ramp_after_s == pytest.approx(10.0)
    assert demo.cooldown_s == demo.revert_watch_s == pytest.approx(30.0)
    assert demo.changes_window_s == pytest.approx(60.0)
    assert demo.step == LIMITS.step
