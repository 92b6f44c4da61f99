"""The 14 inputs of the network: one function for training and for serving.

Per data centre, primary first: six metrics and the scheduling ratio of that centre (S4). The
digest of this schema is stored in every model, and a model with another digest is refused.
"""

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from controlplane.domain.telemetry import Sample

FloatArray = NDArray[np.float64]

CENTERS = ("primary", "secondary")
METRICS = ("cpu_avg", "cpu_max", "ingress_bandwidth_bps", "memory", "disk", "traffic_share")
FEATURE_NAMES = tuple(
    f"{center}.{name}" for center in CENTERS for name in (*METRICS, "scheduling_ratio")
)
SCHEMA_DIGEST = hashlib.sha256("\n".join(FEATURE_NAMES).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class CenterColumns:
    """Metrics of one data centre: each a number or an array; NaN is missing.

    cpu, memory, disk and traffic_share are 0..1, bandwidth is in bit/s.
    """

    cpu_avg: ArrayLike
    cpu_max: ArrayLike
    ingress_bandwidth_bps: ArrayLike
    memory: ArrayLike
    disk: ArrayLike
    traffic_share: ArrayLike


def design_matrix(primary: CenterColumns, secondary: CenterColumns, ratio: ArrayLike) -> FloatArray:
    """Join metrics with ratios: x (..., 14) float64 in the order of `FEATURE_NAMES`, not scaled.

    Args:
        ratio: the primary's share, 0..1; the secondary's input is 1 - ratio. It and the metrics
            are numbers or arrays and broadcast: (n,) rows of training; one service's metrics
            with (61,) candidates; (services, 1) metrics with (61,) candidates.
    """
    r = np.atleast_1d(np.asarray(ratio, dtype=np.float64))
    columns = (*_metrics(primary), r, *_metrics(secondary), 1.0 - r)
    x = np.empty((*np.broadcast(*columns).shape, len(FEATURE_NAMES)))
    for index, column in enumerate(columns):
        x[..., index] = column
    return x


def center_columns(sample: Sample, traffic_share: float | None) -> CenterColumns:
    """Columns of one sample; what it does not report becomes NaN."""
    return CenterColumns(
        cpu_avg=_number(sample.cpu_avg),
        cpu_max=_number(sample.cpu_max),
        ingress_bandwidth_bps=_number(sample.ingress_bandwidth_bps),
        memory=_number(sample.memory),
        disk=_number(sample.disk),
        traffic_share=_number(traffic_share),
    )


def _metrics(center: CenterColumns) -> tuple[FloatArray, ...]:
    return tuple(np.asarray(getattr(center, name), dtype=np.float64) for name in METRICS)


def _number(value: float | None) -> float:
    return np.nan if value is None else value
