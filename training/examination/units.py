"""Units: one throughout the rows, and one that is possible.

What is in another unit in part of the rows stands apart by the factor between the units, 8 (bits
and bytes) at least. A whole data set in another unit fits itself perfectly; only what is outside
of the possible can be seen here, and the control plane compares with the champion.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from models.examination import Check
from training.examination.evidence import FEWEST, CenterEvidence, Evidence, FloatArray, undecided

# Well below the smallest factor between two units, as the law may be fitted somewhere between:
# 60 of times (a full site is slower than its law by more than 4), 100 of CPU, 8 of bandwidths.
APART_TIMES, APART = 16.0, 4.0
MOST_APART = 0.01
# Mean response times of a site, ms, and by how much one centre's may be those of the other.
POSSIBLE_MS = (0.2, 60_000.0)
MOST_BETWEEN = 100.0


def response_in_one_unit(evidence: Evidence) -> Iterator[Check]:
    """Count response times that are far from what the law says."""
    for center in evidence.centers:
        known = center.excess[np.isfinite(center.excess)]
        checked = _apart(f"{center.name}_response_unit", known, APART_TIMES)
        yield _told(checked, "response times", "its queue law")


def bandwidth_in_one_unit(evidence: Evidence) -> Iterator[Check]:
    """Count rows with far more or less traffic per request than usual."""
    for center in evidence.centers:
        series = center.series
        with np.errstate(divide="ignore", invalid="ignore"):
            per_request = np.log(series.ingress_bandwidth_bps) - np.log(series.request_rate_rps)
        known = per_request[np.isfinite(per_request)]
        if known.size:
            known = known - np.median(known)
        checked = _apart(f"{center.name}_bandwidth_unit", known, APART)
        yield _told(checked, "bandwidths", "its request rate")


def cpu_in_one_unit(evidence: Evidence) -> Iterator[Check]:
    """Count CPU readings far below what as many requests usually need.

    Only below: other work may keep a machine busy, nothing makes a busy one idle.
    """
    for center in evidence.centers:
        checked = _apart(f"{center.name}_cpu_unit", _cpu_shortfall(center), APART)
        yield _told(checked, "CPU readings", "its request rate")


def level_possible(evidence: Evidence) -> Iterator[Check]:
    """Refuse median response times that no site has."""
    low, high = POSSIBLE_MS
    for center in evidence.centers:
        times = center.series.response_time_ms
        median = float(np.median(times[np.isfinite(times)])) if np.isfinite(times).any() else low
        yield Check(
            code=f"{center.name}_level_possible",
            passed=low <= median <= high,
            figure=median,
            limit=high if median > high else low,
            message=(
                f"the {center.name}'s median response time is {median:.4g} ms; between {low:g} "
                f"and {high:g} ms is possible: are these seconds, or microseconds?"
            ),
        )


def levels_alike(evidence: Evidence) -> Check:
    """Refuse centres that are further apart than any distance makes them."""
    medians = [
        np.log(float(np.nanmedian(center.series.response_time_ms)))
        for center in evidence.centers
        if np.isfinite(center.series.response_time_ms).any()
    ]
    factor = float(np.exp(np.ptp(medians))) if len(medians) > 1 else 1.0
    return Check(
        code="levels_alike",
        passed=factor <= MOST_BETWEEN,
        figure=factor,
        limit=MOST_BETWEEN,
        message=(
            f"the median response times of the centres differ by a factor of {factor:.3g}: "
            "does one of them report another unit?"
        ),
    )


def shares_possible(evidence: Evidence) -> Check:
    """Refuse CPU, memory and disk beyond 1: percent."""
    highest = max(
        float(np.nanmax(values, initial=0.0))
        for center in evidence.centers
        for values in (
            center.series.cpu_avg,
            center.series.cpu_max,
            center.series.memory,
            center.series.disk,
        )
    )
    return Check(
        code="shares_possible",
        passed=highest <= 1.0,
        figure=highest,
        limit=1.0,
        message=f"the largest CPU, memory or disk is {highest:.3g}; 1 is all of it: percent?",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Apart:
    """Share of `rows` that are more than `factor` away."""

    code: str
    rows: int
    share: float
    factor: float


def _apart(code: str, logs: FloatArray, factor: float) -> _Apart:
    far = np.abs(logs) > np.log(factor)
    share = float(np.mean(far)) if logs.size else 0.0
    return _Apart(code=code, rows=logs.size, share=share, factor=factor)


def _told(found: _Apart, what: str, whom: str) -> Check:
    if found.rows < FEWEST:
        return undecided(found.code, MOST_APART, f"too few {what}")
    center = found.code.split("_")[0]
    return Check(
        code=found.code,
        passed=found.share <= MOST_APART,
        figure=found.share,
        limit=MOST_APART,
        message=(
            f"{found.share:.1%} of the {center}'s {what} are a factor of {found.factor:g} from "
            f"what {whom} says: are two units mixed?"
        ),
    )


def _cpu_shortfall(center: CenterEvidence) -> FloatArray:
    """log(CPU / CPU by a line through the request rate), up to 0."""
    cpu, rate = center.series.cpu_avg, center.series.request_rate_rps
    known = np.isfinite(cpu) & np.isfinite(rate)
    if known.sum() < FEWEST or np.ptp(rate[known]) <= 0:
        return np.zeros(0)
    expected = np.polyval(np.polyfit(rate[known], cpu[known], 1), rate[known])
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(np.maximum(cpu[known], 1e-6) / np.maximum(expected, 1e-6))
    return np.asarray(np.minimum(logs, 0.0))
