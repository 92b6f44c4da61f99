"""Measurements: samples as they come in, and the window of recent ones that decisions read.

`check` judges one sample, `Window` keeps a bounded history per (service, data centre) and
answers what the last period looked like. Missing stays missing (None), never zero. Told the
time by its callers.
"""

import math
from bisect import insort
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from controlplane.domain.errors import Invalid
from controlplane.domain.topology import Fleet

# Samples that a window keeps of one data centre. An hour of periods is 60; one that sends each
# second, or the past of a day, must not make each sample as dear as its whole window.
MOST_KEPT = 600
# What a reading may be; beyond it the sample is a finding, not a fact.
LIMITS: Mapping[str, tuple[float, float]] = {
    "request_rate_rps": (0.0, 1e8),
    "response_time_ms": (0.0, 3_600_000.0),
    "response_time_p99_ms": (0.0, 3_600_000.0),
    "error_ratio": (0.0, 1.0),
    "inflight": (0.0, 1e9),
    "cpu_avg": (0.0, 1.0),
    "cpu_max": (0.0, 1.0),
    "memory": (0.0, 1.0),
    "disk": (0.0, 1.0),
    "ingress_bandwidth_bps": (0.0, 1e14),
    "connections": (0.0, 1e9),
    "connection_limit": (1.0, 1e9),
    "pool_use": (0.0, 1.0),
}
# A mean response time below a microsecond is none; nothing can be learned from it.
LEAST_RESPONSE_MS = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Metrics of one data centre and service over one period that ends at `time_s`.

    Attributes:
        time_s: end of the period by the sender's clock, UTC epoch seconds.
        received_s: when it arrived here; staleness is judged by this clock alone.
        response_time_ms: request-weighted mean over the period.
        cpu_avg, cpu_max, memory, disk, error_ratio: 0..1.
        connections, connection_limit: open ones at the end of the period, and how many may be.
        pool_use: part of its database connections in use, 0..1.
        suspicion: code of the doubt for which no decision reads it; None is trust.
        Other values: None is not reported.
    """

    datacenter: str
    service: str
    time_s: float
    received_s: float
    response_time_ms: float
    request_rate_rps: float | None = None
    response_time_p99_ms: float | None = None
    error_ratio: float | None = None
    inflight: float | None = None
    cpu_avg: float | None = None
    cpu_max: float | None = None
    memory: float | None = None
    disk: float | None = None
    ingress_bandwidth_bps: float | None = None
    connections: float | None = None
    connection_limit: float | None = None
    pool_use: float | None = None
    suspicion: str | None = None

    @property
    def load(self) -> float:
        """Request rate, or ingress bandwidth in its place when no rate is reported."""
        measure = self.request_rate_rps
        if measure is None:
            measure = self.ingress_bandwidth_bps
        return math.nan if measure is None else measure


def reading(sample: Sample, name: str) -> float:
    """One of the readings that `LIMITS` names; NaN when it was not reported."""
    value: float | None = getattr(sample, name)
    return math.nan if value is None else value


def mean(values: Sequence[float]) -> float:
    """Mean of readings; NaN of none, and when one was not reported."""
    return math.fsum(values) / len(values) if values else math.nan


def order(sample: Sample) -> tuple[float, float]:
    """By what samples of one data centre are ordered: when each was true.

    At the latest when it was received, so that a sender whose clock ran ahead does not hide what
    comes after its clock is set right.
    """
    return min(sample.time_s, sample.received_s), sample.time_s


def load_measure(samples: Iterable[Sample]) -> str:
    """The load measure that all samples share: request rate, else ingress bandwidth.

    Loads of data centres are added and compared, so one that sends no rate makes all of them
    be read by bandwidth.
    """
    by_rate = all(sample.request_rate_rps is not None for sample in samples)
    return "request_rate_rps" if by_rate else "ingress_bandwidth_bps"


def check(sample: Sample, fleet: Fleet) -> None:
    """Raise Invalid, naming field, value and limit, when a sample cannot be a fact.

    A known service and data centre, response time and one load measure are required; each
    reading must be finite and within `LIMITS`.
    """
    fleet.service(sample.service).cluster(sample.datacenter)
    if not math.isfinite(sample.time_s):
        raise Invalid("sample_value_out_of_range", "time must be a finite number of seconds")
    for name, (low, high) in LIMITS.items():
        value: float | None = getattr(sample, name)
        if value is not None and not low <= value <= high:
            raise Invalid(
                "sample_value_out_of_range",
                f"{name} is {value}; it must be a finite number within {low:g}..{high:g}",
                {"field": name},
            )
    if math.isnan(sample.load):
        raise Invalid(
            "sample_without_load",
            "give request_rate_rps, or ingress_bandwidth_bps in its place",
            {"field": "request_rate_rps"},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceWindow:
    """Recent samples of one service, per data centre, oldest first. A frozen view.

    Attributes:
        latest_s: data centre -> no sample of it has a later time; `extended` keeps it.
    """

    service: str
    samples: Mapping[str, tuple[Sample, ...]] = field(default_factory=dict)
    latest_s: Mapping[str, float] = field(default_factory=dict, compare=False, repr=False)

    def latest(self, datacenter: str) -> Sample | None:
        """The newest sample of one data centre, None when there is none."""
        history = self.samples.get(datacenter, ())
        return history[-1] if history else None

    def recent(self, datacenter: str, since_s: float) -> tuple[Sample, ...]:
        """Samples received at or after `since_s` (UTC epoch seconds), oldest first."""
        return tuple([s for s in self.samples.get(datacenter, ()) if s.received_s >= since_s])

    def age_s(self, datacenter: str, now_s: float) -> float:
        """Seconds since the newest sample arrived; infinite when there is none."""
        newest = self.latest(datacenter)
        return math.inf if newest is None else now_s - newest.received_s

    def shares(self) -> dict[str, float]:
        """Observed share of the load per data centre, from the newest samples; {} when unknown."""
        newest = {name: history[-1] for name, history in self.samples.items() if history}
        name = load_measure(newest.values())
        loads = {center: reading(sample, name) for center, sample in newest.items()}
        total = math.fsum(loads.values())
        if not math.isfinite(total) or total <= 0:
            return {}
        return {name: load / total for name, load in sorted(loads.items())}


def extended(window: ServiceWindow, samples: Iterable[Sample], keep_s: float) -> ServiceWindow:
    """The window with more samples: by time, a repeated time replaced, older than `keep_s` dropped.

    Of one data centre `MOST_KEPT` stay, the newest.

    A repeated time keeps its first receipt: what is sent again is not new. A time ahead of its
    receipt counts as the receipt, so that one sender whose clock ran ahead does not hide what
    arrives after its clock is set right. `keep_s` counts back from the newest sample of the same
    data centre by that time, so one data centre's silence never drops another's history.
    """
    kept = dict(window.samples)
    latest_s = dict(window.latest_s) or {
        name: max(one.time_s for one in history) for name, history in kept.items() if history
    }
    for sample in samples:
        name = sample.datacenter
        history = kept.get(name, ())
        if sample.time_s > latest_s.get(name, -math.inf):
            # The usual way, without a look at the whole history: nothing has this time yet.
            latest_s[name] = sample.time_s
            history = _appended(history, sample)
        else:
            history = _joined(history, first_received(history, sample))
        oldest_s = order(history[-1])[0] - keep_s
        start = next(at for at, one in enumerate(history) if order(one)[0] >= oldest_s)
        kept[name] = history[max(start, len(history) - MOST_KEPT) :]
    return ServiceWindow(service=window.service, samples=kept, latest_s=latest_s)


def without(window: ServiceWindow, samples: Iterable[Sample]) -> ServiceWindow:
    """The window without these samples."""
    gone = {(sample.datacenter, sample.time_s) for sample in samples}
    kept = {
        name: tuple(sample for sample in history if (name, sample.time_s) not in gone)
        for name, history in window.samples.items()
    }
    return replace(window, samples=kept)


def turned_back(window: ServiceWindow, now_s: float) -> ServiceWindow:
    """The window under a clock that was set back to `now_s`: nothing was received after now."""
    return replace(
        window,
        samples={
            name: tuple(sorted((received_by(one, now_s) for one in history), key=order))
            for name, history in window.samples.items()
        },
    )


def received_by(sample: Sample, now_s: float) -> Sample:
    """The sample, received at `now_s` if it was received later by a clock that was set back."""
    return sample if sample.received_s <= now_s else replace(sample, received_s=now_s)


def first_received(history: Iterable[Sample], sample: Sample) -> Sample:
    """The sample with the receipt of an earlier one of the same data centre and time, if any."""
    for earlier in history:
        if earlier.time_s == sample.time_s and earlier.datacenter == sample.datacenter:
            return replace(sample, received_s=min(earlier.received_s, sample.received_s))
    return sample


def of_centers(window: ServiceWindow, names: Collection[str]) -> ServiceWindow:
    """The window of these data centres; what one sent that was removed since says nothing."""
    if all(name in names for name in window.samples):
        return window
    kept = {name: history for name, history in window.samples.items() if name in names}
    return replace(window, samples=kept)


def shortened(window: ServiceWindow, since_s: float, least: int) -> ServiceWindow:
    """The window without what arrived before `since_s`, but at least the `least` newest of each."""
    return replace(
        window,
        samples={
            name: tuple(
                sample
                for index, sample in enumerate(history, least - len(history))
                if index >= 0 or sample.received_s >= since_s
            )
            for name, history in window.samples.items()
        },
    )


def _appended(history: tuple[Sample, ...], sample: Sample) -> tuple[Sample, ...]:
    if not history or order(sample) > order(history[-1]):
        return (*history, sample)
    return _joined(history, sample)


def _joined(history: tuple[Sample, ...], sample: Sample) -> tuple[Sample, ...]:
    others = [one for one in history if one.time_s != sample.time_s]
    insort(others, sample, key=order)
    return tuple(others)
