"""The load's daily profile: what part of the day carries how much, for projecting load ahead.

Called by training.learning.version; stored in the version and read by the greybox strategy.
"""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

PARTS = 288
# With fewer days a profile would be one day's accident.
MIN_DAYS = 3
# A part of a day with less than this share of the day's rows missing still counts.
_MIN_COVERAGE = 0.9


def daily_profile(time_s: FloatArray, load: FloatArray, day_s: float) -> tuple[float, ...]:
    """Median over the days of load / mean load of the day, in `PARTS` equal parts from 00:00 UTC.

    Args:
        time_s: (n,) UTC epoch seconds; load: (n,) in any unit, NaN is missing.
        day_s: length of a day; 86,400 unless time is scaled.

    Returns:
        `PARTS` numbers about 1, or () with fewer than `MIN_DAYS` covered days.
    """
    known = np.isfinite(load)
    day = np.floor(time_s[known] / day_s).astype(np.int64)
    if day.size == 0:
        return ()
    part = np.floor(np.mod(time_s[known], day_s) / day_s * PARTS).astype(np.int64)
    days = int(np.ptp(day)) + 1
    cell = (day - day.min()) * PARTS + part
    counts = np.bincount(cell, minlength=days * PARTS)
    sums = np.bincount(cell, weights=load[known], minlength=days * PARTS)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.where(counts > 0, sums / counts, np.nan).reshape(days, PARTS)
    means = means[np.isfinite(means).mean(axis=1) >= _MIN_COVERAGE]
    if len(means) < MIN_DAYS:
        return ()
    relative = means / np.nanmean(means, axis=1, keepdims=True)
    seen = np.isfinite(relative).any(axis=0)
    profile = np.ones(PARTS)
    profile[seen] = np.nanmedian(relative[:, seen], axis=0)
    return tuple(round(float(value), 6) for value in profile)
