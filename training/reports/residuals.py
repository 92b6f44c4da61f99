"""How far predictions are off on held rows: errors by load band, residuals by axis, coverage.

The interval is split conformal on the log residual (Vovk et al., 2005; Lei et al., 2018): its
ends are quantiles of log(actual / predicted), so it scales with the prediction and need not be
even. Live intervals follow the newest cycles; this one says how good the model is to begin with.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.reports.report import BandScores, Coverage, Points, Residuals, Spread
from training.reports.bands import BANDS, figure, figures, thinned

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

MOST_POINTS = 500
TIME_BINS, BINS = 60, 20
INTERVAL = 0.9
NOMINAL = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
# With fewer rows the 90 % interval would be its two extreme rows.
MIN_INTERVAL_ROWS = 20
# Rows in a row that calibrate, or are judged, together: half an hour of minutes.
STRETCH = 30


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Held:
    """Held rows of one strategy in order of time, each (n,); predictions finite and > 0."""

    time_s: FloatArray
    load: FloatArray
    band: IntArray
    ratio: FloatArray
    predicted_ms: FloatArray
    actual_ms: FloatArray

    @property
    def log_residual(self) -> FloatArray:
        """log(actual / predicted)."""
        return np.log(self.actual_ms) - np.log(self.predicted_ms)


def scores(held: Held) -> tuple[BandScores, ...]:
    """Errors of all rows, and of each load band that has any."""
    inside = _inside(held, INTERVAL)
    bands = [("all", np.ones(held.band.size, dtype=np.bool_))]
    bands += [(name, held.band == index) for index, name in enumerate(BANDS)]
    return tuple(_band_scores(name, held, rows, inside) for name, rows in bands if rows.any())


def points(held: Held) -> Points:
    """Predicted and actual, thinned."""
    rows = thinned(np.arange(held.band.size), MOST_POINTS)
    return Points(
        predicted_ms=figures(held.predicted_ms[rows]), actual_ms=figures(held.actual_ms[rows])
    )


def residuals(held: Held) -> Residuals:
    """Residuals along time, load and ratio."""
    relative = np.expm1(held.log_residual)
    return Residuals(
        by_time=_spread(held.time_s, relative, _even_edges(held.time_s, TIME_BINS), rounded=False),
        by_load=_spread(held.load, relative, _quantile_edges(held.load)),
        by_ratio=_spread(held.ratio, relative, _quantile_edges(held.ratio)),
    )


def coverage(held: Held) -> Coverage | None:
    """Intervals of several sizes from every other stretch of rows, judged on the others."""
    judged = [_inside(held, share) for share in NOMINAL]
    rows = int(np.isfinite(judged[0]).sum())
    if rows == 0:
        return None
    observed = np.array([np.nanmean(inside) for inside in judged])
    return Coverage(rows=rows, nominal=NOMINAL, observed=figures(observed))


def interval(log_residual: FloatArray, share: float) -> tuple[float, float]:
    """Ends between which `share` of coming log residuals lie, from those seen (n,), n > 0.

    The share is corrected by (n + 1) / n, so that it holds for a row that is not among them.
    """
    size = log_residual.size
    wanted = min(1.0, share * (size + 1) / size)
    low, high = np.quantile(log_residual, [(1 - wanted) / 2, (1 + wanted) / 2])
    return float(low), float(high)


def _inside(held: Held, share: float) -> FloatArray:
    """1 inside the interval of its load band, 0 outside, NaN where not judged, (n,).

    Stretches of rows calibrate and are judged in turn, so that both see every time of the day,
    and few judged rows have a calibrating neighbor. A band with few rows uses those of all.
    """
    residual, rows = held.log_residual, np.arange(held.band.size)
    calibrates = rows // max(1, min(STRETCH, rows.size // 8)) % 2 == 0
    inside = np.full(rows.size, np.nan)
    if calibrates.sum() < MIN_INTERVAL_ROWS:
        return inside
    for band in np.unique(held.band):
        own = held.band == band
        seen = residual[calibrates & own]
        low, high = interval(
            seen if seen.size >= MIN_INTERVAL_ROWS else residual[calibrates], share
        )
        judged = own & ~calibrates
        inside[judged] = (residual[judged] >= low) & (residual[judged] <= high)
    return inside


def _band_scores(name: str, held: Held, rows: NDArray[np.bool_], inside: FloatArray) -> BandScores:
    actual = held.actual_ms[rows]
    error = held.predicted_ms[rows] - actual
    variance = float(np.var(actual))
    judged = inside[rows][np.isfinite(inside[rows])]
    return BandScores(
        band=name,
        rows=int(rows.sum()),
        mae_ms=figure(float(np.abs(error).mean())),
        bias_ms=figure(float(error.mean())),
        mape_pct=figure(float(np.abs(error / actual).mean() * 100.0)),
        q95_ms=figure(float(np.quantile(np.abs(error), 0.95))),
        r2=figure(1.0 - float(np.square(error).mean()) / variance) if variance > 0 else None,
        coverage=figure(float(judged.mean())) if judged.size >= MIN_INTERVAL_ROWS else None,
    )


def _even_edges(axis: FloatArray, bins: int) -> FloatArray:
    return np.linspace(axis.min(), axis.max(), min(bins, axis.size) + 1)


def _quantile_edges(axis: FloatArray) -> FloatArray:
    known = axis[np.isfinite(axis)]
    if known.size == 0:
        return np.array([0.0])
    return np.unique(np.quantile(known, np.linspace(0.0, 1.0, BINS + 1)))


def _spread(
    axis: FloatArray, residual: FloatArray, edges: FloatArray, *, rounded: bool = True
) -> Spread:
    """Quantiles of `residual` in the bins of `axis`; empty bins are left out."""
    last = max(edges.size - 2, 0)
    bins = np.clip(np.searchsorted(edges, axis, side="right") - 1, 0, last)
    bins = np.where(np.isfinite(axis), bins, -1)
    groups = [np.flatnonzero(bins == index) for index in range(last + 1)]
    groups = [rows for rows in groups if rows.size]
    at = np.array([float(axis[rows].mean()) for rows in groups])
    low, median, high = (
        figures(np.array([np.quantile(residual[rows], share) for rows in groups]))
        for share in (0.05, 0.5, 0.95)
    )
    return Spread(
        at=figures(at) if rounded else tuple(float(round(value)) for value in at),
        rows=tuple(rows.size for rows in groups),
        low=low,
        median=median,
        high=high,
    )
