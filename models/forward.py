"""The 14-64-32-1 network as arrays, and its forward pass in numpy.

Serving calls `predict` for one service's candidates, `predict_members` for an ensemble and
`predict_stack` for many services at once; training hands its weights over as `Mlp`. Never
imports torch, never trains.

A z-scored input is (x - mean) / scale. The division is folded into the first layer when an `Mlp`
is made, the subtraction is done in float64 on every call: folding it too would cancel digits of
inputs with a large mean and a small spread (a disk that hardly moves).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]

LAYERS = (14, 64, 32, 1)
# Services per pass of `predict_stack`: the hidden layers of one pass (16 x 61 x 64 float32, a
# quarter MiB) stay in a core's cache; larger passes measured twice as slow.
STACK_CHUNK = 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mlp:
    """Weights of one network and its scaler; y = y_mean + y_scale * net((x - x_mean) / x_scale).

    Attributes:
        w1: (14, 64) float32; b1: (64,) float32; w2: (64, 32); b2: (32,); w3: (32, 1); b3: (1,).
        x_mean, x_scale: (14,) float64, in the units of the inputs; every scale > 0.
        y_mean, y_scale: in the unit of the target; 0 and 1 where the target is not scaled.
    """

    w1: Float32
    b1: Float32
    w2: Float32
    b2: Float32
    w3: Float32
    b3: Float32
    x_mean: Float64
    x_scale: Float64
    y_mean: float = 0.0
    y_scale: float = 1.0
    folded_w1: Float32 = field(init=False, repr=False)
    folded_w3: Float32 = field(init=False, repr=False)
    folded_b3: np.float32 = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Bring the arrays into the form that the forward pass reads fastest."""
        for name in ("w1", "b1", "w2", "b2", "w3", "b3"):
            object.__setattr__(self, name, _contiguous(getattr(self, name)))
        object.__setattr__(self, "x_mean", np.asarray(self.x_mean, dtype=np.float64))
        object.__setattr__(self, "x_scale", np.asarray(self.x_scale, dtype=np.float64))
        object.__setattr__(self, "folded_w1", _contiguous(self.w1 / self.x_scale[:, None]))
        object.__setattr__(self, "folded_w3", _contiguous(self.w3[:, 0] * self.y_scale))
        bias = float(self.b3[0]) * self.y_scale + self.y_mean
        object.__setattr__(self, "folded_b3", np.float32(bias))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MlpStack:
    """Several networks as one: the arrays of `Mlp`, folded, with a leading axis (services, ...)."""

    x_mean: Float64
    w1: Float32
    b1: Float32
    w2: Float32
    b2: Float32
    w3: Float32
    b3: Float32


def predict(mlp: Mlp, x: Float64) -> Float32:
    """Predict the target of each row.

    Args:
        x: (batch, 14) float64, in the units of the features, not scaled. NaN is missing and
            counts as the mean of the training rows (0 after scaling).

    Returns:
        (batch,) float32 in the unit of the target; not finite where x is infinite.
    """
    centered = x - mlp.x_mean
    _fill_missing(centered)
    hidden = np.dot(centered.astype(np.float32), mlp.folded_w1)
    hidden += mlp.b1
    np.maximum(hidden, 0.0, out=hidden)
    hidden = np.dot(hidden, mlp.w2)
    hidden += mlp.b2
    np.maximum(hidden, 0.0, out=hidden)
    y: Float32 = np.dot(hidden, mlp.folded_w3)
    y += mlp.folded_b3
    return y


def stack(mlps: Sequence[Mlp]) -> MlpStack:
    """Put networks side by side for `predict_stack`, once per change of a model, not per tick."""
    return MlpStack(
        x_mean=np.stack([mlp.x_mean for mlp in mlps])[:, None, :],
        w1=np.stack([mlp.folded_w1 for mlp in mlps]),
        b1=np.stack([mlp.b1 for mlp in mlps])[:, None, :],
        w2=np.stack([mlp.w2 for mlp in mlps]),
        b2=np.stack([mlp.b2 for mlp in mlps])[:, None, :],
        w3=np.stack([mlp.folded_w3 for mlp in mlps])[:, :, None],
        b3=np.stack([mlp.folded_b3 for mlp in mlps])[:, None],
    )


def predict_stack(networks: MlpStack, x: Float64) -> Float32:
    """Predict for many services, each by its own network.

    Args:
        x: (services, candidates, 14) float64, as in `predict`.

    Returns:
        (services, candidates) float32, equal to `predict` of each service within rounding.
    """
    services = x.shape[0]
    y = np.empty(x.shape[:2], dtype=np.float32)
    for start in range(0, services, STACK_CHUNK):
        part = slice(start, min(start + STACK_CHUNK, services))
        y[part] = _predict_part(networks, x, part)
    return y


def predict_members(networks: MlpStack, x: Float64) -> Float32:
    """Predict the same rows by every network of an ensemble.

    Args:
        x: (batch, 14) float64, as in `predict`.

    Returns:
        (members, batch) float32, equal to `predict` of each member within rounding.
    """
    return predict_stack(networks, np.broadcast_to(x, (networks.w1.shape[0], *x.shape)))


def _predict_part(networks: MlpStack, x: Float64, part: slice) -> Float32:
    centered = x[part] - networks.x_mean[part]
    _fill_missing(centered)
    hidden = np.matmul(centered.astype(np.float32), networks.w1[part])
    hidden += networks.b1[part]
    np.maximum(hidden, 0.0, out=hidden)
    hidden = np.matmul(hidden, networks.w2[part])
    hidden += networks.b2[part]
    np.maximum(hidden, 0.0, out=hidden)
    y: Float32 = np.matmul(hidden, networks.w3[part])[:, :, 0]
    y += networks.b3[part]
    return y


def _fill_missing(centered: Float64) -> None:
    missing = np.isnan(centered)
    if missing.any():
        centered[missing] = 0.0


def _contiguous(values: ArrayLike) -> Float32:
    return np.ascontiguousarray(values, dtype=np.float32)
