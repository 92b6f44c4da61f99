"""Members of an ensemble: seeds of their own, and whole days drawn with replacement."""

import numpy as np
import pytest

from training.learning.ensemble import MIN_DAYS, drawn_days, member_seeds

DAY_S = 86_400.0


def times(days: float, step_s: float = 300.0) -> np.ndarray:
    return 1.7e9 + np.arange(round(days * DAY_S / step_s)) * step_s


def test_a_network_alone_keeps_the_seed_and_members_have_their_own() -> None:
    assert member_seeds(7, 1) == (7,)
    seeds = member_seeds(7, 5)
    assert len({*seeds, 7}) == 6
    assert seeds == member_seeds(7, 5)
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert not set(seeds) & set(member_seeds(8, 5))


@pytest.mark.parametrize("days", [5.0, 9.3, 28.0])
def test_whole_days_are_drawn(days: float) -> None:
    time_s = times(days)
    drawn = drawn_days(time_s, DAY_S, 1)
    assert drawn.size == time_s.size
    np.testing.assert_array_equal(drawn, drawn_days(time_s, DAY_S, 1))
    assert not np.array_equal(drawn, drawn_days(time_s, DAY_S, 2))
    # Runs of consecutive rows start and end with a day; the last one alone is cut.
    day = np.floor(time_s / DAY_S)
    cuts = np.flatnonzero(np.diff(drawn) != 1) + 1
    for run in np.split(drawn, cuts)[:-1]:
        assert run[0] == 0 or day[run[0]] != day[run[0] - 1]
        assert run[-1] == len(day) - 1 or day[run[-1]] != day[run[-1] + 1]


def test_a_third_of_the_days_is_left_out_on_the_mean() -> None:
    time_s = times(30, step_s=3600.0)
    seen = [np.unique(drawn_days(time_s, DAY_S, seed)).size / time_s.size for seed in range(200)]
    assert np.mean(seen) == pytest.approx(1 - 1 / np.e, abs=0.02)


@pytest.mark.parametrize("days", [0.01, 0.5, MIN_DAYS - 1.5])
def test_with_few_days_stretches_are_drawn(days: float) -> None:
    time_s = times(days)
    drawn = drawn_days(time_s, DAY_S, 3)
    assert drawn.size == time_s.size
    assert drawn.min() >= 0
    assert drawn.max() < time_s.size


def test_scaled_time_has_shorter_days() -> None:
    time_s = times(12)
    np.testing.assert_array_equal(
        drawn_days(time_s / 1200, DAY_S / 1200, 4), drawn_days(time_s, DAY_S, 4)
    )
