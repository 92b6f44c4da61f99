"""Scaling of inputs and target, fitted on the training rows only and stored in the network.

Called by training.learning.network. Missing inputs count as the mean, which is 0 after scaling; the
numpy forward pass does the same.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.learning.settings import Target

FloatArray = NDArray[np.float64]

# A feature that moves less than this in training is a constant: its scale becomes 1.
_CONSTANT = 1e-9
# Floats of a row: 14 inputs, nothing, the target. A row is then one line of the cache, and rows
# are shuffled in every epoch.
WIDTH, TARGET = 16, 15


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scaler:
    """Mean and standard deviation of the inputs, (14,), and of the target."""

    x_mean: FloatArray
    x_scale: FloatArray
    y_mean: float
    y_scale: float


def fit_scaler(x: FloatArray, y: FloatArray, target: Target) -> Scaler:
    """Fit on x (rows, 14), NaN is missing, and y (rows,)."""
    seen = np.isfinite(x)
    count = np.maximum(seen.sum(axis=0), 1)
    x_mean = np.where(seen, x, 0.0).sum(axis=0) / count
    deviation = np.where(seen, x - x_mean, 0.0)
    x_scale = np.sqrt(np.square(deviation).sum(axis=0) / count)
    constant = x_scale <= _CONSTANT * np.maximum(np.abs(x_mean), 1.0)
    x_scale[constant] = 1.0
    if target is Target.UNSCALED:
        return Scaler(x_mean=x_mean, x_scale=x_scale, y_mean=0.0, y_scale=1.0)
    y_scale = max(float(y.std()), _CONSTANT)
    return Scaler(x_mean=x_mean, x_scale=x_scale, y_mean=float(y.mean()), y_scale=y_scale)


def scaled_table(scaler: Scaler, x: FloatArray, y: FloatArray) -> Tensor:
    """Scale x (rows, 14) and y (rows,) into one float32 table (rows, `WIDTH`)."""
    scaled = (x - scaler.x_mean) / scaler.x_scale
    scaled[~np.isfinite(scaled)] = 0.0
    table = torch.zeros(len(x), WIDTH)
    table[:, : x.shape[1]] = torch.from_numpy(scaled)
    table[:, TARGET] = torch.from_numpy((y - scaler.y_mean) / scaler.y_scale)
    return table
