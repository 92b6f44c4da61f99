"""Figures of runs that were made by hand."""

import dataclasses
import math

import numpy as np
import pytest

from training.backtest.scores import BEST_STATIC, LIMITED, ORACLE, STATIC, Summary, score

REQUESTS = 1440.0 * 100.0


def summary(label: str, *days_ms: float, seed: int = 0, **more: object) -> Summary:
    """A run whose days have these mean response times, at 100 requests per second."""
    made = Summary(
        label=label,
        seed=seed,
        daily_cost=np.array(days_ms) * REQUESTS,
        daily_requests=np.full(len(days_ms), REQUESTS),
        overload_minutes=0,
    )
    return dataclasses.replace(made, **more)


def references(seed: int = 0) -> list[Summary]:
    """Two days: static 120 ms, the best held ratio 110, limited 105, the oracle 100."""
    return [
        summary(STATIC, 110.0, 130.0, seed=seed),
        summary(BEST_STATIC, 110.0, 110.0, seed=seed),
        summary(LIMITED, 105.0, 105.0, seed=seed),
        summary(ORACLE, 100.0, 100.0, seed=seed),
    ]


def test_percentages_compare_means() -> None:
    runs = [*references(), summary("hybrid", 99.0, 121.0)]
    one = score("W1", "hybrid", runs)
    assert (one.world, one.label, one.seeds, one.days) == ("W1", "hybrid", 1, 2)
    assert one.mean_ms == pytest.approx(110.0)
    assert one.requests_rps == pytest.approx(100.0)
    assert one.vs_static_pct == pytest.approx(-100 / 12)
    assert one.vs_best_static_pct == pytest.approx(0.0)
    assert one.regret_pct == pytest.approx(10.0)
    assert one.limited_regret_pct == pytest.approx((110 / 105 - 1) * 100)
    assert one.gain_share == pytest.approx(0.5)


def test_the_worst_day_is_against_static_on_that_day() -> None:
    runs = [*references(), *references(seed=1)]
    runs += [summary("hybrid", 99.0, 143.0), summary("hybrid", 121.0, 117.0, seed=1)]
    # Slower than static by 10 % on the second day of one seed and on the first of the other.
    assert score("W1", "hybrid", runs).worst_day_vs_static_pct == pytest.approx(10.0)
    better = [*references(), summary("hybrid", 99.0, 117.0)]
    assert score("W1", "hybrid", better).worst_day_vs_static_pct == pytest.approx(-10.0)


def test_requests_weigh() -> None:
    many = summary("hybrid", 100.0, 200.0, daily_requests=np.array([3 * REQUESTS, REQUESTS]))
    many = dataclasses.replace(many, daily_cost=many.daily_requests * np.array([100.0, 200.0]))
    assert many.mean_ms == pytest.approx(125.0)
    assert many.days == 2


def test_spread_is_over_seeds() -> None:
    runs = [*references(), *references(seed=1)]
    runs += [summary("hybrid", 102.0, 102.0), summary("hybrid", 106.0, 106.0, seed=1)]
    one = score("W1", "hybrid", runs)
    assert one.regret_pct == pytest.approx(4.0)
    assert one.regret_sd == pytest.approx(2.0)
    assert one.seeds == 2


def test_counts_are_per_day_and_per_fortnight() -> None:
    counted = summary(
        "hybrid",
        100.0,
        100.0,
        overload_minutes=3,
        moves=14,
        variation=0.7,
        violations=("300: a step of 0.0600, at most 0.05",),
        own_cycles=432,
        cycles=576,
        demotions=1,
        covered=450,
        judged=500,
    )
    one = score("W1", "hybrid", [*references(), counted])
    assert one.overload_minutes_14d == pytest.approx(21.0)
    assert (one.changes_per_day, one.variation_per_day) == (7.0, pytest.approx(0.35))
    assert (one.violations, one.demotions) == (1, 1)
    assert one.own_pct == pytest.approx(75.0)
    assert one.coverage == pytest.approx(0.9)


def test_what_does_not_exist_is_none() -> None:
    one = score("W1", STATIC, references())
    assert one.coverage is None
    assert one.saturation_rps is None
    assert (one.own_pct, one.gain_share, one.vs_static_pct) == (0.0, 0.0, 0.0)
    assert score("W1", ORACLE, references()).gain_share == 1.0


def test_where_static_is_best_there_is_no_gain_to_share() -> None:
    runs = [summary(label, 100.0) for label in (STATIC, BEST_STATIC, LIMITED, ORACLE)]
    one = score("W1", "hybrid", [*runs, summary("hybrid", 101.0)])
    assert one.gain_share == 0.0
    assert math.isfinite(one.regret_pct)


def test_saturation_is_the_mean_over_saturating_minutes_of_all_seeds() -> None:
    runs = [*references(), *references(seed=1)]
    runs += [
        summary("hybrid", 100.0, 100.0, saturated_minutes=10, saturated_requests=5_000.0),
        summary("hybrid", 100.0, 100.0, seed=1, saturated_minutes=30, saturated_requests=7_000.0),
    ]
    assert score("W9", "hybrid", runs).saturation_rps == pytest.approx(300.0)
