from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from controlplane.domain.services import StrategyName
from controlplane.domain.strategies.candidates import GRID, objective
from controlplane.domain.strategies.center_use import fitted_uses
from controlplane.domain.strategies.projection import projected_loads
from controlplane.domain.strategies.registry import propose
from controlplane.domain.strategies.situation import LearnedModel, Situation
from controlplane.domain.topology import Role
from tests.domain.decided import EVERYWHERE, RATIO
from tests.domain.two_centers import (
    LAWS,
    Load,
    alone,
    centers,
    changed,
    codes,
    law_model,
    mean_ms,
    situation,
)

FloatArray = NDArray[np.float64]
GREY = (StrategyName.GREYBOX, StrategyName.HYBRID)


def along(facts: Situation) -> FloatArray:
    """The objective by the laws of this world."""
    return objective(facts, LAWS, fitted_uses(facts))


def no_correction(x: FloatArray) -> FloatArray:
    """Five members that all agree with the law."""
    return np.zeros((5, len(x)))


@pytest.mark.parametrize("total_rps", [30.0, 60.0, 90.0, 99.0])
def test_the_curve_of_a_world_it_knows_is_lowest_at_the_best_ratio(total_rps: float) -> None:
    load = Load(total_rps=total_rps)
    best = min(GRID, key=lambda r: mean_ms(load, (r, 1 - r)))
    proposal = propose(situation(StrategyName.GREYBOX, load=load, model=law_model()))
    assert min(proposal.curve, key=lambda p: p.response_time_ms).ratio == pytest.approx(best)
    assert not proposal.learned


@pytest.mark.parametrize("start", [0.45, 0.5, 0.7])
@pytest.mark.parametrize("total_rps", [30.0, 60.0, 90.0])
def test_it_goes_as_far_as_the_way_is_worth_it(total_rps: float, start: float) -> None:
    """From anywhere: the ratio with the smallest response time times 1 + 0.3 of the way there."""
    load = Load(total_rps=total_rps)

    def price_ms(ratio: float) -> float:
        return mean_ms(load, (ratio, 1 - ratio)) * (1 + 0.3 * abs(ratio - start))

    facts = situation(StrategyName.GREYBOX, (start, 1 - start), load, law_model())
    assert propose(facts).shares[0] == pytest.approx(min(GRID, key=price_ms))


def test_the_curve_is_the_response_time() -> None:
    load = Load()
    curve = along(situation(load=load))
    truth = [mean_ms(load, (r, 1 - r)) for r in GRID]
    np.testing.assert_allclose(curve, truth, rtol=1e-9)


def test_a_lost_half_of_a_center_moves_the_optimum_at_once() -> None:
    whole = propose(situation(StrategyName.GREYBOX, model=law_model()))
    halved = Load(total_rps=60.0, capacity_rps=(40.0, 50.0))
    lost = propose(situation(StrategyName.GREYBOX, load=halved, model=law_model()))
    assert lost.shares[0] < whole.shares[0] - 0.1


def test_a_saturation_below_full_cpu_counts() -> None:
    laws = (LAWS[0], replace(LAWS[1], saturation=0.6))
    plain = propose(situation(StrategyName.GREYBOX, model=law_model()))
    early = propose(situation(StrategyName.GREYBOX, model=law_model(laws=laws)))
    assert early.shares[0] > plain.shares[0]


def test_the_profile_projects_the_load_ahead() -> None:
    rising = tuple(0.5 + part / 288 for part in range(288))
    flat = along(situation())
    ahead = along(situation(model=law_model(profile=rising)))
    assert (ahead > flat).all()
    constant = along(situation(model=law_model(profile=(1.0,) * 24)))
    np.testing.assert_allclose(constant, flat)


