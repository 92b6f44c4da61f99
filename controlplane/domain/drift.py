"""Whether a model's errors have moved away from where they were when it was made. Pure.

Called by `domain.retraining` for drift that is too slow for its rule of six cycles. The signed
error of a sound model has the mean 0 and the spread of its held-out rows, both frozen with the
model; so the means over several windows, all ending now, are held against 0. Errors in a row
resemble each other: with the correlation r between neighbours, here taken as 0.5, the mean of w
of them spreads as sqrt((1 + r) / (1 - r) / w). This is a moving sum (MOSUM) with a known mean at
several scales. ADWIN has to find the earlier mean in the data first; docs/adr has both measured.
"""

import math
from collections.abc import Sequence

import numpy as np

# Cycles: two hours to a day. A whole day evens out what only depends on the hour.
WINDOWS = (24, 48, 96, 192, 288)
# (1 + r) / (1 - r) at r = 0.5.
RESEMBLANCE = 3.0


def drifted(errors: Sequence[float], spread: float, limit: float) -> bool:
    """Whether the mean of a window is more than `limit` of its own standard errors from 0.

    Args:
        errors: signed relative errors by cycle, newest last; what is not finite is left out.
        spread: of the model's errors when it was made; not above 0 is unknown, and no drift.
    """
    known = np.asarray(errors, dtype=np.float64)
    known = known[np.isfinite(known)][::-1]
    if not spread > 0:
        return False
    sums = np.cumsum(known)
    return any(
        abs(float(sums[window - 1])) / window > limit * spread * math.sqrt(RESEMBLANCE / window)
        for window in WINDOWS
        if window <= known.size
    )
