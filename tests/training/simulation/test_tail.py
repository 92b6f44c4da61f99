"""The tail against draws of the same process, and in its limits."""

from dataclasses import replace

import numpy as np
import pytest

from training.simulation import physics, tail, truth, weather
from training.simulation.world import load_world

WORLD = load_world("W1")


def test_it_is_the_quantile_of_drawn_requests() -> None:
    drawn = weather.draw(WORLD, 1440, 3)
    ratio = np.array([[0.45], [0.55]])
    found = tail.p99_ms(WORLD, drawn, ratio)
    said = truth.outcome(WORLD, drawn, ratio)
    centers, burden = physics.constants(WORLD), truth.strain(drawn)
    served = physics.service_ms(centers, burden, said.utilization)
    expected_wait = physics.wait_ms(centers, burden, said.utilization)
    rng = np.random.default_rng(0)
    for minute in (200, 660, 1170):
        rho = said.utilization[:, minute]
        assert rho.max() < 0.95
        chance = rho ** (np.sqrt(2 * (centers.servers[:, 0] + 1)) - 1)
        at = (rng.random(400_000) > 0.45).astype(int)
        times = rng.exponential(served[at, minute]) + centers.network_ms[at, 0]
        waits = rng.random(at.size) < chance[at]
        times += waits * rng.exponential((expected_wait[:, minute] / chance)[at])
        assert found[minute] == pytest.approx(np.quantile(times, 0.99), rel=0.01)
        assert times.mean() == pytest.approx(said.mean_ms[minute], rel=0.01)


def test_an_empty_site_has_the_tail_of_its_service() -> None:
    nothing = {"batch_mean": 0.0, "batch_sd": 0.0, "nightly_load": 0.0, "slowdowns_per_day": 0.0}
    idle = replace(WORLD, centers=tuple(replace(one, **nothing) for one in WORLD.centers))
    drawn = weather.draw(idle, 10, 0, np.full(10, 1e-6))
    found = tail.p99_ms(idle, drawn, np.array([[1.0], [0.0]]))
    center = WORLD.primary
    assert found == pytest.approx(center.network_ms - center.service_ms * np.log(0.01), rel=1e-6)


@pytest.mark.parametrize("name", ["W3", "W6", "W9", "W1x4"])
def test_it_is_above_the_mean_and_finite_everywhere(name: str) -> None:
    world = load_world(name)
    drawn = weather.draw(world, 1440, 1)
    shares = weather.operator_shares(world, 1440, 1)
    found = tail.p99_ms(world, drawn, shares)
    assert np.isfinite(found).all()
    assert (found > truth.outcome(world, drawn, shares).mean_ms).all()
