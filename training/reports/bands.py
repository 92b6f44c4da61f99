"""Load bands, and thinning: how a month of rows becomes a few numbers."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Most rows are in the middle; what hurts users happens in the busiest twentieth.
BANDS = ("low", "middle", "high", "peak")
_QUANTILES = (0.25, 0.75, 0.95)
NO_BAND = -1


def band_of(load: FloatArray) -> IntArray:
    """Index into `BANDS` of each row by its load (n,); `NO_BAND` where the load is NaN."""
    known = np.isfinite(load)
    if not known.any():
        return np.full(load.size, NO_BAND, dtype=np.int64)
    edges = np.quantile(load[known], _QUANTILES)
    return np.where(known, np.searchsorted(edges, np.where(known, load, 0.0)), NO_BAND)


def thinned(indices: IntArray, most: int) -> IntArray:
    """At most `most` of the indices, the middles of equal stretches."""
    if indices.size <= most:
        return indices
    chosen = np.floor((np.arange(most) + 0.5) * indices.size / most).astype(np.int64)
    return indices[chosen]


def figures(values: FloatArray) -> tuple[float, ...]:
    """Numbers with five significant digits: a chart shows no more, and a report is kept for long.

    Not for times, which need ten.
    """
    return tuple(float(f"{value:.5g}") for value in values.tolist())


def figure(value: float) -> float:
    """As `figures`, of one number."""
    return float(f"{value:.5g}")
