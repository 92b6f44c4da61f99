"""Physics against what is known by other means: the law itself, an M/M/c queue, Little's law."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from controlplane.domain.strategies import queue_law
from training.simulation import physics, truth, weather
from training.simulation.physics import CLOSED_EDGE, Strain
from training.simulation.world import load_world

FloatArray = NDArray[np.float64]
WORLD = load_world("W1")
CLOSED = load_world("W9")


def strain(batch: float = 0.0, slowdown: float = 1.0, available: float = 1.0) -> Strain:
    one = np.ones((2, 1))
    return Strain(batch=batch * one, slowdown=slowdown * one, available=available * one)


def test_in_a_matched_world_it_is_the_queue_law() -> None:
    rho = np.linspace(0.0, 1.4, 60)
    ms = physics.response_ms(physics.constants(WORLD), strain(), np.stack([rho, rho]))
    for center, found in zip(WORLD.centers, ms, strict=True):
        np.testing.assert_allclose(found, queue_law.response_time_ms(center.law, rho), rtol=1e-12)


def erlang_wait(servers: int, rho: float) -> float:
    """Mean wait of M/M/c in service times, exactly."""
    load = servers * rho
    below = math.fsum(load**k / math.factorial(k) for k in range(servers))
    top = load**servers / math.factorial(servers) / (1 - rho)
    return top / (below + top) / (servers * (1 - rho))


@pytest.mark.parametrize("rho", [0.5, 0.7, 0.9])
def test_the_wait_is_that_of_many_servers(rho: float) -> None:
    plain = tuple(replace(c, variability=1.0, contention=0.0) for c in WORLD.centers)
    centers = physics.constants(replace(WORLD, centers=plain))
    ms = physics.response_ms(centers, strain(), np.full((2, 1), rho))
    for center, found in zip(plain, ms[:, 0], strict=True):
        waited = (found - center.network_ms - center.service_ms) / center.service_ms
        assert waited == pytest.approx(erlang_wait(center.servers, rho), rel=0.15, abs=0.02)


def test_the_fullest_center_has_the_utilization_of_its_own_parts() -> None:
    centers = physics.constants(WORLD)
    rate = np.array([[200.0], [150.0]])
    rho = physics.utilization(centers, strain(0.1, 1.2, 0.5), rate)
    np.testing.assert_allclose(rho, (0.5 * 1.2 + 0.1) / 0.5, rtol=1e-12)


@pytest.mark.parametrize("name", ["W1", "W2", "W3", "W9"])
def test_response_time_grows_with_load_and_with_every_burden(name: str) -> None:
    world = load_world(name)
    centers = physics.constants(world)
    rate = np.linspace(0.0, 1.2, 50) * centers.capacity_rps

    def ms(burden: Strain) -> FloatArray:
        rho = physics.utilization(centers, burden, rate)
        return physics.response_ms(centers, burden, rho)

    assert (np.diff(ms(strain()), axis=1) > 0).all()
    for burden in (strain(batch=0.1), strain(slowdown=1.3), strain(available=0.6)):
        # Without requests a slowdown changes nothing but the service's own time.
        assert (ms(burden)[:, 1:] > ms(strain())[:, 1:]).all()


def test_no_queue_law_has_the_shape_of_the_wrong_law() -> None:
    world = load_world("W3")
    rho = np.linspace(0.1, 0.93, 60)
    ms = physics.response_ms(physics.constants(world), strain(), np.stack([rho, rho]))
    for found in ms:
        misfits = [misfit(rho, found, servers) for servers in (1.0, 2.0, 5.0, 12.0, 20.0, 60.0)]
        assert min(misfits) > 0.05


def misfit(rho: FloatArray, ms: FloatArray, servers: float) -> float:
    """Largest relative error of the best combination of the law's shapes, of whatever scale."""
    shapes = np.stack([np.ones_like(rho), rho**2, queue_law.waiting(rho, servers)], axis=1)
    scales = np.linalg.lstsq(shapes / ms[:, None], np.ones_like(ms), rcond=None)[0]
    return float(np.abs(shapes @ scales / ms - 1.0).max())


@given(
    users=st.floats(1.0, 5_000.0),
    ratio=st.floats(0.05, 0.95),
    batch=st.floats(0.0, 0.6),
    slowdown=st.floats(1.0, 1.6),
    available=st.floats(0.5, 1.0),
)
@settings(max_examples=60, deadline=None)
def test_the_closed_loop_keeps_littles_law_and_the_bottleneck_law(
    users: float, ratio: float, batch: float, slowdown: float, available: float
) -> None:
    centers = physics.constants(CLOSED)
    burden = strain(batch * available, slowdown, available)
    shares = np.array([[ratio], [1.0 - ratio]])
    asked = np.array([users])
    assert CLOSED.users is not None
    think_ms = CLOSED.users.think_ms
    rps = physics.closed_loop_rps(CLOSED, centers, burden, (asked, shares))
    rho = physics.utilization(centers, burden, rps * shares)
    mean_ms = (shares * physics.response_ms(centers, burden, rho, CLOSED_EDGE)).sum()
    assert rps[0] * (think_ms + mean_ms) == pytest.approx(users * think_ms, rel=1e-4)
    free = physics.free_capacity_rps(centers, burden)[:, 0]
    assert rps[0] <= min(free / shares[:, 0])
    assert (rho <= 1.0).all()


def test_saturation_is_of_the_users_and_a_better_split_serves_more_of_them() -> None:
    drawn = weather.draw(CLOSED, 3 * 1440, 1)
    busy = truth.saturating(CLOSED, drawn)
    half, better = (truth.ratio_outcome(CLOSED, drawn, np.array([ratio])) for ratio in (0.5, 0.6))
    assert 0.02 < busy.mean() < 0.25
    assert half.utilization.max(axis=0)[busy].min() > 0.85
    assert better.requests_rps[busy].mean() > 1.05 * half.requests_rps[busy].mean()
    assert not truth.saturating(WORLD, weather.draw(WORLD, 100, 1)).any()
