from dataclasses import replace

import pytest

from controlplane.domain.findings import Observation
from controlplane.domain.guardrails.state import GuardState, Outcome
from controlplane.domain.services import StrategyName
from controlplane.domain.topology import Role
from tests.domain.guardrails.drafting import NEW, many, rule, run
from tests.domain.two_centers import NOW_S, Load, changed, codes, make_service, situation


def test_old_metrics_hold() -> None:
    facts = replace(situation(), now_s=NOW_S + 121)
    verdict = run(rule(0.53, 0.47), facts)
    assert (verdict.outcome, verdict.shares) == (Outcome.HELD, (0.5, 0.5))
    assert codes(verdict.notes) == ["metrics_stale"]
    assert verdict.notes[0].message == "the newest sample of beta is 121 s old, the limit is 120 s"


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
    assert verdict.notes[0].message == "no sample of beta, the limit is 120 s"


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


JUMP = Observation(
    code="metrics_jumped", subject="service/tickets datacenter/beta", message="a hundredfold"
)


def test_suspicious_metrics_hold_and_say_why() -> None:
    facts = replace(situation(load=Load(total_rps=60.0)), suspicions=(JUMP,))
    verdict = run(rule(0.53, 0.47), facts)
    assert (verdict.outcome, verdict.shares) == (Outcome.HELD, (0.5, 0.5))
    (note,) = verdict.notes
    assert note.code == "metrics_jumped"
    assert note.message == "service/tickets datacenter/beta: a hundredfold"


def test_suspicion_is_the_reason_when_the_trusted_metrics_age() -> None:
    facts = replace(situation(), suspicions=(JUMP,), now_s=NOW_S + 121)
    verdict = run(rule(0.53, 0.47), facts)
    assert verdict.outcome is Outcome.HELD
    assert codes(verdict.notes) == ["metrics_jumped", "metrics_stale"]


def test_trusted_metrics_still_relieve_a_hot_center() -> None:
    facts = situation(applied=(0.3, 0.7), load=Load(total_rps=75.0))
    verdict = run(rule(0.3, 0.7), replace(facts, suspicions=(JUMP,)))
    assert verdict.outcome is Outcome.MOVED
    assert verdict.shares[0] > 0.3
    assert codes(verdict.notes) == ["metrics_jumped", "capacity_relief"]


def test_a_move_that_broke_its_promise_is_not_undone_on_suspicious_metrics() -> None:
    facts = situation(applied=(0.55, 0.45), load=Load(total_rps=60.0))
    state = GuardState(
        changes_s=(NOW_S - 900.0,),
        previous=(0.5, 0.5),
        moved_to=(0.55, 0.45),
        expected_ms=1.0,
        cycles_over=2,
    )
    assert run(rule(0.55, 0.45), facts, state).outcome is Outcome.REVERTED
    doubted = run(rule(0.53, 0.47), replace(facts, suspicions=(JUMP,)), state)
    assert (doubted.outcome, doubted.state.cycles_over) == (Outcome.HELD, 2)