def test_the_profile_scales_with_time() -> None:
    rising = law_model(profile=tuple(0.5 + part / 288 for part in range(288)))
    facts = situation(model=rising)
    # The same moment of the day, seven times as fast.
    fast = replace(
        facts,
        now_s=facts.now_s / 7,
        period_s=facts.period_s / 7,
        cycle_s=facts.cycle_s / 7,
        day_s=facts.day_s / 7,
    )
    np.testing.assert_allclose(projected_loads(fast), projected_loads(facts))


@pytest.mark.parametrize("strategy", GREY)
def test_without_cpu_the_declared_capacity_stands_in(strategy: StrategyName) -> None:
    facts = situation(strategy, model=law_model())
    facts = replace(facts, window=changed(facts.window, "beta", cpu_avg=None))
    assert propose(facts).strategy == "greybox"
    assert "cpu_missing" in codes(propose(facts).notes)
    assert propose(facts).shares == propose(situation(strategy, model=law_model())).shares


@pytest.mark.parametrize("strategy", GREY)
@pytest.mark.parametrize(
    ("model", "code"),
    [(None, "model_missing"), (LearnedModel(digest="m"), "laws_untrusted")],
    ids=["none", "untrusted"],
)
def test_without_laws_those_of_what_is_measured_answer(
    strategy: StrategyName, model: LearnedModel | None, code: str
) -> None:
    proposal = propose(situation(strategy, model=model))
    assert proposal.strategy == "observed_laws"
    assert codes(proposal.notes) == [code]


@pytest.mark.parametrize("strategy", GREY)
def test_unknown_use_goes_down_the_whole_ladder(strategy: StrategyName) -> None:
    facts = situation(strategy, model=law_model())
    window = changed(facts.window, "beta", cpu_avg=None, request_rate_rps=None)
    proposal = propose(replace(facts, window=window))
    assert proposal.strategy == "capacity"
    assert codes(proposal.notes) == ["load_unknown", "cpu_missing"]


@pytest.mark.parametrize("strategy", GREY)
def test_a_silent_center_holds(strategy: StrategyName) -> None:
    facts = situation(strategy, model=law_model())
    facts = replace(facts, window=replace(facts.window, samples={}))
    assert codes(propose(facts).notes) == ["metrics_missing"]
    assert propose(facts).shares == facts.applied


def test_bandwidth_stands_in_for_the_rate() -> None:
    facts = situation(StrategyName.GREYBOX, model=law_model())
    window = changed(facts.window, "beta", request_rate_rps=None)
    assert propose(replace(facts, window=window)).shares == propose(facts).shares


def test_without_traffic_every_ratio_is_judged_at_no_load() -> None:
    proposal = propose(situation(StrategyName.GREYBOX, load=Load(total_rps=0.0), model=law_model()))
    empty = [ratio * LAWS[0].base_ms + (1 - ratio) * LAWS[1].base_ms for ratio in GRID]
    assert [p.response_time_ms for p in proposal.curve] == pytest.approx(empty)
    # 12 % for a whole share is not worth the way.
    assert proposal.shares[0] == 0.5


def test_a_single_center_has_no_choice() -> None:
    facts = replace(
        situation(StrategyName.HYBRID, model=law_model()),
        centers=centers((Role.PRIMARY,), (60.0,)),
        applied=(1.0,),
    )
    assert "not_two_centers" in codes(propose(facts).notes)


def test_hybrid_corrects_within_five_percent() -> None:
    def wild(x: FloatArray) -> FloatArray:
        return 100.0 * (x[:, RATIO] - 0.5)

    grey = propose(situation(StrategyName.GREYBOX, model=law_model()))
    model = law_model(ensemble=alone(wild), **EVERYWHERE)
    proposal = propose(situation(StrategyName.HYBRID, model=model))
    assert proposal.strategy == "hybrid"
    factors = [
        mine.response_time_ms / plain.response_time_ms
        for mine, plain in zip(proposal.curve, grey.curve, strict=True)
    ]
    assert min(factors) == pytest.approx(np.exp(-0.05))
    assert max(factors) == pytest.approx(np.exp(0.05))


