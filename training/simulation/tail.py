"""The slow requests: the time that one in a hundred exceeds.

Called by simulation.outputs. A mean that gets better at the tail's cost would show here.

A request's time is the way, an exponential time in the server of mean s, and a wait that is 0 with
probability 1 - C and else exponential of mean w, as in an M/M/c queue. There w = tau / (1 - rho)
and C = wait / w, which with Sakasegawa's wait is rho^power. The chance to exceed t is

    (1 - C) e^(-t/s) + C (s e^(-t/s) - w e^(-t/w)) / (s - w)

in each center, and the centers' by their shares for the site.
"""

import numpy as np
from numpy.typing import NDArray

from training.simulation import physics, truth
from training.simulation.physics import Constants, Strain
from training.simulation.weather import Weather
from training.simulation.world import World

FloatArray = NDArray[np.float64]

BEYOND = 0.01
# Halvings of an interval of some seconds: a microsecond.
_HALVINGS = 32


def p99_ms(world: World, weather: Weather, shares: FloatArray) -> FloatArray:
    """Response time that 1 % of all requests exceed, caches warm: (n,), in ms.

    Args:
        world: where.
        weather: of the run.
        shares: (centers, n) or (centers, 1).
    """
    centers = physics.constants(world)
    burden = truth.strain(weather)
    rho = truth.outcome(world, weather, shares).utilization
    shares = np.broadcast_to(shares, rho.shape)
    edge = physics.tangent_from(world)
    served_ms, waits, wait_mean_ms = _times(centers, burden, rho, edge)
    # Sum of the parts' own quantiles: nobody is slower.
    high = (centers.network_ms - np.log(BEYOND) * (served_ms + wait_mean_ms)).max(axis=0)
    low = np.zeros_like(high)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        after_way = np.maximum(middle - centers.network_ms, 0.0)
        beyond = (shares * _exceeds(after_way, served_ms, waits, wait_mean_ms)).sum(axis=0)
        low = np.where(beyond > BEYOND, middle, low)
        high = np.where(beyond > BEYOND, high, middle)
    return np.asarray(high)


def _times(
    centers: Constants, strain: Strain, rho: FloatArray, edge: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean time in a server, chance to wait, mean wait of those who do."""
    served_ms = physics.service_ms(centers, strain, rho)
    expected_ms = physics.wait_ms(centers, strain, rho, edge)
    idle = 1.0 - np.minimum(rho, edge)
    wait_mean_ms = np.maximum(physics.wait_unit_ms(centers, strain) / idle, expected_ms)
    return served_ms, expected_ms / wait_mean_ms, wait_mean_ms


def _exceeds(
    ms: FloatArray, served_ms: FloatArray, waits: FloatArray, wait_mean_ms: FloatArray
) -> FloatArray:
    # Equal means would divide by zero; a millionth apart makes no difference.
    apart = np.where(np.abs(served_ms - wait_mean_ms) < 1e-6 * served_ms, 1.000001, 1.0)
    wait = wait_mean_ms * apart
    fast, slow = np.exp(-ms / served_ms), np.exp(-ms / wait)
    both = (served_ms * fast - wait * slow) / (served_ms - wait)
    return np.asarray((1.0 - waits) * fast + waits * both)
