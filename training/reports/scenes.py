"""Response time against ratio at low, middle, high and peak load, by each strategy."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from controlplane.domain.services import StrategyName
from controlplane.domain.strategies.candidates import GRID
from models.reports.report import Curve, Scene
from training.dataset import Dataset
from training.reports.bands import BANDS, figure, figures, thinned
from training.reports.expectations import Version, candidates_ms, with_past
from training.reports.residuals import INTERVAL, MIN_INTERVAL_ROWS, Held, interval

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Enough that the median curve is that of the band and not of one minute.
CURVE_ROWS = 60
OBSERVED_ROWS = 150


def scenes(
    dataset: Dataset,
    load: FloatArray,
    band: IntArray,
    version: Version,
    held: Mapping[StrategyName, Held],
) -> tuple[Scene, ...]:
    """One scene for each load band that has rows.

    Args:
        load, band: (n,) of the rows; held: the strategies to ask, with their held rows.
    """
    found = []
    for index, name in enumerate(BANDS):
        rows = np.flatnonzero(band == index)
        asked, at = with_past(dataset, thinned(rows, CURVE_ROWS))
        if at.size == 0:
            continue
        curves = (
            _curve(strategy, candidates_ms(version, strategy, asked)[at], own, index)
            for strategy, own in held.items()
        )
        shown = thinned(rows, OBSERVED_ROWS)
        found.append(
            Scene(
                band=name,
                load=figure(float(load[rows].mean())),
                rows=rows.size,
                current=figure(float(np.median(dataset.ratio[rows]))),
                observed_ratio=figures(dataset.ratio[shown]),
                observed_ms=figures(dataset.response_time_ms[shown]),
                curves=tuple(curve for curve in curves if curve is not None),
            )
        )
    return tuple(found)


def _curve(strategy: StrategyName, candidates: FloatArray, held: Held, band: int) -> Curve | None:
    """The median of the curves (n, 61); None when no row can be answered.

    The median, because a few minutes in overload would lift the mean above nearly all rows.
    """
    known = candidates[np.isfinite(candidates).all(axis=1)]
    if not len(known):
        return None
    middle = np.median(known, axis=0)
    seen = held.log_residual[held.band == band]
    low, high = interval(seen, INTERVAL) if seen.size >= MIN_INTERVAL_ROWS else (np.nan, np.nan)
    return Curve(
        strategy=strategy.value,
        predicted_ms=figures(middle),
        low_ms=figures(middle * np.exp(low)) if np.isfinite(low) else (),
        high_ms=figures(middle * np.exp(high)) if np.isfinite(high) else (),
        chosen=float(GRID[np.argmin(middle)]),
    )
