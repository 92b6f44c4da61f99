"""What serving would have computed for each row: projected inputs and the queue laws' answer.

The residual network corrects the queue laws at projected loads, so it must be trained on exactly
those. Vectorised over the rows of a data set; the same formulas as
domain.strategies.center_use and domain.strategies.networks, which a test compares.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from controlplane.domain.features import CenterColumns, design_matrix
from controlplane.domain.strategies.center_use import MEMORY_PERIODS
from controlplane.domain.strategies.queue_law import CenterLaw, response_time_ms, utilization
from training.dataset import CenterSeries, Dataset

FloatArray = NDArray[np.float64]

Laws = tuple[CenterLaw, CenterLaw]


def greybox_ms(dataset: Dataset, laws: Laws) -> FloatArray:
    """As `laws_ms`, of two centres by their place."""
    series = (dataset.primary, dataset.secondary)
    return laws_ms(series, np.stack([dataset.ratio, 1.0 - dataset.ratio]), laws)


def laws_ms(
    series: Sequence[CenterSeries], shares: FloatArray, laws: Sequence[CenterLaw]
) -> FloatArray:
    """Mean response time of each row by the queue laws, (n,) in ms; NaN where a metric is missing.

    J = sum_d s_d f_d(k_d load s_d), k = use / load over the last rows.

    Args:
        shares: (centers, n) over the next period, 0..1; a centre without a share is not asked.
    """
    borne = np.stack([recent(load) for load in loads(series)])
    total = borne.sum(axis=0)
    mean = np.zeros(total.size)
    for one, load, share, law in zip(series, borne, shares, laws, strict=True):
        use = recent(utilization(law, one.cpu_avg))
        with np.errstate(divide="ignore", invalid="ignore"):
            rho = np.where(load > 0, use / load, np.nan) * total * share
        known = np.isfinite(rho)
        curve = response_time_ms(law, np.where(known, rho, 0.0))
        mean += np.where(share > 0, share * np.where(known, curve, np.nan), 0.0)
    return mean


def loads(series: Sequence[CenterSeries]) -> FloatArray:
    """(centers, n) requests/s; bit/s where a centre never tells its rate."""
    if _by_rate(series):
        return np.stack([one.request_rate_rps for one in series])
    return np.stack([one.ingress_bandwidth_bps for one in series])


def projected_inputs(dataset: Dataset, laws: Laws) -> FloatArray:
    """Inputs with CPU, bandwidth and share moved to the ratio of the row: (n, 14), not scaled."""
    primary = _moved(dataset.primary, dataset.ratio, laws[0])
    secondary = _moved(dataset.secondary, 1.0 - dataset.ratio, laws[1])
    return design_matrix(primary, secondary, dataset.ratio)


def total_load(dataset: Dataset) -> FloatArray:
    """Load of both centres, (n,): requests/s, or bit/s where no rates are reported."""
    return np.asarray(loads((dataset.primary, dataset.secondary)).sum(axis=0))


def load_unit(dataset: Dataset) -> str:
    """What `total_load` counts."""
    return "requests/s" if _by_rate((dataset.primary, dataset.secondary)) else "bit/s"


def _moved(series: CenterSeries, share: FloatArray, law: CenterLaw) -> CenterColumns:
    seen = np.where(series.traffic_share > 0, series.traffic_share, np.nan)
    scale = share / seen
    idle = law.idle_cpu
    return replace(
        series.features,
        cpu_avg=np.clip(idle + (series.cpu_avg - idle) * scale, 0.0, 1.0),
        cpu_max=np.clip(idle + (series.cpu_max - idle) * scale, 0.0, 1.0),
        ingress_bandwidth_bps=series.ingress_bandwidth_bps * scale,
        traffic_share=share,
    )


def _by_rate(series: Sequence[CenterSeries]) -> bool:
    return all(np.isfinite(one.request_rate_rps).any() for one in series)


def recent(values: FloatArray) -> FloatArray:
    """Mean over the last rows that are known, as serving averages its last samples."""
    known = np.isfinite(values)
    total, count = np.zeros(values.size), np.zeros(values.size)
    for back in range(min(MEMORY_PERIODS, values.size)):
        total[back:] += np.where(known, values, 0.0)[: values.size - back]
        count[back:] += known[: values.size - back]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(count > 0, total / count, np.nan)
