"""The label: it is the response time of the period that follows, and the model explains it."""

import numpy as np

from models.examination import Check
from training.examination.evidence import FEWEST, Evidence, FloatArray, label_off, undecided

# A label may be measured elsewhere than its centres' response times, so not every row must agree.
LABEL_OFF = 1.25
MOST_OFF = 0.05
MOST_LEVEL = 1.5
# Of the label's variance, that a model explains on held-out rows; 0 is what their mean says.
LEAST_EXPLAINED = 0.0
# Held-out spread against what labels of neighbouring rows differ by anyway. The spread is the
# measure by which the live error is judged later: a model of chaos must not loosen it.
MOST_NOISE = 3.0
# With fewer rows the tenth of them that is held out is an hour or so, and like no other.
LEAST_ROWS = 1_000


def label_follows(evidence: Evidence) -> Check:
    """Hold each label against the mean of the next row's response times.

    Shuffled labels fit the period after them no better than any other; labels in another unit are
    off by the same factor everywhere.
    """
    data = evidence.dataset
    share = data.primary.traffic_share
    times_ms = [data.primary.response_time_ms, data.secondary.response_time_ms]
    return follows(label_off(data, np.stack([share, 1.0 - share]), np.stack(times_ms)))


def follows(off: FloatArray) -> Check:
    """The same of log(label / mean of the next row's response times), (n,)."""
    if off.size < FEWEST:
        return undecided("label_follows", MOST_OFF, "no row is followed by the next period")
    level = float(np.median(off))
    share = float(np.mean(np.abs(off - level) > np.log(LABEL_OFF)))
    passed = share <= MOST_OFF and abs(level) <= np.log(MOST_LEVEL)
    return Check(
        code="label_follows",
        passed=passed,
        figure=share,
        limit=MOST_OFF,
        message=(
            f"{share:.1%} of the labels are more than {LABEL_OFF - 1:.0%} off the response time of "
            f"the period that follows, and all of them by a factor of {np.exp(level):.3g}"
        ),
    )


def label_explained(evidence: Evidence) -> Check:
    """Ask for more than the mean of the labels says, on rows that were held out."""
    scores = evidence.artifact.scores
    known = [scores[name] for name in ("hybrid_r2", "mlp_r2") if name in scores]
    if not known or len(evidence.dataset) < LEAST_ROWS:
        return undecided("label_explained", LEAST_EXPLAINED, "no network was scored on enough rows")
    best = max(known)
    return Check(
        code="label_explained",
        passed=best > LEAST_EXPLAINED,
        figure=best,
        limit=LEAST_EXPLAINED,
        message=f"the model explains {best:.1%} of the variance of the held-out labels",
    )


def spread_explained(evidence: Evidence) -> Check:
    """Hold the spread on held-out rows against the noise between neighbouring rows."""
    spread = evidence.artifact.scores.get("residual_spread", 0.0)
    relative = np.expm1(np.clip(evidence.excess, -2.0, 2.0))
    steps = np.diff(relative)[evidence.followed]
    steps = steps[np.isfinite(steps)]
    if steps.size < LEAST_ROWS / 2 or not spread > 0:
        return undecided("spread_explained", MOST_NOISE, "the laws answer for too few rows")
    noise = max(float(np.std(steps)) / 2.0**0.5, 1e-6)
    return Check(
        code="spread_explained",
        passed=spread <= MOST_NOISE * noise,
        figure=spread / noise,
        limit=MOST_NOISE,
        message=(
            f"the error on held-out rows spreads by {spread:.1%}, {spread / noise:.2f} times the "
            f"noise of {noise:.1%} between neighbouring rows"
        ),
    )
