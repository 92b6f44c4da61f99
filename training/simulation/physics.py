"""What a centre does with its load: utilization, response time, throughput of a closed loop.

Called by simulation.site (what happens) and simulation.truth (what would happen); both see the
same physics. Pure functions of arrays whose last two axes are (centers, minutes); leading axes
(lanes, candidates) broadcast. No draw, no state, no strategy.

    rho  = (rate * slowdown / capacity + batch) / available
    f    = network + service * (1 + slow_service * (slowdown - 1)) * (1 + contention * rho^2)
         + knee_ms / (1 + exp(-(rho - knee_at) / 0.03)) + tau * q(rho)
    q    = rho^power / (1 - rho)^pole          tau = variability * service / (servers * available)

With power = sqrt(2 (servers * available + 1)) - 1 and pole = 1, q is Sakasegawa's approximation
of the M/M/c wait (H. Sakasegawa, 1977). Past rho = 0.95 an open site's q goes on as its tangent:
overload has a finite, growing price. Written apart from the law that strategies use, so that a
mistake there is not repeated here.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from training.simulation.world import World

FloatArray = NDArray[np.float64]

TANGENT_FROM = 0.95
# A closed loop never passes 1, and comes near it only.
CLOSED_EDGE = 1.0 - 1e-9
KNEE_WIDTH = 0.03
# Steps to the closed loop's throughput: 1e-8 of it.
_STEPS = 11


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Constants:
    """Numbers of a world's centers, each (centers, 1); names and units as in `CenterWorld`."""

    capacity_rps: FloatArray
    servers: FloatArray
    service_ms: FloatArray
    network_ms: FloatArray
    variability: FloatArray
    contention: FloatArray
    saturation: FloatArray
    idle_cpu: FloatArray
    full_cpu: FloatArray
    request_bytes: FloatArray
    memory_idle: FloatArray
    memory_load: FloatArray
    wait_power: FloatArray
    wait_pole: FloatArray
    knee_ms: FloatArray
    knee_at: FloatArray
    slow_service: FloatArray
    cold_cost: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Strain:
    """What burdens the centers whatever the split, each (..., centers, minutes).

    `batch`: share of capacity; `slowdown`: cost of a request, >= 1; `available`: share of the
    machines that are there, 0..1.
    """

    batch: FloatArray
    slowdown: FloatArray
    available: FloatArray


def constants(world: World) -> Constants:
    """Put the numbers of all centers side by side."""
    return Constants(**{field.name: _column(world, field.name) for field in fields(Constants)})


def tangent_from(world: World) -> float:
    """The utilization from which the wait goes on as its tangent."""
    return TANGENT_FROM if world.users is None else CLOSED_EDGE


def utilization(centers: Constants, strain: Strain, rate_rps: FloatArray) -> FloatArray:
    """Busy share of what each center has, >= 0; above 1 it cannot keep up."""
    load = rate_rps * strain.slowdown / centers.capacity_rps + strain.batch
    return np.asarray(load / strain.available)


def response_ms(
    centers: Constants, strain: Strain, rho: FloatArray, edge: float = TANGENT_FROM
) -> FloatArray:
    """Expected response time of each center in ms, caches warm."""
    served_ms = service_ms(centers, strain, rho)
    return np.asarray(centers.network_ms + served_ms + wait_ms(centers, strain, rho, edge))


def service_ms(centers: Constants, strain: Strain, rho: FloatArray) -> FloatArray:
    """Expected time in a server, in ms."""
    busy = np.minimum(rho, 1.0)
    service = centers.service_ms * (1.0 + centers.contention * busy * busy)
    if centers.slow_service.any():
        service = service * (1.0 + centers.slow_service * (strain.slowdown - 1.0))
    if centers.knee_ms.any():
        service = service + centers.knee_ms / (1.0 + np.exp((centers.knee_at - rho) / KNEE_WIDTH))
    return np.asarray(service)


def wait_ms(
    centers: Constants, strain: Strain, rho: FloatArray, edge: float = TANGENT_FROM
) -> FloatArray:
    """Expected time in the queue, in ms."""
    power = np.sqrt(2.0 * (centers.servers * strain.available + 1.0)) - 1.0
    if centers.wait_power.any():
        power = np.where(centers.wait_power > 0, centers.wait_power, power)
    waiting = _waiting(rho, power, centers.wait_pole, edge)
    return np.asarray(wait_unit_ms(centers, strain) * waiting)


