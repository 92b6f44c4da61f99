"""The choice on the grid: the smallest prediction, and what the way there costs."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from controlplane.domain.strategies.candidates import GRID, choose
from controlplane.domain.strategies.projection import worth_of_gain
from controlplane.domain.strategies.situation import LearnedModel, Proposal
from tests.domain.two_centers import codes, situation

FloatArray = NDArray[np.float64]

# What a whole share moved has to gain, relative.
PRICE = 0.3


def valleys(*bottoms: float, depth: float = 200.0) -> FloatArray:
    """Response time in ms with equal bottoms of 50 ms."""
    return np.asarray(50.0 + depth * np.min([np.abs(GRID - each) for each in bottoms], axis=0))


def chosen(predicted_ms: FloatArray, ratio: float = 0.5, *, learned: bool = False) -> Proposal:
    facts = situation(applied=(ratio, 1.0 - ratio))
    return choose(facts, "rule", predicted_ms, learned=learned)


@pytest.mark.parametrize(("start", "end"), [(0.40, 0.30), (0.50, 0.60), (0.30, 0.30)])
def test_of_two_equal_valleys_the_nearer_one_is_taken(start: float, end: float) -> None:
    assert chosen(valleys(0.30, 0.60), start).shares[0] == pytest.approx(end)


@pytest.mark.parametrize(("gain", "end"), [(0.02, 0.50), (0.04, 0.60)])
def test_a_tenth_of_the_share_has_to_gain_three_per_cent(gain: float, end: float) -> None:
    predicted_ms = valleys(0.50)
    predicted_ms[GRID == 0.60] = 50.0 * (1.0 - gain)
    assert chosen(predicted_ms).shares[0] == pytest.approx(end)


@pytest.mark.parametrize(("load", "end"), [(0.25, 0.50), (1.0, 0.60), (2.25, 0.60)])
def test_in_quiet_hours_a_move_has_to_gain_more(load: float, end: float) -> None:
    predicted_ms = valleys(0.50)
    predicted_ms[GRID == 0.60] = 50.0 * (1.0 - 0.04)
    facts = situation(model=LearnedModel(digest="m", profile=(load,) * 24))
    assert choose(facts, "rule", predicted_ms, learned=False).shares[0] == pytest.approx(end)


@pytest.mark.parametrize(("load", "times"), [(0.0, 10**0.5), (0.25, 2.0), (1.0, 1.0), (4.0, 0.5)])
def test_a_gain_is_worth_what_the_load_is(load: float, times: float) -> None:
    facts = situation(model=LearnedModel(digest="m", profile=(load,) * 24))
    assert worth_of_gain(facts) == pytest.approx(times)
    assert worth_of_gain(situation()) == 1.0


def test_a_network_is_taken_at_its_word() -> None:
    predicted_ms = valleys(0.30, 0.60)
    predicted_ms[GRID == 0.60] -= 1e-6
    assert chosen(predicted_ms, 0.35, learned=True).shares[0] == pytest.approx(0.60)
    assert chosen(predicted_ms, 0.35).shares[0] == pytest.approx(0.30)


def test_the_curve_says_the_response_time_without_the_price() -> None:
    predicted_ms = valleys(0.60)
    curve = chosen(predicted_ms, 0.25).curve
    assert [point.response_time_ms for point in curve] == predicted_ms.tolist()


@given(st.floats(0.2, 0.8), st.lists(st.floats(1.0, 1e4), min_size=61, max_size=61))
def test_no_candidate_is_better_by_more_than_the_way_to_it_costs(
    ratio: float, values: list[float]
) -> None:
    best = chosen(np.array(values), ratio).shares[0]
    paid = dict(zip(GRID, np.array(values) * (1.0 + PRICE * np.abs(GRID - ratio)), strict=True))
    assert paid[best] <= min(paid.values())


def test_what_is_not_finite_is_not_taken_however_near_it_is() -> None:
    predicted_ms = valleys(0.50)
    predicted_ms[GRID == 0.50] = np.nan
    proposal = chosen(predicted_ms)
    assert proposal.shares[0] in (0.49, 0.51)
    assert codes(proposal.notes) == ["prediction_not_finite"]
    nothing = chosen(np.full(len(GRID), np.inf))
    assert (nothing.failed, nothing.shares) == (True, (0.5, 0.5))


def test_a_share_beyond_the_grid_comes_back_to_its_edge() -> None:
    facts = replace(situation(), applied=(1.0, 0.0))
    assert choose(facts, "rule", valleys(0.70, depth=1.0), learned=False).shares[0] == 0.80
