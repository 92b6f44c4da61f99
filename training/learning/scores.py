"""Figures of prediction error on held-out rows, by name.

They rank networks, not strategies: a strategy is judged by its decisions, against an oracle that
knows the truth, because a small error of prediction does not make a good choice.
"""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def error_scores(name: str, predicted: FloatArray, actual: FloatArray) -> dict[str, float]:
    """Errors of `predicted` (n,) against `actual` (n,), both in ms, actual > 0.

    Returns:
        `{name}_mae_ms`, `_rmse_ms`, `_mape_pct`, `_r2` and `_residual_spread` (relative).
    """
    error = predicted - actual
    variance = float(np.var(actual))
    return {
        f"{name}_mae_ms": float(np.abs(error).mean()),
        f"{name}_rmse_ms": float(np.sqrt(np.square(error).mean())),
        f"{name}_mape_pct": float(np.abs(error / actual).mean() * 100.0),
        f"{name}_r2": 1.0 - float(np.square(error).mean()) / variance if variance > 0 else 0.0,
        f"{name}_residual_spread": relative_spread(predicted, actual),
    }


def relative_spread(predicted: FloatArray, actual: FloatArray) -> float:
    """Standard deviation of (predicted - actual) / actual."""
    return float(np.std((predicted - actual) / actual))
