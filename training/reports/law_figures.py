"""Each fitted queue law against the rows that it was fitted on."""

import numpy as np
from numpy.typing import NDArray

from controlplane.domain.features import CENTERS
from controlplane.domain.strategies.queue_law import response_time_ms, utilization
from models.reports.report import LawFigure
from training.dataset import Dataset
from training.reports.bands import figures, thinned
from training.reports.expectations import Version

FloatArray = NDArray[np.float64]

POINTS, OBSERVED = 60, 300
# Past saturation a law goes on by assumption, so little of it is shown.
MOST_USE = 1.1


def law_figures(dataset: Dataset, version: Version) -> tuple[LawFigure, ...]:
    """One figure for each data center that reports CPU and its own response time."""
    found = []
    for name, law in zip(CENTERS, version.laws, strict=True):
        series = dataset.primary if name == CENTERS[0] else dataset.secondary
        use = utilization(law, series.cpu_avg)
        known = np.flatnonzero(np.isfinite(use) & np.isfinite(series.response_time_ms))
        if not known.size:
            continue
        shown = thinned(known, OBSERVED)
        along = np.linspace(0.0, min(MOST_USE, max(float(use[known].max()), 0.1)), POINTS)
        found.append(
            LawFigure(
                center=name,
                use=figures(along),
                fitted_ms=figures(response_time_ms(law, along)),
                observed_use=figures(use[shown]),
                observed_ms=figures(series.response_time_ms[shown]),
            )
        )
    return tuple(found)
