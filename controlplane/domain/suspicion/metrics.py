"""Judges a sample against the trusted ones before it, and silence against the clock.

Called by `engine.samples.suspicion` for each sample that is well-formed. Several doubts about one
sample are all named, so that an operator can take one for true and still be told of the other.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from controlplane.domain.suspicion.doubt import Doubt, Suspicion
from controlplane.domain.suspicion.exchange import swapped
from controlplane.domain.suspicion.limits import SuspicionLimits
from controlplane.domain.suspicion.past import (
    BANDWIDTH,
    RATE,
    Past,
    idle_below,
    median,
    reference,
    true_s,
)
from controlplane.domain.telemetry import LIMITS, Sample, order

LOOK = "look at its exporter"
# Another centre's whole load, and as much again, may come at once when it fails over.
FAILOVER = 2.0
# Load that went elsewhere shows there, at least this part of it.
ARRIVED = 0.5
# Requests in flight are load times response time (Little's law), as well as both are measured.
LITTLE = 3.0
# Periods end a little early or late.
PUNCTUAL = 0.9


def judge(sample: Sample, past: Past, limits: SuspicionLimits) -> tuple[Suspicion, ...]:
    """Everything that makes the sample doubtful; () is trust."""
    newest = past.newest.get(sample.datacenter)
    if newest is not None and newest.suspicion and _again(sample, newest):
        return (_of(sample, Doubt(newest.suspicion), "it was suspicious when it came first"),)
    doubts: list[Suspicion] = []
    if message := _jump(sample, past, limits):
        doubts.append(_of(sample, Doubt.JUMPED, message))
    if newest is None or order(sample) > order(newest):
        frozen = _frozen(sample, past, limits)
        doubts += [one for one in (frozen, swapped(sample, past, limits)) if one is not None]
    return tuple(doubts)


def stopped(received_s: Mapping[str, float], now_s: float, fresh_s: float) -> tuple[Suspicion, ...]:
    """Data centres of which nothing new was received for longer than `fresh_s`.

    Args:
        received_s: data centre -> the last receipt of something new, UTC epoch seconds.
    """
    return tuple(
        Suspicion(
            doubt=Doubt.STOPPED,
            centers=(name,),
            message=f"{name} sent no new sample for {now_s - last_s:.0f} s, the limit is "
            f"{fresh_s:g} s: look at its exporter; a repeated time is not new",
        )
        for name, last_s in sorted(received_s.items())
        if now_s - last_s > fresh_s
    )


def same_readings(one: Sample, other: Sample) -> bool:
    """Whether all readings are exactly equal."""
    return all(getattr(one, name) == getattr(other, name) for name in LIMITS)


def _again(sample: Sample, newest: Sample) -> bool:
    return sample.time_s == newest.time_s and same_readings(sample, newest)


def _of(sample: Sample, doubt: Doubt, message: str, also: tuple[Sample, ...] = ()) -> Suspicion:
    return Suspicion(doubt=doubt, centers=(sample.datacenter,), message=message, also=also)


def _frozen(sample: Sample, past: Past, limits: SuspicionLimits) -> Suspicion | None:
    """Equal readings under load while the time moves on; the first of them was still true."""
    newest = past.newest.get(sample.datacenter)
    if newest is None or not sample.load > 0 or not same_readings(sample, newest):
        return None
    if sum(getattr(sample, name) is not None for name in LIMITS) < limits.frozen_readings:
        return None
    run = tuple(_run(sample, past))
    if newest.suspicion == Doubt.FROZEN:
        since = f" for {true_s(sample) - true_s(run[-1]):.0f} s" if run else ""
        message = f"all readings of {sample.datacenter} stay exactly equal{since}: {LOOK}"
        return _of(sample, Doubt.FROZEN, message)
    if not run or len(run) + 1 < limits.frozen_samples:
        return None
    lasted_s = true_s(sample) - true_s(run[-1])
    if lasted_s < (limits.frozen_samples - 1) * past.period_s * PUNCTUAL:
        return None
    message = (
        f"all readings of {sample.datacenter} are exactly equal in {len(run) + 1} samples over "
        f"{lasted_s:.0f} s: {LOOK}"
    )
    return _of(sample, Doubt.FROZEN, message, run[:-1])


def _run(sample: Sample, past: Past) -> Iterator[Sample]:
    """Trusted samples with the same readings, from the newest back."""
    for earlier in reversed(past.trusted.get(sample.datacenter, ())):
        if not same_readings(earlier, sample):
            return
        yield earlier


def _jump(sample: Sample, past: Past, limits: SuspicionLimits) -> str:
    """How load or response time jumped; "" when they did not, or when it is credible."""
    before = reference(past, sample.datacenter, sample, limits)
    if not before:
        return ""
    name = RATE if sample.request_rate_rps is not None else BANDWIDTH
    usual = median(before, name)
    if usual is None:
        return ""
    idle = idle_below(past, sample, limits)
    load = sample.load
    if _far(load, usual, idle, limits):
        other = _others(sample, past, limits, name)
        if load > usual and not (_busy(sample, past) or load <= FAILOVER * (usual + other.usual)):
            return _words(name, load, usual, limits)
        if load < usual and other.now - other.usual < ARRIVED * (usual - load):
            return _words(name, load, usual, limits)
    if min(load, usual) < idle:
        return ""
    return _response_jump(sample, before, past, limits)


def _response_jump(
    sample: Sample, before: tuple[Sample, ...], past: Past, limits: SuspicionLimits
) -> str:
    usual = median(before, "response_time_ms") or 0.0
    now = sample.response_time_ms
    if not _far(now, usual, limits.idle_ms, limits):
        return ""
    if now > usual and (_busy(sample, past) or _queued(sample)):
        return ""
    # The end of an overload.
    if now < usual and (median(before, "cpu_avg") or 0.0) >= past.service.alarm_cpu:
        return ""
    return _words("response_time_ms", now, usual, limits)


def _far(value: float, usual: float, idle: float, limits: SuspicionLimits) -> bool:
    one, other = max(value, idle), max(usual, idle)
    return max(one, other) > limits.jump_factor * min(one, other)


def _words(name: str, value: float, usual: float, limits: SuspicionLimits) -> str:
    return (
        f"{name} is {value:g}, the median of its last samples {usual:g}: more than "
        f"{limits.jump_factor:g} times {'above' if value > usual else 'below'} it, and nothing "
        "else bears it out; look at its unit and its source"
    )


def _busy(sample: Sample, past: Past) -> bool:
    """A busy CPU makes much load and long answers credible."""
    return sample.cpu_avg is not None and sample.cpu_avg >= past.service.alarm_cpu


def _queued(sample: Sample) -> bool:
    """As many requests are in flight as so long an answer must keep there."""
    if sample.inflight is None or sample.request_rate_rps is None:
        return False
    expected = sample.request_rate_rps * sample.response_time_ms / 1000.0
    return expected >= 1.0 and expected / LITTLE <= sample.inflight <= expected * LITTLE


@dataclass(frozen=True, slots=True, kw_only=True)
class _Others:
    """Load of the other data centres, now and usually."""

    now: float
    usual: float


def _others(sample: Sample, past: Past, limits: SuspicionLimits, name: str) -> _Others:
    now = usual = 0.0
    for center, history in past.trusted.items():
        if center != sample.datacenter and history:
            usual += median(reference(past, center, sample, limits), name) or 0.0
            now += getattr(history[-1], name) or 0.0
    return _Others(now=now, usual=usual)
