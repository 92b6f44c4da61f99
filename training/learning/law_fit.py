"""Fit the queue law of one data centre to its own load and response times.

Called by learning.version and learning.site_version, for each centre. The law and its source:
domain.strategies.queue_law. Parameters a, b, tau, sat are found by `law_descent`; servers, idle and
full CPU are declared, else estimated.

A fit that the rows do not determine is returned all the same, marked as not to be trusted, with
the reason: the caller then schedules by rule and says so.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from controlplane.domain.strategies.queue_law import CenterLaw, utilization
from training.learning.law_descent import PRIOR_PRECISION, Problem, solve

FloatArray = NDArray[np.float64]

MIN_ROWS = 30
# More rows do not sharpen four parameters; the fit stays below a second.
MAX_ROWS = 6000
# The candidates of a search must not differ by less than the law is uncertain.
MAX_ERROR_RATIO = 0.3
# The capacity veto of the envelope: no candidate beyond is chosen while another is left.
VETO_RHO = 0.85
# Loads (5 % to 95 %) must span this much of the capacity to show a curve.
MIN_SPAN = 0.08
MAX_SPREAD = 0.5
_SERVERS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
_Z90 = 1.645


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What the fleet says about a centre; None is estimated from the rows."""

    servers: float | None = None
    idle_cpu: float | None = None
    full_cpu: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LawRows:
    """Rows of one centre, each (n,); NaN is missing. CPU is 0..1."""

    response_time_ms: FloatArray
    cpu: FloatArray
    rate_rps: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class LawFit:
    """A fitted law and how far to trust it.

    Attributes:
        reason: why it is not trusted; empty when it is.
        error_ratio: half width of the widest 90 % interval of the response time over the loads
            that candidates reach, as a ratio.
        spread: standard deviation of log(measured / law), robust.
        condition: condition number of the scaled Jacobian of the rows alone, without priors.
        rows: rows that counted.
    """

    law: CenterLaw
    trusted: bool
    reason: str
    error_ratio: float
    spread: float
    condition: float
    rows: int


def fit_law(rows: LawRows, declared: Declared) -> LawFit:
    """Fit one centre.

    Args:
        rows: any order; those with a missing or impossible number are left out.
        declared: what is known; without servers the best of powers of two is taken.

    Returns:
        The law, with `trusted` false and a reason when the rows do not determine it; with fewer
        than `MIN_ROWS` usable rows the law is only a placeholder.
    """
    rows = _usable(rows)
    count = rows.cpu.size
    if count < MIN_ROWS:
        return _unfitted(f"{count} usable rows, at least {MIN_ROWS} needed", rows)
    scale = _cpu_scale(rows, declared)
    u = np.asarray(utilization(scale, rows.cpu))
    candidates = _SERVERS if declared.servers is None else (declared.servers,)
    fits = [
        solve(
            Problem(
                u=u,
                log_ms=np.log(rows.response_time_ms),
                law=replace(scale, servers=servers),
                noise=0.1,
            )
        )
        for servers in candidates
    ]
    problem, parameters, _ = min(fits, key=lambda fit: fit[2])
    return _judge(problem, parameters)


def _usable(rows: LawRows) -> LawRows:
    good = (
        np.isfinite(rows.response_time_ms)
        & (rows.response_time_ms > 0)
        & np.isfinite(rows.cpu)
        & (rows.cpu >= 0)
    )
    chosen = np.flatnonzero(good)
    chosen = chosen[:: -(-chosen.size // MAX_ROWS) or 1]
    return LawRows(
        response_time_ms=rows.response_time_ms[chosen],
        cpu=rows.cpu[chosen],
        rate_rps=rows.rate_rps[chosen],
    )


def _cpu_scale(rows: LawRows, declared: Declared) -> CenterLaw:
    """A law with idle and full CPU set, the rest still to be fitted."""
    full = 1.0 if declared.full_cpu is None else declared.full_cpu
    idle = _idle_cpu(rows) if declared.idle_cpu is None else declared.idle_cpu
    return CenterLaw(
        base_ms=1.0,
        contention=0.0,
        wait_ms=0.0,
        servers=1.0,
        idle_cpu=min(idle, full - 0.05),
        full_cpu=full,
    )


def _idle_cpu(rows: LawRows) -> float:
    """CPU at rate 0 by a straight line through quiet rows; a centre's own load counts as idle."""
    seen = np.isfinite(rows.rate_rps)
    if seen.sum() < MIN_ROWS or np.ptp(rows.rate_rps[seen]) <= 0:
        return 0.0
    _, intercept = np.polyfit(rows.rate_rps[seen], rows.cpu[seen], 1)
    return float(np.clip(intercept, 0.0, rows.cpu.min()))


def _judge(problem: Problem, parameters: FloatArray) -> LawFit:
    law = problem.law_at(parameters)
    low, high = np.quantile(problem.u / law.saturation, [0.05, 0.95])
    # The envelope moves a share by a step a cycle, so loads near those seen matter.
    reach = np.linspace(0.8 * low, max(min(1.2 * high, VETO_RHO), high), 30) * law.saturation
    jacobian = problem.slopes(parameters, problem.u) / problem.noise
    precision = jacobian.T @ jacobian + PRIOR_PRECISION
    slopes = problem.slopes(parameters, reach)
    variance = np.einsum("ij,jk,ik->i", slopes, np.linalg.pinv(precision), slopes)
    error_ratio = float(np.expm1(_Z90 * np.sqrt(max(variance.max(), 0.0))))
    spread = problem.spread(parameters)
    reason = _doubt(float(high - low), spread, error_ratio)
    return LawFit(
        law=law,
        trusted=not reason,
        reason=reason,
        error_ratio=min(error_ratio, 1e6),
        spread=spread,
        condition=_condition(jacobian),
        rows=problem.u.size,
    )


def _doubt(span: float, spread: float, error_ratio: float) -> str:
    if span < MIN_SPAN:
        return (
            f"the load spans {span:.2f} of the capacity, at least {MIN_SPAN} needed: "
            "vary the ratio (dither) or wait for other loads"
        )
    if spread > MAX_SPREAD:
        return (
            f"response times scatter by {spread:.0%} about any law of the load, at most "
            f"{MAX_SPREAD:.0%} allowed: load does not explain them"
        )
    if error_ratio > MAX_ERROR_RATIO:
        return (
            f"the response time is only known within {error_ratio:.0%} at loads that the "
            f"candidates reach, at most {MAX_ERROR_RATIO:.0%} allowed: collect more rows"
        )
    return ""


def _condition(jacobian: FloatArray) -> float:
    scaled = jacobian / np.maximum(np.linalg.norm(jacobian, axis=0), 1e-12)
    return float(min(np.linalg.cond(scaled), 1e12))


def _unfitted(reason: str, rows: LawRows) -> LawFit:
    base_ms = float(np.median(rows.response_time_ms)) if rows.cpu.size else 1.0
    return LawFit(
        law=CenterLaw(base_ms=base_ms, contention=0.0, wait_ms=0.0, servers=1.0),
        trusted=False,
        reason=reason,
        error_ratio=1e6,
        spread=1e6,
        condition=1e12,
        rows=int(rows.cpu.size),
    )
