"""The skill guard: which ledgers cost a model its service, and what that does."""

from dataclasses import replace

import pytest

from controlplane.domain import canonical
from controlplane.domain.guardrails.ledger import Ledger, Pair
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.guardrails.skill import read
from controlplane.domain.guardrails.state import Demotion, GuardState, Outcome, renewed
from controlplane.domain.services import StrategyName
from controlplane.domain.strategies.registry import LEARNED, propose
from controlplane.domain.strategies.situation import Situation
from tests.domain.guardrails.drafting import LIMITS, run, valley
from tests.domain.two_centers import NOW_S, Load, codes, law_model, situation

MODEL = law_model(residual_spread=0.04)
CALM, BUSY, NEARLY_FULL = 0.5, 0.85, 0.92


def pair(
    error: float | None, persistence: float = 0.01, use: float = CALM, span: float = 0.3
) -> Pair:
    return Pair(
        time_s=NOW_S,
        predicted_ms=None if error is None else 100.0 * (1 + error),
        realised_ms=100.0,
        persisted_ms=100.0 * (1 + persistence),
        span=span,
        use=use,
    )


def ledger(*pairs: Pair) -> Ledger:
    return Ledger(model="m1", pairs=pairs)


def facts(**values: object) -> Situation:
    found = situation(load=Load(total_rps=60.0), model=MODEL)
    return replace(found, **values)  # type: ignore[arg-type]


BAD = ledger(*[pair(0.2)] * 12)


@pytest.mark.parametrize(
    ("pairs", "lost"),
    [
        ([pair(0.2)] * 12, True),
        ([pair(-0.2, 0.2)] * 12, True),
        ([pair(0.2, 0.3)] * 12, False),
        ([pair(0.04, 0.0)] * 12, False),
        ([pair(0.06, 0.0)] * 12, True),
        ([pair(0.09, 0.0, BUSY)] * 12, False),
        ([pair(0.11, 0.0, BUSY)] * 12, True),
        ([pair(0.19, 0.0, NEARLY_FULL)] * 12, False),
        ([pair(0.21, 0.0, NEARLY_FULL)] * 12, True),
        ([pair(0.2)] * 8 + [pair(0.0)] * 4, False),
        ([pair(0.2)] * 9 + [pair(0.0)] * 3, True),
        ([pair(0.2)] * 9 + [pair(0.0, 0.9)] * 3, False),
        ([pair(0.2)] * 6 + [pair(0.04)] * 6, False),
        ([pair(None)] * 3 + [pair(0.0)] * 9, True),
        ([pair(None)] * 2 + [pair(0.0)] * 10, False),
        ([pair(0.0, span=0.0)] * 12, True),
        ([pair(0.0, span=0.0)] * 11 + [pair(0.001, span=0.0)], False),
        ([pair(0.0, span=0.0)] * 11 + [pair(0.0)], False),
    ],
    ids=[
        "bad",
        "as bad as persistence",
        "better than persistence",
        "explained by the error in training",
        "not explained",
        "explained in a busy cycle",
        "not explained in a busy cycle",
        "explained in a nearly full center",
        "not explained in a nearly full center",
        "persistence was better in two thirds",
        "in three quarters",
        "a mean that persistence does not reach",
        "outside in half of the cycles only",
        "no answer in a quarter",
        "no answer in a sixth",
        "the same answer to every question",
        "the same for all candidates, another in another cycle",
        "the same in every cycle, not for all candidates",
    ],
)
def test_when_the_skill_is_lost(pairs: list[Pair], lost: bool) -> None:
    assert read(ledger(*pairs), MODEL, LIMITS).lost is lost


@pytest.mark.parametrize(
    ("pairs", "lost"),
    [
        ([pair(0.19, 0.0)] * 12, False),
        ([pair(0.21, 0.0)] * 12, True),
        ([pair(0.3, 0.2)] * 12, False),
        ([pair(0.3, 0.15)] * 12, True),
        ([pair(0.0, span=0.0)] * 12, True),
        ([pair(None)] * 3 + [pair(0.0)] * 9, True),
    ],
    ids=["a level", "no level", "a storm", "no storm", "the same answer", "no answer"],
)
def test_one_that_has_proved_itself_must_be_far_worse(pairs: list[Pair], lost: bool) -> None:
    proved = replace(ledger(*pairs), judged=2 * LIMITS.skill_cycles)
    assert read(proved, MODEL, LIMITS).lost is lost
    assert read(replace(proved, judged=proved.judged - 1), MODEL, LIMITS).lost


def test_an_error_of_training_that_is_larger_allows_more() -> None:
    found = read(ledger(*[pair(0.2)] * 12), replace(MODEL, residual_spread=0.25), LIMITS)
    assert (found.allowed, found.lost) == (0.25, False)
    assert not read(Ledger(model="m1"), MODEL, LIMITS).lost


def test_a_model_that_says_nothing_is_told_as_such() -> None:
    found = read(ledger(*[pair(0.0, span=0.0)] * 12), MODEL, LIMITS)
    assert found.words == "the same answer to every question over 12 cycles"


