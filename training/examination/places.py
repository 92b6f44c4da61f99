"""Places: each centre's metrics are its own, and the ratio did what it says.

Columns that were exchanged keep every mean and every spread; what they lose is whom they follow.
"""

from collections.abc import Iterator

import numpy as np

from models.examination import Check
from training.examination.evidence import (
    FEWEST,
    CenterEvidence,
    Evidence,
    FloatArray,
    ranks_agree,
    undecided,
)

MOST_SHARE_OFF = 0.01
# Change of the observed share with the ratio: 1 where it takes effect at once, less where it takes
# some periods, -1 where the centres are exchanged.
LEAST_SLOPE = 0.0
LATEST = 6
# Standard errors from which a slope counts as known to be on the wrong side.
SURE = 4.0
LEAST_RANKS = 0.2
MOST_FOREIGN = 0.1


def share_of_rates(evidence: Evidence) -> Check:
    """Hold the observed share against the loads of both centres."""
    data = evidence.dataset
    loads = (
        (data.primary.request_rate_rps, data.secondary.request_rate_rps),
        (data.primary.ingress_bandwidth_bps, data.secondary.ingress_bandwidth_bps),
    )
    for one, other in loads:
        with np.errstate(divide="ignore", invalid="ignore"):
            off = np.abs(data.primary.traffic_share - one / (one + other))
        off = off[np.isfinite(off)]
        if off.size >= FEWEST:
            figure = float(np.median(off))
            return Check(
                code="share_of_rates",
                passed=figure <= MOST_SHARE_OFF,
                figure=figure,
                limit=MOST_SHARE_OFF,
                message=f"the observed share is {figure:.3f} off that of the loads, in the median",
            )
    return undecided("share_of_rates", MOST_SHARE_OFF, "no loads of both centres")


def share_follows_ratio(evidence: Evidence) -> Check:
    """Ask that the observed share grows with the ratio, at once or some periods later."""
    data = evidence.dataset
    slopes = [
        _slope_after(evidence, lag)
        for lag in range(min(LATEST, len(data) - FEWEST))
        if np.ptp(data.ratio) > 0
    ]
    known = [slope for slope in slopes if slope is not None]
    if not known:
        return undecided("share_follows_ratio", LEAST_SLOPE, "the ratio or the share is not known")
    slope, error = max(known)
    return Check(
        code="share_follows_ratio",
        passed=slope + SURE * error >= LEAST_SLOPE,
        figure=slope,
        limit=LEAST_SLOPE,
        message=f"the observed share changes by {slope:.2f} when the ratio changes by 1",
    )


def _slope_after(evidence: Evidence, lag: int) -> tuple[float, float] | None:
    """Slope of the share on the ratio of `lag` + 1 rows before, and its standard error."""
    share = evidence.dataset.primary.traffic_share[lag + 1 :]
    ratio = evidence.dataset.ratio[: share.size]
    known = np.isfinite(share)
    if known.sum() < FEWEST or np.ptp(ratio[known]) <= 0:
        return None
    slopes, errors = _slopes([ratio[known]], share[known])
    return float(slopes[0]), float(errors[0, 0]) ** 0.5


def cpu_follows_own_rate(evidence: Evidence) -> Iterator[Check]:
    """Ask of both centres that CPU goes with the own requests rather than with the other's.

    By changes from row to row, which leave out what else keeps a machine busy.
    """
    for own, other in _both(evidence):
        code = f"{own.name}_cpu_own"
        changes = [np.diff(each.series.request_rate_rps) for each in (own, other)]
        cpu = np.diff(own.series.cpu_avg)
        known = evidence.followed & np.isfinite(cpu) & np.isfinite(changes[0] + changes[1])
        if known.sum() < FEWEST:
            yield undecided(code, -SURE, "CPU or requests of a centre are missing")
            continue
        slopes, errors = _slopes([change[known] for change in changes], cpu[known])
        variance = float(errors[0, 0] + errors[1, 1] - 2.0 * errors[0, 1])
        figure = float(slopes[0] - slopes[1]) / max(variance, 1e-30) ** 0.5
        yield Check(
            code=code,
            passed=figure >= -SURE,
            figure=figure,
            limit=-SURE,
            message=(
                f"the {own.name}'s CPU follows its own requests more than the other centre's by "
                f"{figure:.1f} standard errors"
            ),
        )


def response_follows_own_load(evidence: Evidence) -> Iterator[Check]:
    """Ask of both centres that response times rise with the own load, not with the other's."""
    for own, other in _both(evidence):
        response = own.series.response_time_ms
        code = f"{own.name}_response_own"
        rows = int(np.isfinite(response + own.use + other.use).sum())
        if rows < FEWEST:
            yield undecided(code, LEAST_RANKS, "response times or CPU of a centre are missing")
            continue
        mine, foreign = ranks_agree(response, own.use), ranks_agree(response, other.use)
        # By chance alone, as in a quiet hour.
        chance = SURE / rows**0.5
        yield Check(
            code=code,
            passed=mine >= LEAST_RANKS - chance and foreign - mine <= MOST_FOREIGN + chance,
            figure=mine,
            limit=LEAST_RANKS,
            message=(
                f"the {own.name}'s response time agrees with its own load by a rank correlation "
                f"of {mine:.2f}, with the other centre's by {foreign:.2f}"
            ),
        )


def _both(evidence: Evidence) -> tuple[tuple[CenterEvidence, CenterEvidence], ...]:
    first, second = evidence.centers
    return (first, second), (second, first)


def _slopes(columns: list[FloatArray], y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Least squares with an intercept: slopes (k,) and their covariance (k, k)."""
    x = np.column_stack(columns)
    x = x - x.mean(axis=0)
    inverse = np.linalg.pinv(x.T @ x)
    slopes = inverse @ x.T @ (y - y.mean())
    rest = y - y.mean() - x @ slopes
    freedom = max(y.size - len(columns) - 1, 1)
    return slopes, inverse * float(rest @ rest) / freedom
