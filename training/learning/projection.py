"""What serving would have computed for each row: projected inputs and the queue laws' answer.

The residual network corrects the queue laws at projected loads, so it must be trained on exactly
those. Vectorised over the rows of a data set; the same formulas as
domain.strategies.projection and domain.strategies.networks, which a test compares.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from controlplane.domain.features import CenterColumns, design_matrix
from controlplane.domain.strategies.projection import MEMORY_PERIODS
from controlplane.domain.strategies.queue_law import CenterLaw, response_time_ms, utilization
from training.dataset import CenterSeries, Dataset

FloatArray = NDArray[np.float64]

Laws = tuple[CenterLaw, CenterLaw]


def greybox_ms(dataset: Dataset, laws: Laws) -> FloatArray:
    """Mean response time of each row by the queue laws, (n,) in ms; NaN where a metric is missing.

    J = r f_A(k_A load r) + (1 - r) f_B(k_B load (1 - r)), k = use / load over the last rows.
    """
    load = recent(_load(dataset, dataset.primary)) + recent(_load(dataset, dataset.secondary))
    total = np.zeros(len(dataset))
    for series, law, share in (
        (dataset.primary, laws[0], dataset.ratio),
        (dataset.secondary, laws[1], 1.0 - dataset.ratio),
    ):
        borne = recent(_load(dataset, series))
        use = recent(utilization(law, series.cpu_avg))
        with np.errstate(divide="ignore", invalid="ignore"):
            per_load = np.where(borne > 0, use / borne, np.nan)
        rho = per_load * load * share
        known = np.isfinite(rho)
        curve = response_time_ms(law, np.where(known, rho, 0.0))
        total += share * np.where(known, curve, np.nan)
    return total


def projected_inputs(dataset: Dataset, laws: Laws) -> FloatArray:
    """Inputs with CPU, bandwidth and share moved to the ratio of the row: (n, 14), not scaled."""
    primary = _moved(dataset.primary, dataset.ratio, laws[0])
    secondary = _moved(dataset.secondary, 1.0 - dataset.ratio, laws[1])
    return design_matrix(primary, secondary, dataset.ratio)


def total_load(dataset: Dataset) -> FloatArray:
    """Load of both centres, (n,): requests/s, or bit/s where no rates are reported."""
    return _load(dataset, dataset.primary) + _load(dataset, dataset.secondary)


def load_unit(dataset: Dataset) -> str:
    """What `total_load` counts."""
    return "requests/s" if _by_rate(dataset) else "bit/s"


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


def _load(dataset: Dataset, series: CenterSeries) -> FloatArray:
    return series.request_rate_rps if _by_rate(dataset) else series.ingress_bandwidth_bps


def _by_rate(dataset: Dataset) -> bool:
    rates = (dataset.primary.request_rate_rps, dataset.secondary.request_rate_rps)
    return all(np.isfinite(rate).any() for rate in rates)


def recent(values: FloatArray) -> FloatArray:
    """Mean over the last rows that are known, as serving averages its last samples."""
    known = np.isfinite(values)
    total, count = np.zeros(values.size), np.zeros(values.size)
    for back in range(min(MEMORY_PERIODS, values.size)):
        total[back:] += np.where(known, values, 0.0)[: values.size - back]
        count[back:] += known[: values.size - back]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(count > 0, total / count, np.nan)
