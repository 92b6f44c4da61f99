"""Slow drift: the mean error of a window is far from 0."""

import math

import numpy as np
import pytest

from controlplane.domain.drift import RESEMBLANCE, WINDOWS, drifted

SPREAD, LIMIT = 0.05, 4.2


@pytest.mark.parametrize("window", WINDOWS)
def test_each_window_has_its_own_limit(window: int) -> None:
    edge = LIMIT * SPREAD * math.sqrt(RESEMBLANCE / window)
    # As long as the window and no longer: the shorter ones allow more.
    assert drifted([1.01 * edge] * window, SPREAD, LIMIT)
    assert drifted([-1.01 * edge] * window, SPREAD, LIMIT)
    assert not drifted([0.99 * edge] * window, SPREAD, LIMIT)


def test_too_few_errors_say_nothing() -> None:
    assert not drifted([1.0] * (WINDOWS[0] - 1), SPREAD, LIMIT)
    assert not drifted([], SPREAD, LIMIT)


def test_the_newest_count() -> None:
    assert not drifted([1.0] * 24 + [0.0] * 288, SPREAD, LIMIT)
    assert drifted([0.0] * 288 + [1.0] * 24, SPREAD, LIMIT)


def test_what_has_no_number_is_left_out() -> None:
    errors = [math.inf, math.nan, *[0.2] * 24]
    assert drifted(errors, SPREAD, LIMIT)
    assert not drifted([math.inf] * 24, SPREAD, LIMIT)


@pytest.mark.parametrize("spread", [0.0, -1.0, math.nan])
def test_an_unknown_spread_says_nothing(spread: float) -> None:
    assert not drifted([1.0] * 288, spread, LIMIT)


def test_noise_alone_is_no_drift() -> None:
    draws = np.random.default_rng(0).standard_normal((200, 288)) * SPREAD
    assert not any(drifted(list(row), SPREAD, LIMIT) for row in draws)