def wait_unit_ms(centers: Constants, strain: Strain) -> FloatArray:
    """tau: between two requests that leave a center whose servers are all busy, in ms."""
    return np.asarray(
        centers.variability * centers.service_ms / (centers.servers * strain.available)
    )


def closed_loop_rps(
    world: World, centers: Constants, strain: Strain, demand: tuple[FloatArray, FloatArray]
) -> FloatArray:
    """Requests per second that a fixed number of thinking users come to: (..., minutes).

    Solves X (Z + R(X)) = N, Little's law for the whole loop. R rises without bound towards the
    throughput at which the first center is full, so that no center ever serves more than it can:
    X <= min_d free_d / share_d, the bottleneck law.

    Args:
        world: has users.
        centers: its constants.
        strain: what burdens the centers.
        demand: arrival_rps (..., minutes), what users would ask of a site that answers at once,
            and shares (..., centers, minutes).
    """
    arrival_rps, shares = demand
    assert world.users is not None
    think_ms = world.users.think_ms
    free_rps = free_capacity_rps(centers, strain)
    most = (free_rps / np.maximum(shares, 1e-9)).min(axis=-2)

    def excess(rps: FloatArray) -> FloatArray:
        """X (Z + R(X)) - N times 1 - X / most: the same root, and no pole at `most`."""
        rho = utilization(centers, strain, rps[..., None, :] * shares)
        ms = (shares * response_ms(centers, strain, rho, CLOSED_EDGE)).sum(axis=-2)
        return np.asarray((rps * (think_ms + ms) - arrival_rps * think_ms) * (1.0 - rps / most))

    unloaded_ms = (shares * (centers.network_ms + centers.service_ms)).sum(axis=-2)
    light = arrival_rps * think_ms / (think_ms + unloaded_ms)
    high = np.minimum(light, most * CLOSED_EDGE)
    return _root(excess, high, -arrival_rps * think_ms)


def free_capacity_rps(centers: Constants, strain: Strain) -> FloatArray:
    """Requests per second at which each center is full: (..., centers, minutes), > 0."""
    free = np.maximum(strain.available - strain.batch, 1e-3)
    return np.asarray(centers.capacity_rps * free / strain.slowdown)


def _root(
    of: Callable[[FloatArray], FloatArray], high: FloatArray, at_zero: FloatArray
) -> FloatArray:
    """The root of each element between 0 and `high`, by regula falsi of the Illinois kind.

    (M. Dowell, P. Jarratt, 1971.) Its steps are the same for all elements, so lanes stay
    independent of each other.
    """
    low, at_low = np.zeros_like(high), np.broadcast_to(at_zero, high.shape)
    at_high = of(high)
    found, nowhere = high, np.zeros(high.shape, dtype=np.bool_)
    was_above, was_below = nowhere, nowhere
    for _ in range(_STEPS):
        rise = np.maximum(at_high - at_low, 1e-12)
        found = high - at_high * (high - low) / rise
        value = of(found)
        above = value > 0
        # An end that stays twice is taken for half as far from zero, or it would stay for good.
        at_low = np.where(above, np.where(was_above, 0.5 * at_low, at_low), value)
        at_high = np.where(above, value, np.where(was_below, 0.5 * at_high, at_high))
        low, high = np.where(above, low, found), np.where(above, found, high)
        was_above, was_below = above, ~above
    return np.asarray(found)


def _column(world: World, name: str) -> FloatArray:
    return np.array([[float(getattr(center, name))] for center in world.centers])


def _waiting(rho: FloatArray, power: FloatArray, pole: FloatArray, edge: float) -> FloatArray:
    """Mean wait in units of tau: 0 at rho 0, a tangent past `edge`."""
    inside = np.minimum(rho, edge)
    # A power of one is the usual case, and powers are slow.
    distance = 1.0 - inside if (pole == 1.0).all() else (1.0 - inside) ** pole
    value = inside**power / distance
    beyond = rho - inside
    if not beyond.any():
        return np.asarray(value)
    at_edge = edge**power / (1.0 - edge) ** pole
    slope = at_edge * (power / edge + pole / (1.0 - edge))
    return np.asarray(value + slope * beyond)
