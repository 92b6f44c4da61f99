"""The least-squares problem of one queue law: its parameters, priors, noise, and the descent.

Called by `law_fit`, which says which rows count and whether the answer is to be trusted. Soft-L1
loss on the log of the response time (scipy's trust region reflective), from several starts,
because the loss has more than one valley.

Few, noisy rows leave directions in which the law could be anything, so weak priors pull towards
what queues are like (tau about a / c, b about 0, sat about 1); thousands of rows outvote them.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from controlplane.domain.strategies.queue_law import CenterLaw, response_time_ms

FloatArray = NDArray[np.float64]

# What a reading of the CPU may lie above the truth.
CPU_NOISE = 0.03
# (b, log of tau / (a / c), sat)
_STARTS = ((0.1, 0.0, 1.0), (1.0, -1.0, 1.0), (0.1, 1.0, 0.8), (0.1, 0.0, 0.65))
# Spread of the priors in the same parameters; the noise of the rows is their unit.
_PRIOR_B, _PRIOR_TAU, _PRIOR_SAT = 0.3, 0.7, 0.08
# What the priors add to the precision (4, 4) of the parameters; log a has none.
PRIOR_PRECISION = np.diag([0.0, _PRIOR_B**-2, _PRIOR_TAU**-2, _PRIOR_SAT**-2])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Problem:
    """One law to be found; the parameters are (log a in ms, b, log t, sat), (4,) float64.

    Attributes:
        u: (n,) busy share of the CPU, 0..1; log_ms: (n,) log of the response time in ms.
        law: its servers and its scale of the CPU are declared or estimated, and stay.
        noise: spread of the rows about any law in log_ms, > 0.
    """

    u: FloatArray
    log_ms: FloatArray
    law: CenterLaw
    noise: float

    def law_at(self, parameters: FloatArray) -> CenterLaw:
        """tau = t * a / c, so that t is about 1 for any centre."""
        base_ms = float(np.exp(parameters[0]))
        return replace(
            self.law,
            base_ms=base_ms,
            contention=float(parameters[1]),
            wait_ms=float(np.exp(parameters[2])) * base_ms / self.law.servers,
            saturation=float(parameters[3]),
        )

    def log_law(self, parameters: FloatArray, u: FloatArray) -> FloatArray:
        """Log of the response time in ms at u, (n,)."""
        law = self.law_at(parameters)
        return np.asarray(np.log(response_time_ms(law, u / law.saturation)))

    def residuals(self, parameters: FloatArray) -> FloatArray:
        """What is to be small, (n + 3,): errors in units of the noise, then the priors'."""
        error = (self.log_law(parameters, self.u) - self.log_ms) / self.noise
        return np.append(error, self._prior(parameters))

    def slopes(self, parameters: FloatArray, u: FloatArray) -> FloatArray:
        """Derivatives of the log law at u by each parameter, (n, 4), by central differences."""
        columns = []
        for index in range(parameters.size):
            step = np.zeros_like(parameters)
            step[index] = 1e-4
            above = self.log_law(parameters + step, u)
            below = self.log_law(parameters - step, u)
            columns.append((above - below) / 2e-4)
        return np.column_stack(columns)

    def spread(self, parameters: FloatArray) -> float:
        """Robust standard deviation of log(law / measured)."""
        error = self.log_law(parameters, self.u) - self.log_ms
        return float(1.4826 * np.median(np.abs(error - np.median(error))))

    def _prior(self, parameters: FloatArray) -> FloatArray:
        _, b, log_t, sat = parameters
        return np.array([b / _PRIOR_B, log_t / _PRIOR_TAU, (sat - 1.0) / _PRIOR_SAT])


def solve(problem: Problem) -> tuple[Problem, FloatArray, float]:
    """Two passes: the first finds the rows' noise, the second weighs them against the priors.

    Returns:
        The problem with its noise, the parameters, and a cost that is comparable between numbers
        of servers whatever noise each of them found.
    """
    parameters = _descend(problem, _starts(problem))
    problem = replace(problem, noise=max(problem.spread(parameters), 0.01))
    parameters = _descend(problem, [parameters, *_starts(problem)[1:2]])
    error = problem.residuals(parameters)
    cost = error.size * np.log(problem.noise) + float(np.sum(np.sqrt(1.0 + error**2) - 1.0))
    return problem, parameters, cost


def _starts(problem: Problem) -> list[FloatArray]:
    quiet = problem.log_ms[problem.u <= np.quantile(problem.u, 0.2)]
    log_a = float(np.median(quiet))
    return [np.array([log_a, b, log_t, sat]) for b, log_t, sat in _STARTS]


def _descend(problem: Problem, starts: list[FloatArray]) -> FloatArray:
    log_a = starts[-1][0]
    lower = np.array([log_a - 4.0, 0.0, -8.0, _least_saturation(problem.u)])
    upper = np.array([log_a + 1.0, 5.0, 4.0, 1.0])
    best, best_cost = starts[0], np.inf
    for start in starts:
        inside = np.clip(start, lower + 1e-6, upper - 1e-6)
        found = least_squares(
            problem.residuals, inside, bounds=(lower, upper), loss="soft_l1", max_nfev=200
        )
        if found.cost < best_cost:
            best, best_cost = found.x, float(found.cost)
    return best


def _least_saturation(u: FloatArray) -> float:
    """CPU stops where the centre is full, so the rows bound it from below.

    Without this a knee of the response time, as garbage collection makes one, is taken for a
    bottleneck at a CPU that the centre has long passed.
    """
    return float(np.clip(np.quantile(u, 0.995) - CPU_NOISE, 0.3, 0.99))
