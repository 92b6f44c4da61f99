"""A recorded decision is made again from what it recorded, bit for bit, and told in words."""

import math
from dataclasses import replace

import numpy as np
import pytest

from controlplane.domain import canonical
from controlplane.domain.decisions import Decision
from controlplane.domain.errors import Invalid, NotFound
from controlplane.domain.guardrails.state import Outcome
from controlplane.domain.services import StrategyName
from controlplane.domain.strategies.situation import LearnedModel
from controlplane.engine.deciding.explanation import Part, explain
from controlplane.engine.deciding.replay import Origin, Replays
from tests.builders import fleet, sample, service
from tests.domain.two_centers import law_model
from tests.engine.rig import Rig

CYCLE_S = 300.0
PERIOD_S = 60.0


def _replays(rig: Rig) -> Replays:
    return Replays(rig.stores.fleets, rig.stores.models)


async def _lived(
    strategy: StrategyName, model: LearnedModel | None = None, *, dither: bool = False
) -> Rig:
    """A rig that has decided for two hours on metrics that change from minute to minute."""
    rig = Rig()
    if model is not None:
        rig.stores.models.put("tickets", "champion", model)
    await rig.declare(fleet(replace(service("tickets", strategy), dither=dither)))
    await rig.models.restore()
    for minute in range(121):
        rig.clock.time_s += PERIOD_S
        wave = math.sin(minute / 7)
        await rig.intake.accept(
            [
                sample(
                    center,
                    rig.clock.time_s,
                    request_rate_rps=base + 40 * wave + minute % 3,
                    cpu_avg=min(0.5 + base / 1500 + 0.1 * wave, 1.0),
                    response_time_ms=35 + base / 60 + 3 * wave + minute % 5,
                )
                for center, base in (("beijing-1", 500.0), ("beijing-2", 200.0))
            ]
        )
        if minute % 5 == 0:
            await rig.tick()
    return rig


@pytest.mark.parametrize("strategy", [StrategyName.CPU_EQUALIZER, StrategyName.GREYBOX])
async def test_every_decision_is_made_again_bit_for_bit(strategy: StrategyName) -> None:
    rig = await _lived(strategy, law_model())
    decisions = await rig.stores.decisions.recent(None, 100)
    assert strategy in {decision.strategy for decision in decisions}
    assert {Outcome.MOVED, Outcome.HELD} <= {decision.outcome for decision in decisions}
    for decision in decisions:
        for origin in Origin:
            again = await _replays(rig).again(decision, origin)
            assert (again.identical, again.agrees) == (True, True), decision.id
            assert again.verdict.state == decision.state
            assert again.origin is origin


async def test_intervals_and_shifts_by_chance_are_made_again_bit_for_bit() -> None:
    def members(x: np.ndarray) -> np.ndarray:
        return np.stack([0.001 * x[:, 0], 0.01 * x[:, 7], np.zeros(len(x))])

    everywhere = {"feature_low": (-np.inf,) * 14, "feature_high": (np.inf,) * 14}
    model = law_model(ensemble=members, residual_spread=0.03, **everywhere)
    rig = await _lived(StrategyName.HYBRID, model, dither=True)
    decisions = await rig.stores.decisions.recent(None, 100)
    assert Outcome.DITHERED in {decision.outcome for decision in decisions}
    assert decisions[0].state.calibration.judged > 5
    assert any(decision.spreads for decision in decisions)
    for decision in decisions:
        back = canonical.decode(Decision, canonical.encode(decision))
        assert back == decision
        for origin in Origin:
            again = await _replays(rig).again(back, origin)
            assert again.identical, decision.id
            assert again.verdict.state == decision.state


async def test_a_stored_decision_reads_back_as_it_was() -> None:
    rig = await _lived(StrategyName.GREYBOX, law_model())
    for decision in await rig.stores.decisions.recent(None, 5):
        assert canonical.decode(Decision, canonical.encode(decision)) == decision


async def test_a_decision_that_was_tampered_with_differs() -> None:
    rig = await _lived(StrategyName.CPU_EQUALIZER)
    (newest, *_) = await rig.stores.decisions.recent(None, 1)
    for changed, difference in (
        (replace(newest, decided=(0.9, 0.1)), None),
        (replace(newest, outcome=Outcome.RAMPED), math.inf),
        (replace(newest, curve=newest.curve, proposed=(1.0,)), math.inf),
    ):
        again = await _replays(rig).again(changed)
        assert not again.agrees
        assert difference in (None, again.difference)


async def test_without_its_model_the_recorded_proposal_is_judged() -> None:
    rig = await _lived(StrategyName.GREYBOX, law_model())
    (newest, *_) = await rig.stores.decisions.recent(None, 1)
    rig.stores.models.learned.clear()
    again = await _replays(rig).again(newest)
    assert (again.origin, again.identical) == (Origin.RECORD, True)
    assert "no model has the digest" in again.reason


async def test_what_cannot_be_replayed_says_why() -> None:
    rig = await _lived(StrategyName.CAPACITY)
    (newest, *_) = await rig.stores.decisions.recent(None, 1)
    with pytest.raises(Invalid, match="before inputs were recorded"):
        await _replays(rig).again(replace(newest, inputs=None))
    assert newest.inputs is not None
    elsewhere = replace(newest, inputs=replace(newest.inputs, generation=99))
    with pytest.raises(NotFound):
        await _replays(rig).again(elsewhere)


async def test_the_story_names_facts_proposal_guards_and_result() -> None:
    rig = await _lived(StrategyName.GREYBOX, law_model())
    decisions = await rig.stores.decisions.recent(None, 100)
    moved = next(
        one
        for one in decisions
        if one.outcome is Outcome.MOVED and one.strategy is StrategyName.GREYBOX
    )
    steps = explain(await _replays(rig).again(moved))
    assert [step.part for step in steps[:3]] == [Part.FACTS, Part.FACTS, Part.STRATEGY]
    assert [step.name for step in steps[:3]] == ["beijing-1", "beijing-2", "greybox"]
    assert "requests/s" in steps[0].says
    assert "61 candidates" in steps[2].says
    assert steps[-1].part is Part.RESULT
    assert steps[-1].shares == moved.decided
    told = {code for step in steps for code in step.codes}
    assert {note.code for note in moved.notes} <= told
    assert "the coming cycle is expected at" in steps[-1].says
    judged = next(one for one in decisions if one.curve and one.state.calibration.judged)
    result = explain(await _replays(rig).again(judged))[-1]
    assert result.says.endswith("such forecasts held)")
    assert steps[-2].says.startswith("let it pass: ")


async def test_the_story_of_a_service_without_samples() -> None:
    rig = Rig()
    await rig.declare(fleet(service("tickets", StrategyName.CPU_EQUALIZER)))
    await rig.tick()
    (only,) = await rig.stores.decisions.recent(None, 1)
    steps = explain(await _replays(rig).again(only))
    assert steps[0].says.startswith("no sample")
    assert "proposes to stay" in steps[2].says
    assert steps[-1].name == Outcome.HELD
