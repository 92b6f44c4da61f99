"""Minute means of samples: what is left of a measurement when its raw samples are dropped.

A mean keeps the units and the shape of a sample, so that everything that reads samples reads it.
With one sample a minute it is that sample, unchanged. Means of means come out as the mean of all:
each minute knows how many samples are in it.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from controlplane.domain.telemetry import LIMITS, Sample, reading

MINUTE_S = 60.0
# A request-weighted mean stays one; a largest value stays the largest.
BY_LOAD = frozenset({"response_time_ms", "error_ratio"})
LARGEST = frozenset({"response_time_p99_ms", "cpu_max"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Minute:
    """Samples of one service and data center in one minute.

    Attributes:
        sample: their mean; its times are those of the newest one.
        samples: how many are in it, >= 1.
    """

    sample: Sample
    samples: int = 1


def minute_of(time_s: float) -> int:
    """Number of the minute that a time (UTC epoch seconds) lies in."""
    return math.floor(time_s / MINUTE_S)


def condensed(parts: Iterable[Minute]) -> Minute:
    """All parts (>= 1, of one service, data center and minute) as one.

    What nobody reported stays missing. Suspicious parts count only where there is no other.
    """
    ordered = sorted(parts, key=lambda part: (part.sample.time_s, part.sample.received_s))
    trusted = [part for part in ordered if part.sample.suspicion is None] or ordered
    newest = trusted[-1].sample
    if len(trusted) == 1:
        return trusted[0]
    weights = _weights(trusted)
    counts = [float(part.samples) for part in trusted]
    means: dict[str, Any] = {
        name: _joined(name, trusted, weights if name in BY_LOAD else counts) for name in LIMITS
    }
    return Minute(sample=replace(newest, **means), samples=sum(part.samples for part in trusted))


def _weights(parts: Sequence[Minute]) -> list[float]:
    """Requests (or bytes) behind each part; their number of samples when that is not known."""
    loads = [part.sample.load * part.samples for part in parts]
    total = math.fsum(loads)
    return loads if math.isfinite(total) and total > 0 else [float(p.samples) for p in parts]


def _joined(name: str, parts: Sequence[Minute], weights: Sequence[float]) -> float | None:
    values = [reading(part.sample, name) for part in parts]
    known = [(v, w) for v, w in zip(values, weights, strict=True) if not math.isnan(v)]
    if not known:
        return None
    if name in LARGEST:
        return max(value for value, _ in known)
    return _mean(known)


def _mean(known: Sequence[tuple[float, float]]) -> float:
    total = math.fsum(weight for _, weight in known)
    if not total > 0:
        return math.fsum(value for value, _ in known) / len(known)
    mean = math.fsum(value * weight for value, weight in known) / total
    # Rounding must not take a ratio beyond 1.
    values = [value for value, _ in known]
    return min(max(mean, min(values)), max(values))
