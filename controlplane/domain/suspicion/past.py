"""The trusted state that input is judged against: recent samples, and the shares in force."""

import statistics
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field

from controlplane.domain.services import Service
from controlplane.domain.suspicion.limits import SuspicionLimits
from controlplane.domain.telemetry import Sample

RATE = "request_rate_rps"
BANDWIDTH = "ingress_bandwidth_bps"
# A request a second, or some 12 kB/s: less is idle whatever the capacity.
IDLE_RPS = 1.0
IDLE_BPS = 100_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """Shares that were in force from a time (UTC epoch seconds) until the next ones."""

    since_s: float
    shares: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What is known of one service when something new comes.

    Attributes:
        trusted: data centre -> trusted samples, oldest first.
        newest: data centre -> its newest sample, trusted or not.
        shares: data centre -> share in force, 0..1; {} when none is known.
        moved_s: when the shares in force last changed, UTC epoch seconds.
        earlier: the shares in force before, oldest first; () when they are not known.
        period_s: length of a sample's period; `window_s`: trusted samples older than this, when
            the new one ends, are no measure for it.
    """

    service: Service
    trusted: Mapping[str, tuple[Sample, ...]]
    newest: Mapping[str, Sample] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)
    moved_s: float = 0.0
    earlier: tuple[InForce, ...] = ()
    period_s: float = 60.0
    window_s: float = 3_600.0


def true_s(sample: Sample) -> float:
    """When a sample was true, at the latest when it was received."""
    return min(sample.time_s, sample.received_s)


def reference(
    past: Past, datacenter: str, before: Sample, limits: SuspicionLimits
) -> tuple[Sample, ...]:
    """The trusted samples of a data centre that a sample is measured by, oldest first.

    Those of the window before it, the newest few; () when they are too few to tell.
    """
    # In order of this time, so that neither a long history nor late samples make it slow.
    history = past.trusted.get(datacenter, ())
    end = bisect_left(history, true_s(before), key=true_s)
    start = bisect_left(history, true_s(before) - past.window_s, key=true_s)
    found = history[max(start, end - limits.reference_samples) : end]
    return found if len(found) >= limits.reference_least else ()


def median(samples: tuple[Sample, ...], name: str) -> float | None:
    """Median of one reading over the samples that report it; None when none does."""
    values: list[float] = [
        value for sample in samples if (value := getattr(sample, name)) is not None
    ]
    return statistics.median(values) if values else None


def idle_below(past: Past, sample: Sample, limits: SuspicionLimits) -> float:
    """The load below which the data centre of a sample is idle, in the sample's own measure."""
    if sample.request_rate_rps is None:
        return IDLE_BPS
    capacity_rps = past.service.cluster(sample.datacenter).capacity_rps
    return max(IDLE_RPS, limits.idle_load * capacity_rps)
