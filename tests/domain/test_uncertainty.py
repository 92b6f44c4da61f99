"""Intervals: ends, quantile, and coverage of whatever comes."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from controlplane.domain.uncertainty import (
    FEW_SCORES,
    LEAST_SPREAD,
    MOST_SCORES,
    NORMAL_90,
    Calibration,
    Interval,
    combined,
    foreseen,
    judged,
)

SAID = Interval(
    time_s=0.0,
    shares=(0.5, 0.5),
    predicted_ms=50.0,
    spread=0.02,
    held_out=0.02,
    quantile=0.0,
)


def lived(errors: Iterator[float] | list[float]) -> Calibration:
    """The calibration after cycles whose log errors are these."""
    calibration = Calibration()
    for error in errors:
        calibration = judged(foreseen(calibration, SAID), 50.0 * math.exp(error))
    return calibration


def noise(kind: str, cycles: int) -> Iterator[float]:
    rng = np.random.default_rng(3)
    before = 0.0
    for cycle in range(cycles):
        before = 0.9 * before + 0.01 * rng.normal()
        yield {
            "white": 0.03 * rng.normal(),
            "correlated": before,
            "by the hour": 0.03 * rng.normal() * (1 + 0.8 * math.sin(cycle / 46)),
            "heavy": 0.03 * rng.standard_t(2),
            "shifted": 0.01 * rng.normal() + (0.2 if cycle > 2000 else 0.0),
        }[kind]


@pytest.mark.parametrize("kind", ["white", "correlated", "by the hour", "heavy", "shifted"])
def test_nine_in_ten_hold_over_two_weeks(kind: str) -> None:
    calibration = lived(noise(kind, 4032))
    assert calibration.judged == 4032
    assert 1 - calibration.missed / calibration.judged == pytest.approx(0.9, abs=0.01)
    assert len(calibration.scores) == MOST_SCORES


def test_the_quantile_is_that_of_the_noise() -> None:
    calibration = lived(noise("white", 4032))
    # 0.03 of noise at a spread of 0.02.
    assert calibration.quantile == pytest.approx(NORMAL_90 * 1.5, rel=0.2)


def test_a_short_past_is_no_narrower_than_a_normal_one() -> None:
    assert Calibration().quantile == NORMAL_90
    assert lived([0.0] * (FEW_SCORES - 1)).quantile == NORMAL_90
    assert lived([0.0] * FEW_SCORES).quantile == 0.0
    assert lived([0.1]).quantile == pytest.approx(5.0, abs=0.5)


def test_many_misses_widen_beyond_every_score() -> None:
    calm = lived([0.001] * FEW_SCORES)
    missing = replace(calm, alpha=-0.1)
    assert missing.quantile == pytest.approx(2 * calm.scores[0] / 100)


def test_every_hit_narrows_a_little_and_a_miss_widens_a_lot() -> None:
    hit = judged(foreseen(Calibration(), SAID), 50.0)
    assert hit.alpha == pytest.approx(0.101)
    assert (hit.judged, hit.missed, hit.misses, hit.coverage) == (1, 0, (), 1.0)
    miss = judged(foreseen(hit, SAID), 100.0)
    assert miss.alpha == pytest.approx(0.092)
    assert (miss.judged, miss.missed, miss.misses, miss.coverage) == (2, 1, (2,), 0.5)


def test_coverage_is_of_the_last_day() -> None:
    assert Calibration().coverage is None
    calibration = lived([9.0, *[0.0] * MOST_SCORES])
    assert (calibration.missed, calibration.coverage) == (1, 1.0)


def test_nothing_is_judged_that_was_not_said() -> None:
    assert judged(Calibration(), 50.0) == Calibration()


def test_ends_lie_around_the_forecast() -> None:
    said = foreseen(Calibration(), SAID).pending
    assert said is not None
    assert said.low_ms < 50.0 < said.high_ms
    assert said.low_ms * said.high_ms == pytest.approx(2500.0)
    assert said.high_ms / 50.0 == pytest.approx(math.exp(NORMAL_90 * 0.02))
    assert said.around(50.0, 0.0) == (said.low_ms, said.high_ms)
    low, high = said.around(60.0, 0.1)
    assert high / low > said.high_ms / said.low_ms
    assert (low * high) ** 0.5 == pytest.approx(60.0)


def test_an_absurd_spread_still_has_finite_ends() -> None:
    wild = replace(SAID, spread=1e9, quantile=1e9)
    assert 0 < wild.low_ms < wild.high_ms < math.inf


def test_spreads_combine() -> None:
    assert combined(0.03, 0.04) == pytest.approx(0.05)
    assert combined(0.0, 0.0) == LEAST_SPREAD
