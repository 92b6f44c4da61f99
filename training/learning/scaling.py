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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scaler:
    """Mean and standard deviation: inputs (networks, 14), target (networks,)."""

    x_mean: FloatArray
    x_scale: FloatArray
    y_mean: FloatArray
    y_scale: FloatArray


def fit_scaler(x: FloatArray, y: FloatArray, target: Target) -> Scaler:
    """Fit on x (networks, rows, 14), NaN is missing, and y (networks, rows)."""
    seen = np.isfinite(x)
    count = np.maximum(seen.sum(axis=1), 1)
    x_mean = np.where(seen, x, 0.0).sum(axis=1) / count
    deviation = np.where(seen, x - x_mean[:, None, :], 0.0)
    x_scale = np.sqrt(np.square(deviation).sum(axis=1) / count)
    constant = x_scale <= _CONSTANT * np.maximum(np.abs(x_mean), 1.0)
    x_scale[constant] = 1.0
    if target is Target.UNSCALED:
        return Scaler(
            x_mean=x_mean,
            x_scale=x_scale,
            y_mean=np.zeros(y.shape[0]),
            y_scale=np.ones(y.shape[0]),
        )
    y_scale = np.maximum(y.std(axis=1), _CONSTANT)
    return Scaler(x_mean=x_mean, x_scale=x_scale, y_mean=y.mean(axis=1), y_scale=y_scale)


def scale(scaler: Scaler, x: FloatArray, y: FloatArray) -> tuple[Tensor, Tensor]:
    """Scale to float32 tensors x (networks, rows, 14), y (networks, rows, 1)."""
    scaled = (x - scaler.x_mean[:, None, :]) / scaler.x_scale[:, None, :]
    scaled[~np.isfinite(scaled)] = 0.0
    target = (y - scaler.y_mean[:, None]) / scaler.y_scale[:, None]
    return (
        torch.from_numpy(scaled.astype(np.float32)),
        torch.from_numpy(target.astype(np.float32)[:, :, None]),
    )
