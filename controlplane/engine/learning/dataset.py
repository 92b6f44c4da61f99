"""The training data set of a service, as CSV text: the format that training reads.

A row is the metrics at t, the ratio applied over the next period, and the request-weighted mean
response time of that next period (the label). Two data centres have the published columns,
primary first; of more, each has a block of columns with its name. Read by the API and by training
jobs, piece by piece; reads the store only.
"""

import asyncio
import bisect
import csv
import io
import math
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence

from controlplane.domain.decisions import Split
from controlplane.domain.errors import Invalid
from controlplane.domain.services import Service
from controlplane.domain.telemetry import LEAST_RESPONSE_MS, Sample
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
BLOCK = (*METRICS, "traffic_share", "scheduling_ratio")

# One sample of each data centre, primary first, of the same period.
Group = tuple[Sample, ...]


def columns_of(centers: Sequence[str]) -> tuple[str, ...]:
    """The header for these data centres, two or more."""
    if len(centers) == len(SIDES):
        return COLUMNS
    blocks = (f"{center}:{name}" for center in centers for name in BLOCK)
    return ("time_s", *blocks, "response_time_ms")


def every_row(_time_s: float) -> bool:
    """Take the row of any time."""
    return True


class RowMaker:
    """Makes rows from samples as they come, so that a data set is never in memory as a whole.

    Args:
        service: with two data centres or more; a period that one of them misses is left out.
        splits: of the service, by time: the history of the ratio.
        period_s: length of a period; the label's period must follow within 1.5 of it.
        takes: which rows are wanted, by their time.

    Raises:
        Invalid: the service has one data centre.
    """

    def __init__(
        self,
        service: Service,
        splits: Sequence[Split],
        period_s: float,
        takes: Callable[[float], bool] = every_row,
    ) -> None:
        if len(service.centers) < len(SIDES):
            raise Invalid(
                "dataset_needs_two_centers",
                f"service {service.name} has {len(service.centers)} data centres; "
                "where there is nothing to choose, there is nothing to learn",
            )
        self.service = service
        self.rows = 0
        self._names = tuple(cluster.datacenter for cluster in service.centers)
        self._history = _ShareHistory(self._names, splits)
        self._period_s = period_s
        self._takes = takes
        self._period = -1
        self._open: dict[str, Sample] = {}
        self._last: Group | None = None
        self._text = io.StringIO()
        self._writer = csv.writer(self._text, lineterminator="\n")
        self._writer.writerow(columns_of(self._names))

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
        group = tuple(self._open[name] for name in self._names if name in self._open)
        self._open = {}
        if len(group) < len(self._names):
            return
        last = self._last
        if last is not None and group[0].time_s - last[0].time_s <= 1.5 * self._period_s:
            self._row(last, group)
        self._last = group

    def _row(self, group: Group, label: Group) -> None:
        time_s = group[0].time_s
        shares = self._history.at(time_s, group)
        response_time_ms = _mean_response_time(label)
        # One minute without a response time must not make the whole set impossible.
        told = LEAST_RESPONSE_MS <= response_time_ms < math.inf
        known = told and all(map(math.isfinite, shares))
        if known and self._takes(time_s):
            self._writer.writerow([time_s, *_cells(group, shares), response_time_ms])
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


class _ShareHistory:
    """The shares in force at a time; before the first split, what was observed.

    NaN while the splits do not name a data centre, as after it got another name. Of two, what the
    primary has not is the other's.
    """

    def __init__(self, names: Sequence[str], splits: Sequence[Split]) -> None:
        self._times = [split.time_s for split in splits]
        named = names[:1] if len(names) == len(SIDES) else names
        self._shares = [
            tuple(split.shares.get(name, math.nan) for name in named) for split in splits
        ]

    def at(self, time_s: float, group: Group) -> tuple[float, ...]:
        """One share of two data centres, else one for each."""
        index = bisect.bisect_right(self._times, time_s) - 1
        if index >= 0:
            return self._shares[index]
        observed = _shares(group)
        return observed[:1] if len(group) == len(SIDES) else observed


def _cells(group: Group, shares: tuple[float, ...]) -> list[float | str]:
    """Metrics of each data centre, with its share behind them; of two, one ratio behind both."""
    cells: list[float | str] = []
    for at, (sample, observed) in enumerate(zip(group, _shares(group), strict=True)):
        values: Mapping[str, float | None] = {name: getattr(sample, name) for name in METRICS}
        cells.extend("" if value is None else value for value in values.values())
        cells.append(observed if math.isfinite(observed) else "")
        if len(shares) == len(group):
            cells.append(shares[at])
    return cells if len(shares) == len(group) else [*cells, *shares]


def _shares(group: Group) -> tuple[float, ...]:
    total = math.fsum(sample.load for sample in group)
    if not total > 0:
        return (math.nan,) * len(group)
    return tuple(sample.load / total for sample in group)


def _mean_response_time(group: Group) -> float:
    """Request-weighted mean over the data centres, in ms; NaN without load."""
    total = math.fsum(sample.load for sample in group)
    if not total > 0:
        return math.nan
    return math.fsum(sample.load * sample.response_time_ms for sample in group) / total