def test_a_lost_model_holds_and_is_demoted_with_the_figures() -> None:
    verdict = run(valley(0.55, depth=1000.0), facts(), GuardState(ledger=BAD))
    assert (verdict.outcome, verdict.shares) == (Outcome.HELD, (0.5, 0.5))
    assert codes(verdict.notes) == ["model_demoted"]
    demotion = verdict.state.demotion
    assert demotion is not None
    assert (demotion.model, demotion.time_s) == ("m1", NOW_S)
    assert demotion.reason.startswith("mean error 20.0% over 12 cycles, 12 of them outside")
    assert verdict.state.demoted_model == "m1"


def test_a_ledger_that_is_not_full_or_of_another_model_demotes_nobody() -> None:
    for before in (replace(BAD, pairs=BAD.pairs[1:]), replace(BAD, model="m2")):
        verdict = run(valley(0.55, depth=1000.0), facts(), GuardState(ledger=before))
        assert verdict.outcome is Outcome.MOVED
        assert verdict.state.demotion is None


def test_two_reverts_in_two_hours_demote() -> None:
    times = (NOW_S - 7100.0, NOW_S - 600.0)
    verdict = run(valley(0.55), facts(), GuardState(reverts_s=times))
    assert verdict.state.demotion is not None
    assert verdict.state.demotion.reason == "2 reverts within 7200 s"
    for few in ((NOW_S - 7300.0, NOW_S - 600.0), times[1:]):
        assert run(valley(0.55), facts(), GuardState(reverts_s=few)).state.demotion is None


def test_the_second_revert_is_still_carried_out() -> None:
    state = GuardState(
        changes_s=(NOW_S - 600.0,),
        previous=(0.45, 0.55),
        moved_to=(0.5, 0.5),
        expected_ms=10.0,
        cycles_over=2,
        reverts_s=(NOW_S - 3600.0,),
    )
    verdict = run(valley(0.5, depth=1.0), facts(), replace(state, expected_ms=1.0))
    assert verdict.outcome is Outcome.HELD, "the model predicts what came"
    low = replace(
        valley(0.5), curve=tuple(replace(p, response_time_ms=1.0) for p in valley(0.5).curve)
    )
    verdict = run(low, facts(), state)
    assert verdict.outcome is Outcome.REVERTED
    assert verdict.state.demoted_model == "m1"


def test_a_revert_in_a_hot_site_says_nothing_about_the_model() -> None:
    hot = situation(load=Load(total_rps=93.0), model=MODEL)
    state = GuardState(
        changes_s=(NOW_S - 600.0,),
        previous=(0.45, 0.55),
        moved_to=(0.5, 0.5),
        expected_ms=1.0,
        cycles_over=2,
        reverts_s=(NOW_S - 3600.0,),
    )
    low = replace(
        valley(0.5), curve=tuple(replace(p, response_time_ms=1.0) for p in valley(0.5).curve)
    )
    verdict = run(low, hot, state)
    assert "reverted" in codes(verdict.notes)
    assert verdict.state.demotion is None
    assert verdict.state.reverts_s == state.reverts_s


@pytest.mark.parametrize("strategy", sorted(LEARNED))
def test_a_demoted_strategy_runs_as_the_rule_until_a_promotion(strategy: StrategyName) -> None:
    demotion = Demotion(model="m1", time_s=NOW_S - 300.0, reason="lost")
    without = situation(strategy, load=Load(total_rps=60.0))
    without = replace(without, demoted_model="m1")
    proposal = propose(without)
    assert proposal.strategy == StrategyName.OBSERVED_LAWS
    assert proposal.notes[0].code == "skill_demoted"
    state = run(proposal, without, GuardState(demotion=demotion)).state
    assert (state.demotion, state.ledger) == (demotion, Ledger())
    again = run(valley(0.5), facts(), renewed(state)).state
    assert again.demotion is None
    assert again.ledger.pending is not None


def test_a_demotion_of_a_model_that_is_gone_is_over() -> None:
    demotion = Demotion(model="m1", time_s=NOW_S - 300.0, reason="lost")
    state = run(valley(0.5), facts(model=None), GuardState(demotion=demotion)).state
    assert state.demotion is None


def test_the_rule_is_not_demoted() -> None:
    rule = propose(facts(service=situation(StrategyName.THRESHOLD).service))
    verdict = run(rule, facts(), GuardState(reverts_s=(NOW_S - 60.0, NOW_S - 30.0)))
    assert verdict.state.demotion is None


def test_the_state_survives_its_storage() -> None:
    state = run(valley(0.55), facts(), GuardState(ledger=BAD)).state
    assert canonical.decode(GuardState, canonical.encode(state)) == state
    assert canonical.decode(GuardState, b"{}") == GuardState()


def test_the_limits_are_settings() -> None:
    short = replace(EnvelopeLimits(), skill_cycles=3, skill_margin=0.3)
    assert not read(BAD, MODEL, short).lost
    few = ledger(*[pair(0.4)] * 3)
    assert run(valley(0.5), facts(), GuardState(ledger=few), short).state.demoted_model == "m1"
