"""Clairvoyant choices: the best ones, and in the order that they must have."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from controlplane.domain.strategies.candidates import GRID
from training.backtest import oracle
from training.backtest.oracle import STEP

FloatArray = NDArray[np.float64]
SEEDS = st.integers(0, 2**32 - 1)


def curve_of(seed: int, minutes: int) -> FloatArray:
    """(61, n) without any shape that a search could lean on."""
    return np.random.default_rng(seed).uniform(20.0, 200.0, (GRID.size, minutes))


def cost_of(path: FloatArray, curve: FloatArray, requests: FloatArray) -> float:
    """Of a path (cycles,) with one minute a cycle."""
    places = np.searchsorted(GRID, path)
    return float((curve[places, np.arange(path.size)] * requests).sum())


@given(SEEDS)
def test_free_is_not_worse_than_limited_and_limited_not_than_any_constant(seed: int) -> None:
    curve = curve_of(seed, 30)
    requests = np.random.default_rng(seed).uniform(50.0, 500.0, 30)
    found = oracle.find(curve, requests, 1)
    free, limited = (cost_of(path, curve, requests) for path in (found.free, found.limited))
    held = (curve * requests).sum(axis=1)
    assert free <= limited <= held.min() + 1e-6
    assert cost_of(np.full(30, found.static), curve, requests) == pytest.approx(held.min())
    assert np.abs(np.diff(found.limited)).max() <= STEP / 100 + 1e-9


@given(SEEDS)
def test_the_limited_path_is_the_cheapest_of_all(seed: int) -> None:
    curve = curve_of(seed, 3)
    found = oracle.find(curve, np.ones(3), 1)
    near = np.abs(np.subtract.outer(np.arange(GRID.size), np.arange(GRID.size))) <= STEP
    price = curve[:, None, None, 0] + curve[None, :, None, 1] + curve[None, None, :, 2]
    allowed = np.where(near[:, :, None] & near[None, :, :], price, np.inf)
    assert cost_of(found.limited, curve, np.ones(3)) == pytest.approx(allowed.min())


def test_a_choice_is_for_a_whole_cycle_and_counts_requests() -> None:
    curve = np.full((GRID.size, 6), 100.0)
    # In the first cycle 0.3 is best in the busy minute, 0.7 in the two quiet ones.
    curve[10, 0], curve[50, 1:3] = 50.0, 60.0
    curve[20, 3:] = 90.0
    requests = np.array([900.0, 100.0, 100.0, 100.0, 100.0, 100.0])
    found = oracle.find(curve, requests, 3)
    assert found.free.tolist() == [0.3, 0.4]


def test_a_rest_is_left_out() -> None:
    assert oracle.find(curve_of(1, 14), np.ones(14), 5).free.shape == (2,)


def test_where_requests_depend_on_the_split_the_mean_counts_and_not_their_sum() -> None:
    curve = np.full((GRID.size, 1), 100.0)
    requests = np.full((GRID.size, 1), 100.0)
    # More requests get through, each faster; the sum of all response times is larger.
    curve[30], requests[30] = 90.0, 200.0
    assert oracle.find(curve, requests, 1).free.tolist() == [0.5]
