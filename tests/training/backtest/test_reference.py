"""What contestants are compared with: held ratios, the best in hindsight, the oracles."""

import numpy as np
import pytest

from tests.training.backtest.playing import W1
from training.backtest import reference
from training.backtest.reference import CAPACITY, daily, labels, moved, references
from training.backtest.scores import BEST_STATIC, LIMITED, ORACLE, STATIC, Summary
from training.simulation import truth, weather
from training.simulation.arrivals import DAY_MINUTES
from training.simulation.world import load_world


def of(name: str, days: int = 1, seed: int = 3) -> dict[str, Summary]:
    world = load_world(name)
    drawn = weather.draw(world, days * DAY_MINUTES, seed)
    return {one.label: one for one in references(world, drawn, seed)}


@pytest.mark.parametrize("name", ["W1", "W4", "W6", "W9", "W1x4"])
def test_who_knows_more_is_faster(name: str) -> None:
    known = of(name)
    assert set(known) == set(labels())
    times = {label: one.mean_ms for label, one in known.items()}
    # Over all requests; a split that lets more users through counts each of them.
    assert times[ORACLE] <= times[LIMITED] + 1e-9
    assert times[LIMITED] <= times[BEST_STATIC] * (1 + 1e-9)
    assert times[BEST_STATIC] <= min(times[STATIC], times[CAPACITY]) * (1 + 1e-3)


def test_capacity_is_that_of_the_machines() -> None:
    rates = [center.capacity_rps for center in W1.centers]
    path = of("W1")[CAPACITY].path
    assert path == pytest.approx(np.full(288, rates[0] / sum(rates)))


def test_static_is_the_operators_ratio_and_moves_nothing() -> None:
    held = of("W1")[STATIC]
    drawn = weather.draw(W1, DAY_MINUTES, 3)
    known = truth.ratio_outcome(W1, drawn, np.array([W1.operator.shares[0]]))
    assert (held.moves, held.variation) == (0, 0.0)
    assert held.daily_cost.sum() == pytest.approx((known.mean_ms * known.requests_rps).sum())
    assert (held.violations, held.judged, held.cycles) == ((), 0, 0)


def test_of_four_centers_the_oracle_keeps_to_the_envelopes_bounds() -> None:
    known = of("W1x4")
    assert known[ORACLE].path.min() >= 0.05
    assert known[ORACLE].path.max() <= 0.80
    assert np.array_equal(known[LIMITED].path, known[ORACLE].path)


def test_an_open_site_saturates_in_no_minute_and_a_closed_one_in_some() -> None:
    assert of("W1")[ORACLE].saturated_minutes == 0
    closed = of("W9")[ORACLE]
    assert 0 < closed.saturated_minutes < DAY_MINUTES
    assert 0 < closed.saturated_requests < closed.daily_requests.sum()


def test_days_are_whole() -> None:
    assert daily(np.ones(2 * DAY_MINUTES + 7)).tolist() == [1440.0, 1440.0]


def test_a_move_is_as_large_as_its_largest_share() -> None:
    path = np.array([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2], [0.4, 0.35, 0.25], [0.5, 0.3, 0.2]])
    assert moved(path) == (2, pytest.approx(0.2))
    assert moved(path[:1]) == (0, 0.0)


def test_a_rest_of_a_cycle_is_refused() -> None:
    with pytest.raises(ValueError, match="1442 minutes are not whole cycles"):
        reference.references(W1, weather.draw(W1, 1442, 0), 0)
