"""The box that the training rows cover, stored in the version; called by learning.version."""

import numpy as np

from models.artifact import Support
from training.dataset import Dataset
from training.learning.projection import Laws, projected_inputs

# The support box is this much wider than the rows, as a share of their range, at least
# `_MARGIN` where the feature is 0..1: a disk that fills up by 1 % is no new world.
_WIDER, _MARGIN = 0.05, 0.02


def support_of(dataset: Dataset, laws: Laws) -> Support:
    """The range of each input, as measured and as projected, and of the ratio."""
    both = np.vstack([dataset.inputs(), projected_inputs(dataset, laws)])
    seen = np.isfinite(both)
    low = np.where(seen, both, np.inf).min(axis=0)
    high = np.where(seen, both, -np.inf).max(axis=0)
    reported = seen.any(axis=0)
    low, high = np.where(reported, low, 0.0), np.where(reported, high, 0.0)
    margin = np.maximum(_WIDER * (high - low), np.where(high <= 1.0, _MARGIN, 0.0))
    margin = np.where(reported, margin, 0.0)
    ratio_low, ratio_high = np.quantile(dataset.ratio, [0.01, 0.99])
    return Support(
        feature_min=tuple(float(value) for value in low - margin),
        feature_max=tuple(float(value) for value in high + margin),
        ratio_low=float(ratio_low),
        ratio_high=float(ratio_high),
    )
