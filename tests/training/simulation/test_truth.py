"""The truth: an oracle that is never beaten, and the best ratio known in hindsight."""

import numpy as np
import pytest

from controlplane.domain.strategies.candidates import GRID
from training.simulation import truth, weather
from training.simulation.arrivals import DAY_MINUTES
from training.simulation.world import World, load_world


@pytest.fixture(scope="module")
def world() -> World:
    return load_world("W1")


@pytest.fixture(scope="module")
def drawn(world: World) -> weather.Weather:
    return weather.draw(world, 7 * DAY_MINUTES + 1, 0)


def test_the_oracle_is_never_beaten(world: World, drawn: weather.Weather) -> None:
    minutes = drawn.minutes
    best = truth.find_truth(world, drawn, np.full(minutes, 0.5))
    for ratio in (0.2, 0.37, 0.5, 0.63, 0.8):
        ms = truth.ratio_outcome(world, drawn, np.full(minutes, ratio)).mean_ms[1:]
        assert (best.oracle_ms <= ms + 1e-9).all()
    chosen = np.concatenate([[0.5], best.oracle_ratio])
    np.testing.assert_allclose(
        truth.ratio_outcome(world, drawn, chosen).mean_ms[1:], best.oracle_ms
    )
    assert np.ptp(best.oracle_ratio) > 0.2


def test_candidates_broadcast_over_a_leading_axis(world: World, drawn: weather.Weather) -> None:
    minutes = drawn.minutes
    both = np.stack([np.full(minutes, 0.4), np.full(minutes, 0.6)])
    together = truth.ratio_outcome(world, drawn, both).mean_ms
    np.testing.assert_array_equal(together[1], truth.ratio_outcome(world, drawn, both[1]).mean_ms)


def test_the_best_static_ratio_is_the_best_of_those_that_are_held() -> None:
    for name in ("W1", "W9"):
        world = load_world(name)
        drawn = weather.draw(world, DAY_MINUTES + 1, 0)
        best = truth.find_truth(world, drawn, np.full(DAY_MINUTES + 1, 0.5))

        def mean_ms(ratio: float) -> float:
            held = truth.ratio_outcome(world, drawn, np.array([ratio]))  # noqa: B023
            ms, rps = held.mean_ms[1:], held.requests_rps[1:]
            return float((ms * rps).sum() / rps.sum())

        assert min(GRID, key=mean_ms) == best.best_static_ratio


def test_curves_of_single_centers_make_the_curve_of_the_site(
    world: World, drawn: weather.Weather
) -> None:
    first, second = truth.center_curves_ms(world, drawn, GRID)
    share = GRID[:, None]
    # The grid is symmetric: 1 - share of the second is the grid turned round.
    mean = share * first + (1 - share) * second[::-1]
    np.testing.assert_allclose(mean, truth.curve_ms(world, drawn), rtol=1e-12)


def test_requests_follow_the_response_time_of_a_closed_loop() -> None:
    world = load_world("W9")
    drawn = weather.draw(world, 300, 0)
    half = truth.ratio_outcome(world, drawn, np.array([0.5]))
    found = truth.requests_rps(world, drawn.arrival_rps, half.mean_ms)
    np.testing.assert_allclose(found, half.requests_rps, rtol=1e-6)
