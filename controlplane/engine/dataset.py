"""The training data set of a service, as CSV text: the format that training reads.

A row is the metrics at t, the ratio applied over the next period, and the request-weighted mean
response time of that next period (the label). Two data centres, primary first. Called by the
API; reads the store only.
"""

import bisect
import csv
import io
import itertools
import math
from collections.abc import Mapping, Sequence

from controlplane.domain.decisions import Split
from controlplane.domain.errors import Invalid
from controlplane.domain.telemetry import Sample
from controlplane.domain.topology import Service

METRICS = (
    "request_rate_rps",
    "response_time_ms",
    "cpu_avg",
    "cpu_max",
    "ingress_bandwidth_bps",
    "memory",
    "disk",
)
SIDES = ("primary", "secondary")
COLUMNS = (
    "time_s",
    *(f"{side}_{name}" for side in SIDES for name in (*METRICS, "traffic_share")),
    "ratio",
    "response_time_ms",
)

Pair = tuple[Sample, Sample]


def dataset(
    service: Service, samples: Sequence[Sample], splits: Sequence[Split], period_s: float
) -> str:
    """CSV rows by time, header first; an empty cell is a missing metric.

    Args:
        samples: of both data centres, any order; a period that one of them misses is left out.
        splits: of the service, by time: the history of the ratio.
        period_s: length of a period; the label's row must follow within 1.5 of it.

    Raises:
        Invalid: the service does not have exactly two data centres.
    """
    if len(service.clusters) != 2:
        raise Invalid(
            "dataset_needs_two_centers",
            f"service {service.name} has {len(service.clusters)} data centres; "
            "the published data set is defined for two",
        )
    pairs = _pairs(service, samples, period_s)
    history = _RatioHistory(service.clusters[0].datacenter, splits)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for (time_s, pair), (next_s, label) in itertools.pairwise(pairs):
        if next_s - time_s > 1.5 * period_s:
            continue
        ratio = history.at(time_s, pair)
        response_time_ms = _mean_response_time(label)
        if math.isfinite(ratio) and math.isfinite(response_time_ms):
            writer.writerow([time_s, *_cells(pair), ratio, response_time_ms])
    return text.getvalue()


def _pairs(
    service: Service, samples: Sequence[Sample], period_s: float
) -> list[tuple[float, Pair]]:
    """Samples of both data centres that end in the same period, by time."""
    first, second = (cluster.datacenter for cluster in service.clusters)
    periods: dict[int, dict[str, Sample]] = {}
    for sample in samples:
        periods.setdefault(round(sample.time_s / period_s), {})[sample.datacenter] = sample
    return [
        (both[first].time_s, (both[first], both[second]))
        for _, both in sorted(periods.items())
        if first in both and second in both
    ]


class _RatioHistory:
    """The primary's share in force at a time; before the first split, what was observed.

    NaN while the splits do not name the primary, as after a data centre got another name.
    """

    def __init__(self, primary: str, splits: Sequence[Split]) -> None:
        self._times = [split.time_s for split in splits]
        self._ratios = [split.shares.get(primary, math.nan) for split in splits]

    def at(self, time_s: float, pair: Pair) -> float:
        index = bisect.bisect_right(self._times, time_s) - 1
        return self._ratios[index] if index >= 0 else _shares(pair)[0]


def _cells(pair: Pair) -> list[float | str]:
    cells: list[float | str] = []
    for sample, share in zip(pair, _shares(pair), strict=True):
        values: Mapping[str, float | None] = {name: getattr(sample, name) for name in METRICS}
        cells.extend("" if value is None else value for value in values.values())
        cells.append(share if math.isfinite(share) else "")
    return cells


def _shares(pair: Pair) -> tuple[float, float]:
    total = pair[0].load + pair[1].load
    if not total > 0:
        return (math.nan, math.nan)
    return (pair[0].load / total, pair[1].load / total)


def _mean_response_time(pair: Pair) -> float:
    """Request-weighted mean over both data centres, in ms; NaN without load."""
    total = pair[0].load + pair[1].load
    if not total > 0:
        return math.nan
    return sum(sample.load * sample.response_time_ms for sample in pair) / total
