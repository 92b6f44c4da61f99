"""The queue law: mean response time of one data centre as a function of its utilisation.

f(rho) = a (1 + b rho^2) + tau q(rho; c), with Sakasegawa's approximation of the M/M/c wait
q(rho; c) = rho^(sqrt(2(c+1)) - 1) / (1 - rho) (H. Sakasegawa, 1977), continued by its tangent
past 0.95 so that overload has a finite, growing price. Fitted by learning.law_fit, read by the
greybox and hybrid strategies (LAB-learning.md section 2).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]

# Past this utilisation the law goes on as a straight line: 1/(1-rho) has no value at 1.
TANGENT_FROM = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class CenterLaw:
    """Parameters of one data centre.

    Attributes:
        base_ms: response time without load (a), > 0.
        contention: growth of the service itself with load (b), >= 0, no unit.
        wait_ms: scale of the waiting time (tau), >= 0.
        servers: parallel servers (c), >= 1.
        saturation: utilisation (by CPU) at which the centre saturates, 0 < s <= 1.
        idle_cpu, full_cpu: CPU without load and at capacity, 0..1, idle < full.
    """

    base_ms: float
    contention: float
    wait_ms: float
    servers: float
    saturation: float = 1.0
    idle_cpu: float = 0.0
    full_cpu: float = 1.0


def utilization(law: CenterLaw, cpu: ArrayLike) -> FloatArray:
    """Busy share of the capacity, 0 at idle, 1 at saturation, from a CPU reading (0..1)."""
    span = max(law.full_cpu - law.idle_cpu, 1e-6)
    busy = (np.asarray(cpu, dtype=np.float64) - law.idle_cpu) / span
    return np.maximum(busy, 0.0) / law.saturation


def busy_part(law: CenterLaw, cpu: float) -> float:
    """`utilization` of one reading."""
    span = max(law.full_cpu - law.idle_cpu, 1e-6)
    return max((cpu - law.idle_cpu) / span, 0.0) / law.saturation


def response_time_ms(law: CenterLaw, rho: ArrayLike) -> FloatArray:
    """Mean response time in ms at utilisation `rho` (>= 0, any shape); finite for every rho."""
    load = np.maximum(np.asarray(rho, dtype=np.float64), 0.0)
    # A damaged law may have numbers beyond floats: what comes out says so, and is not used.
    with np.errstate(over="ignore", invalid="ignore"):
        service = law.base_ms * (1.0 + law.contention * np.minimum(load, 1.0) ** 2)
        return np.asarray(service + law.wait_ms * waiting(load, law.servers))


def response_time_at_cpu_ms(law: CenterLaw, cpu: float) -> float:
    """`response_time_ms` at one CPU reading (0..1).

    In plain numbers: arrays of one take seven times as long, and a decision asks some eight times.
    """
    load = busy_part(law, cpu)
    power = _power(law.servers)
    inside = min(load, TANGENT_FROM)
    beyond = max(load, TANGENT_FROM) - TANGENT_FROM
    wait: float = inside**power / (1.0 - inside) + _slope_at_edge(power) * beyond
    return law.base_ms * (1.0 + law.contention * min(load, 1.0) ** 2) + law.wait_ms * wait


def waiting(rho: FloatArray, servers: float) -> FloatArray:
    """q(rho; c): mean wait in units of tau; 0 at rho 0, a tangent past `TANGENT_FROM`."""
    power = _power(servers)
    inside = np.minimum(rho, TANGENT_FROM)
    beyond = np.maximum(rho, TANGENT_FROM) - TANGENT_FROM
    return np.asarray(inside**power / (1.0 - inside) + _slope_at_edge(power) * beyond)


def _power(servers: float) -> float:
    return math.sqrt(2.0 * (servers + 1.0)) - 1.0


def _slope_at_edge(power: float) -> float:
    slope: float = (
        power * TANGENT_FROM ** (power - 1.0) / (1.0 - TANGENT_FROM)
        + TANGENT_FROM**power / (1.0 - TANGENT_FROM) ** 2
    )
    return slope
