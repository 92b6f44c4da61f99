"""The training data set of a service, as CSV text: the format that training reads.

A row is the metrics at t, the ratio applied over the next period, and the request-weighted mean
response time of that next period (the label). Two data centres, primary first. Read by the API
and by training jobs, piece by piece; reads the store only.
"""

import asyncio
import bisect
import csv
import io
import math
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence

from controlplane.domain.decisions import Split
from controlplane.domain.errors import Invalid
from controlplane.domain.telemetry import Sample
from controlplane.domain.topology import Service
from controlplane.ports.stores import Pages

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


def every_row(_time_s: float) -> bool:
    """Take the row of any time."""
    return True


class RowMaker:
    """Makes rows from samples as they come, so that a data set is never in memory as a whole.

    Args:
        service: with two data centres; a period that one of them misses is left out.
        splits: of the service, by time: the history of the ratio.
        period_s: length of a period; the label's period must follow within 1.5 of it.
        takes: which rows are wanted, by their time.

    Raises:
        Invalid: the service does not have exactly two data centres.
    """

    def __init__(
        self,
        service: Service,
        splits: Sequence[Split],
        period_s: float,
        takes: Callable[[float], bool] = every_row,
    ) -> None:
        if len(service.clusters) != 2:
            raise Invalid(
                "dataset_needs_two_centers",
                f"service {service.name} has {len(service.clusters)} data centres; "
                "the published data set is defined for two",
            )
        self.service = service
        self.rows = 0
        self._names = tuple(cluster.datacenter for cluster in service.clusters)
        self._history = _RatioHistory(self._names[0], splits)
        self._period_s = period_s
        self._takes = takes
        self._period = -1
        self._open: dict[str, Sample] = {}
        self._last: Pair | None = None
        self._text = io.StringIO()
        self._writer = csv.writer(self._text, lineterminator="\n")
        self._writer.writerow(COLUMNS)

    def feed(self, samples: Iterable[Sample]) -> str:
        """The rows that are complete after these samples, which follow the earlier ones by time.

        A suspicious sample is as good as none.
        """
        for sample in samples:
            if sample.suspicion is not None:
                continue
            # Not `round`, which takes every second half to the same even number.
            period = math.floor(sample.time_s / self._period_s + 0.5)
            if period != self._period:
                self._close()
                self._period = period
            self._open[sample.datacenter] = sample
        return self._written()

    def end(self) -> str:
        """The rows that are left when no sample follows."""
        self._close()
        return self._written()

    def _close(self) -> None:
        """The open period is over: it is the label of the one before it."""
        both = [self._open[name] for name in self._names if name in self._open]
        self._open = {}
        if len(both) < 2:
            return
        pair = (both[0], both[1])
        if self._last is not None and pair[0].time_s - self._last[0].time_s <= 1.5 * self._period_s:
            self._row(self._last, pair)
        self._last = pair

    def _row(self, pair: Pair, label: Pair) -> None:
        time_s = pair[0].time_s
        ratio = self._history.at(time_s, pair)
        response_time_ms = _mean_response_time(label)
        known = math.isfinite(ratio) and math.isfinite(response_time_ms)
        if known and self._takes(time_s):
            self._writer.writerow([time_s, *_cells(pair), ratio, response_time_ms])
            self.rows += 1

    def _written(self) -> str:
        text = self._text.getvalue()
        self._text.seek(0)
        self._text.truncate()
        return text


async def pieces(maker: RowMaker, samples: Pages, since_s: float) -> AsyncIterator[str]:
    """The data set as CSV text, header first; an empty cell is a missing metric.

    Raises:
        Retryable: the store is away; the first piece comes after its first answer.
    """
    after = (since_s, "")
    while page := await samples.page(maker.service.name, after):
        # Thousands of rows take longer than the loop may be held up.
        yield await asyncio.to_thread(maker.feed, page)
        after = (page[-1].time_s, page[-1].datacenter)
    yield maker.end()


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
