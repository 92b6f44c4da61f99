"""Anchors: what is measured corrects a law's level, as far as noise does not explain it."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.domain.guardrails.draft import predicted_ms
from controlplane.domain.services import StrategyName
from controlplane.domain.strategies.anchoring import anchored
from controlplane.domain.strategies.queue_law import CenterLaw
from controlplane.domain.strategies.registry import propose
from controlplane.domain.strategies.situation import LearnedModel, Situation
from tests.domain.two_centers import (
    LAWS,
    Load,
    changed,
    history,
    law_model,
    mean_ms,
    situation,
)

# Of a law's level, as a logarithm.
MOST = 0.3
# Half a standard error of four periods, of a model that says nothing about its own errors.
UNKNOWN = 0.05 / 4


def measured(factor: float, spread: float = 0.0, center: str = "alpha") -> Situation:
    """One data centre is slower by a factor than its law says."""
    facts = situation(model=law_model(residual_spread=spread))
    index = ("alpha", "beta").index(center)
    time_ms = facts.window.samples[center][-1].response_time_ms * factor
    assert LAWS[index].base_ms < time_ms / factor
    return replace(facts, window=changed(facts.window, center, response_time_ms=time_ms))


def ratios(facts: Situation, laws: tuple[CenterLaw, ...] = LAWS) -> tuple[float, ...]:
    """What each law was multiplied with, the same for both of its times."""
    found = anchored(facts, laws)
    for law, before in zip(found, laws, strict=True):
        assert replace(law, base_ms=before.base_ms, wait_ms=before.wait_ms) == before
        assert law.wait_ms / before.wait_ms == pytest.approx(law.base_ms / before.base_ms)
    return tuple(law.base_ms / before.base_ms for law, before in zip(found, laws, strict=True))


def test_a_sound_law_stays_as_it_is() -> None:
    facts = situation(model=law_model())
    assert anchored(facts, LAWS) == LAWS
    assert anchored(replace(facts, model=None), LAWS) == LAWS


@pytest.mark.parametrize("center", ["alpha", "beta"])
@pytest.mark.parametrize("off", [-0.2, -0.02, 0.02, 0.2])
def test_each_law_goes_as_far_as_noise_does_not_explain(off: float, center: str) -> None:
    found = dict(
        zip(("alpha", "beta"), ratios(measured(math.exp(off), center=center)), strict=True)
    )
    beyond = math.copysign(abs(off) - UNKNOWN, off)
    assert math.log(found.pop(center)) == pytest.approx(beyond)
    assert set(found.values()) == {1.0}


@pytest.mark.parametrize("off", [-2.0, -0.35, 0.35, 2.0])
def test_no_law_goes_further_than_the_most(off: float) -> None:
    assert math.log(ratios(measured(math.exp(off)))[0]) == pytest.approx(math.copysign(MOST, off))


@pytest.mark.parametrize(
    ("spread", "explained"),
    [(0.2, 0.05), (0.0, UNKNOWN), (math.nan, UNKNOWN), (math.inf, UNKNOWN), (-1.0, UNKNOWN)],
)
def test_the_more_the_model_errs_the_more_is_noise(spread: float, explained: float) -> None:
    assert ratios(measured(math.exp(0.9 * explained), spread))[0] == 1.0
    assert math.log(ratios(measured(math.exp(0.2), spread))[0]) == pytest.approx(0.2 - explained)


def test_one_period_explains_more_than_four() -> None:
    facts = measured(math.exp(0.2))
    (newest,) = facts.window.samples["alpha"][-1:]
    single = {**facts.window.samples, "alpha": (newest,)}
    facts = replace(facts, window=replace(facts.window, samples=single))
    assert math.log(ratios(facts)[0]) == pytest.approx(0.2 - 0.05 / 2)


@pytest.mark.parametrize(
    "values",
    [{"cpu_avg": None}, {"response_time_ms": 0.0}, {"response_time_ms": -1.0}],
    ids=["no cpu", "no time", "negative time"],
)
def test_without_a_measurement_nothing_is_known(values: dict[str, float | None]) -> None:
    facts = measured(1.2)
    facts = replace(facts, window=changed(facts.window, "alpha", **values))
    assert ratios(facts) == (1.0, 1.0)
    silent = replace(facts, window=replace(facts.window, samples={}))
    assert ratios(silent) == (1.0, 1.0)


@pytest.mark.parametrize("base_ms", [math.nan, math.inf, -1000.0])
def test_a_law_without_an_answer_is_left_alone(base_ms: float) -> None:
    broken = replace(LAWS[0], base_ms=base_ms)
    found = anchored(measured(1.2), (broken, LAWS[1]))
    assert found[0] is broken
    assert found[1] == LAWS[1]


def test_the_choice_follows_the_level_that_is_measured() -> None:
    """Laws that hold beta to be 20 % faster than it is choose as those that know."""
    slower = replace(LAWS[1], base_ms=LAWS[1].base_ms / 1.2, wait_ms=LAWS[1].wait_ms / 1.2)
    load, start = Load(), (0.5, 0.5)
    right = situation(StrategyName.GREYBOX, start, load, law_model())
    wrong = replace(right, model=law_model(laws=(LAWS[0], slower)))
    assert propose(wrong).shares[0] == pytest.approx(propose(right).shares[0], abs=0.01)
    assert mean_ms(load, propose(wrong).shares) < mean_ms(load, start)


@pytest.mark.parametrize("factor", [0.8, 1.25, 3.0])
def test_the_forecast_stays_the_models_own(factor: float) -> None:
    """An anchor tells where to go; how wrong the model is must still be seen."""
    facts = measured(factor)
    facts = replace(facts, service=replace(facts.service, strategy=StrategyName.GREYBOX))
    sound = situation(StrategyName.GREYBOX, model=law_model())
    forecasts = [predicted_ms(propose(each), each.applied) for each in (facts, sound)]
    assert forecasts[0] == pytest.approx(forecasts[1])
    assert propose(facts).curve != propose(sound).curve


@settings(max_examples=50, deadline=None)
@given(
    base_ms=st.floats(1e-3, 1e6),
    times_ms=st.lists(st.floats(1e-3, 1e9), min_size=1, max_size=6),
    cpu=st.floats(0.0, 1.0),
    spread=st.floats(0.0, 10.0),
)
def test_whatever_is_measured_a_law_stays_positive_and_finite(
    base_ms: float, times_ms: list[float], cpu: float, spread: float
) -> None:
    window = history(Load(), (0.5, 0.5), periods=len(times_ms))
    samples = tuple(
        replace(sample, response_time_ms=time_ms, cpu_avg=cpu)
        for sample, time_ms in zip(window.samples["alpha"], times_ms, strict=True)
    )
    model = LearnedModel(digest="m", residual_spread=spread)
    facts = replace(
        situation(model=model),
        window=replace(window, samples={**window.samples, "alpha": samples}),
    )
    law = anchored(facts, (replace(LAWS[0], base_ms=base_ms), LAWS[1]))[0]
    assert math.exp(-MOST) <= law.base_ms / base_ms * (1 + 1e-12)
    assert law.base_ms / base_ms <= math.exp(MOST) * (1 + 1e-12)
    assert np.isfinite([law.base_ms, law.wait_ms]).all()
    assert law.wait_ms > 0
