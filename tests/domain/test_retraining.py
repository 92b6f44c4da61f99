"""The policy of retraining: why, when, and on which rows."""

import math
from dataclasses import replace

import pytest

from controlplane.domain.retraining import (
    Cause,
    Coverage,
    Generation,
    RetrainingLimits,
    RowChoice,
    TrainingFacts,
    due,
    scaled,
)

LIMITS = RetrainingLimits()
DAY_S = 86_400.0
NOW_S = 100 * DAY_S
TRAINED = TrainingFacts(
    now_s=NOW_S, tried_s=NOW_S - 2 * DAY_S, trained_s=NOW_S - 2 * DAY_S, spread=0.05
)
WRONG = (0.13,) * 6


def test_a_week_after_the_last_model() -> None:
    assert due(TRAINED, LIMITS) is None
    old = replace(TRAINED, trained_s=NOW_S - 7 * DAY_S)
    assert due(old, LIMITS) is Cause.WEEKLY


def test_early_when_six_cycles_are_wrong() -> None:
    assert due(replace(TRAINED, errors=WRONG), LIMITS) is Cause.MISTAKEN
    assert due(replace(TRAINED, errors=(9.0, *(0.119,) * 6)), LIMITS) is None
    assert due(replace(TRAINED, errors=WRONG[:5]), LIMITS) is None
    signed = tuple(-error for error in WRONG)
    assert due(replace(TRAINED, errors=signed), LIMITS) is Cause.MISTAKEN


def test_two_huge_errors_are_not_six_large_ones() -> None:
    assert due(replace(TRAINED, errors=(0.05,) * 4 + (2.0, -2.0)), LIMITS) is None
    assert due(replace(TRAINED, errors=(0.12,) * 3 + (2.0, -2.0, 2.0)), LIMITS) is Cause.MISTAKEN


def test_early_when_the_errors_are_small_and_on_one_side() -> None:
    # Under 2.4 spreads of 0.05, but over 4.2 standard errors of a mean of 48.
    assert due(replace(TRAINED, errors=(0.06,) * 48), LIMITS) is Cause.DRIFTED
    assert due(replace(TRAINED, errors=(0.06, -0.06) * 24), LIMITS) is None


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_no_prediction_counts_as_wrong(value: float) -> None:
    errors = (0.01, 0.01, value, 0.01, 0.01, 0.01)
    assert due(replace(TRAINED, errors=errors), LIMITS) is Cause.MISTAKEN


def test_an_unknown_spread_says_nothing() -> None:
    assert due(replace(TRAINED, errors=WRONG, spread=0.0), LIMITS) is None
    assert due(replace(TRAINED, errors=WRONG, spread=math.nan), LIMITS) is None


def test_not_while_busy_and_not_right_after_a_try() -> None:
    wrong = replace(TRAINED, errors=WRONG, trained_s=NOW_S - 9 * DAY_S)
    assert due(replace(wrong, busy=True), LIMITS) is None
    assert due(replace(wrong, tried_s=NOW_S - 3600.0), LIMITS) is None


def test_the_first_training_waits_for_rows_and_hours() -> None:
    fresh = TrainingFacts(now_s=NOW_S)
    assert due(fresh, LIMITS) is None
    enough = Coverage(first_s=NOW_S - DAY_S, rows=1_440)
    assert due(replace(fresh, coverage=enough), LIMITS) is Cause.FIRST
    assert due(replace(fresh, coverage=replace(enough, rows=999)), LIMITS) is None
    assert due(replace(fresh, coverage=replace(enough, first_s=NOW_S - 3600)), LIMITS) is None
    # What was learned once is not judged by its coverage.
    assert due(replace(TRAINED, coverage=enough), LIMITS) is None


def test_times_scale_together() -> None:
    small = scaled(LIMITS, 1 / 1200)
    assert small.interval_s == pytest.approx(504.0)
    assert small.newest_s / small.cooldown_s == LIMITS.newest_s / LIMITS.cooldown_s
    assert (small.kept, small.error_ratio, small.first_rows) == (0.9, 2.4, 1_000)


def choice(*days: float) -> RowChoice:
    return RowChoice(
        generations=tuple(
            Generation(time_s=day * DAY_S, seed=seed) for seed, day in enumerate(days)
        ),
        newest_s=LIMITS.newest_s,
        kept=LIMITS.kept,
    )


def taken(chosen: RowChoice, low_day: float, high_day: float) -> float:
    """Share of the rows of these days that are used, at ten minutes' distance."""
    count = round((high_day - low_day) * 144)
    times = [low_day * DAY_S + 600.0 * (n + 1) for n in range(count)]
    return sum(chosen.takes(time_s) for time_s in times) / count


def test_the_first_training_takes_all() -> None:
    assert taken(choice(7), 0, 7) == 1.0
    assert taken(choice(7), 7, 8) == 0.0


def test_a_week_later_nine_tenths_of_the_earlier_rows_and_two_days() -> None:
    second = choice(7, 14)
    assert taken(second, 0, 7) == pytest.approx(0.9, abs=0.03)
    assert taken(second, 7, 12) == 0.0
    assert taken(second, 12, 14) == 1.0
    assert taken(second, 14, 15) == 0.0


def test_the_share_of_old_rows_falls_with_each_training() -> None:
    third = choice(7, 14, 21)
    assert taken(third, 0, 7) == pytest.approx(0.81, abs=0.04)
    assert taken(third, 12, 14) == pytest.approx(0.9, abs=0.06)
    assert taken(third, 19, 21) == 1.0


def test_a_row_that_was_dropped_never_comes_back() -> None:
    times = [600.0 * n for n in range(1, 1000)]
    second, third = choice(7, 14), choice(7, 14, 21)
    assert all(second.takes(time_s) for time_s in times if third.takes(time_s))