def test_the_correction_is_the_mean_of_the_members() -> None:
    def members(x: FloatArray) -> FloatArray:
        return np.stack([np.full(len(x), value) for value in (0.01, 0.02, 0.03)])

    grey = propose(situation(StrategyName.GREYBOX, model=law_model()))
    proposal = propose(situation(model=law_model(ensemble=members, **EVERYWHERE)))
    assert [p.response_time_ms for p in proposal.curve] == pytest.approx(
        [np.exp(0.02) * p.response_time_ms for p in grey.curve]
    )


def test_how_far_the_members_lie_apart_is_the_spread() -> None:
    def members(x: FloatArray) -> FloatArray:
        apart = x[:, RATIO] - 0.2
        return np.stack([-apart, 0 * apart, apart])

    proposal = propose(situation(model=law_model(ensemble=members, **EVERYWHERE)))
    np.testing.assert_allclose(proposal.spreads, GRID - 0.2, atol=1e-5)
    grey = propose(situation(StrategyName.GREYBOX, model=law_model()))
    assert [p.response_time_ms for p in proposal.curve] == pytest.approx(
        [p.response_time_ms for p in grey.curve]
    )
    assert grey.spreads == ()


def test_outside_the_training_the_nearest_correction_goes_on() -> None:
    def sloped(x: FloatArray) -> FloatArray:
        return 0.1 * (x[:, RATIO] - 0.5)

    low, high = [-np.inf] * 14, [np.inf] * 14
    low[RATIO], high[RATIO] = 0.45, 0.55
    model = law_model(ensemble=alone(sloped), feature_low=tuple(low), feature_high=tuple(high))
    grey = propose(situation(StrategyName.GREYBOX, model=law_model()))
    proposal = propose(situation(StrategyName.HYBRID, model=model))
    factor = {
        mine.ratio: mine.response_time_ms / plain.response_time_ms
        for mine, plain in zip(proposal.curve, grey.curve, strict=True)
    }
    assert factor[0.80] == pytest.approx(factor[0.55])
    assert factor[0.20] == pytest.approx(factor[0.45])
    assert factor[0.52] == pytest.approx(np.exp(0.002))


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({}, "residual_missing"),
        ({"ensemble": no_correction}, "residual_outside_range"),
        (
            {"ensemble": lambda x: np.full((5, len(x)), np.nan), **EVERYWHERE},
            "residual_outside_range",
        ),
        (
            {
                "ensemble": no_correction,
                "feature_low": (2.0,) * 14,
                "feature_high": (3.0,) * 14,
            },
            "residual_outside_range",
        ),
    ],
    ids=["none", "no range", "nan", "elsewhere"],
)
def test_without_a_usable_residual_hybrid_is_greybox(values: dict[str, object], code: str) -> None:
    proposal = propose(situation(StrategyName.HYBRID, model=law_model(**values)))
    assert proposal.strategy == "greybox"
    assert codes(proposal.notes) == [code]


def test_hybrid_is_greybox_while_one_center_has_no_traffic() -> None:
    model = law_model(ensemble=no_correction, **EVERYWHERE)
    proposal = propose(situation(StrategyName.HYBRID, applied=(1.0, 0.0), model=model))
    assert proposal.strategy == "greybox"
    assert codes(proposal.notes) == ["share_too_small", "cpu_missing"]


@pytest.mark.parametrize("strategy", GREY)
def test_laws_beyond_floats_are_the_models_failure(strategy: StrategyName) -> None:
    beyond = replace(LAWS[0], base_ms=1e308, contention=1e308)
    facts = situation(strategy, load=Load(total_rps=60.0), model=law_model(laws=(beyond, beyond)))
    proposal = propose(facts)
    assert (proposal.failed, proposal.shares) == (True, facts.applied)
    assert codes(proposal.notes) == ["prediction_not_finite"]
