"""A whole run as a data set: size, seeds, and metrics that are consequences of the ratio."""

import numpy as np
import pytest

from training.simulation import simulator, weather
from training.simulation.arrivals import DAY_MINUTES
from training.simulation.world import World, load_world

DAYS = 7


@pytest.fixture(scope="module")
def world() -> World:
    return load_world("W1")


@pytest.fixture(scope="module")
def drawn(world: World) -> weather.Weather:
    return weather.draw(world, DAYS * DAY_MINUTES + 1, 0)


def test_the_paper_month_has_44640_rows_from_1_march_2025(world: World) -> None:
    minutes = 31 * DAY_MINUTES + 1
    drawn = weather.draw(world, minutes, 0)
    rows = simulator.simulate(world, drawn, weather.operator_ratio(world, minutes, 0))
    assert len(rows) == 44_640
    assert rows.time_s[0] == 1_740_787_200
    assert rows.time_s[-1] == 1_740_787_200 + 44_639 * 60
    assert np.isfinite(rows.inputs()).all()
    assert (rows.response_time_ms > 0).all()
    assert 0.005 < rows.ratio.std() < 0.03
    assert abs(rows.ratio.mean() - 0.5) < 0.01


def test_same_seed_same_rows_and_another_seed_others(world: World) -> None:
    digests = []
    for seed in (3, 3, 4):
        drawn = weather.draw(world, 500, seed)
        ratio = weather.operator_ratio(world, 500, seed)
        digests.append(simulator.simulate(world, drawn, ratio).digest())
    assert digests[0] == digests[1] != digests[2]


def test_cpu_and_bandwidth_are_consequences_of_the_ratio(
    world: World, drawn: weather.Weather
) -> None:
    minutes = drawn.minutes
    low, high = (simulator.simulate(world, drawn, np.full(minutes, ratio)) for ratio in (0.3, 0.7))
    assert (high.primary.cpu_avg.mean() - low.primary.cpu_avg.mean()) > 0.1
    assert (high.secondary.cpu_avg.mean() - low.secondary.cpu_avg.mean()) < -0.1
    scale = high.primary.ingress_bandwidth_bps.mean() / low.primary.ingress_bandwidth_bps.mean()
    assert scale == pytest.approx(7 / 3, rel=0.01)
    np.testing.assert_allclose(
        high.primary.traffic_share + high.secondary.traffic_share, 1.0, atol=1e-12
    )


def test_the_label_is_the_next_minute(world: World, drawn: weather.Weather) -> None:
    minutes = drawn.minutes
    ratio = np.full(minutes, 0.5)
    ratio[100:] = 0.6
    rows = simulator.simulate(world, drawn, ratio)
    assert (rows.ratio[98], rows.ratio[99]) == (0.5, 0.6)
    assert abs(rows.primary.traffic_share[99] - 0.5) < abs(rows.primary.traffic_share[99] - 0.6)
    merged = (
        rows.primary.request_rate_rps * rows.primary.response_time_ms
        + rows.secondary.request_rate_rps * rows.secondary.response_time_ms
    ) / (rows.primary.request_rate_rps + rows.secondary.request_rate_rps)
    np.testing.assert_allclose(rows.response_time_ms[:-1], merged[1:], rtol=1e-12)
