"""Which instances are out: outlier ejection with probes and re-admission.

Called by clients with each outcome of a request or a probe. An instance that failed is *suspect*
and probed; failures in a row, of requests or of probes, put it out, and only probes bring it back.
One whose probes pass while requests fail stays out for a time that grows with each repetition.
"""

from dataclasses import dataclass, replace
from enum import StrEnum


class Event(StrEnum):
    """What became of a request or a probe, or that a neighbour in the same cluster failed."""

    SERVED = "served"
    FAILED = "failed"
    NEIGHBOUR_FAILED = "neighbour_failed"
    PROBE_PASSED = "probe_passed"
    PROBE_FAILED = "probe_failed"


class State(StrEnum):
    """A suspect gets requests like a healthy one; what is out gets none. Both are probed."""

    HEALTHY = "healthy"
    SUSPECT = "suspect"
    OUT = "out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When an instance goes and comes.

    Attributes:
        failures: failed requests in a row that put it out; >= 1.
        failed_probes, passed_probes: probes in a row that put it out and clear it; >= 1.
        base_s, most_s: least time out after failed requests, times the repetitions; at most.
        forget_s: a repetition is one within this time after the last return.
    """

    failures: int = 3
    failed_probes: int = 2
    passed_probes: int = 2
    base_s: float = 3.0
    most_s: float = 30.0
    forget_s: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """One instance as a client sees it.

    Attributes:
        failures, failed_probes, passed_probes: in a row.
        times: ejections for failed requests without a good time between.
        until_s: not back before this time; back_s: when it came back last.
    """

    state: State = State.HEALTHY
    failures: int = 0
    failed_probes: int = 0
    passed_probes: int = 0
    times: int = 0
    until_s: float = 0.0
    back_s: float = 0.0


WELL = Health()


def after(health: Health, event: Event, now_s: float, limits: Limits) -> Health:
    """The health after an event; results of requests from before an ejection change nothing."""
    match event:
        case Event.PROBE_PASSED:
            return _passed(health, now_s, limits)
        case Event.PROBE_FAILED:
            return _missed(health, limits)
        case _ if health.state is State.OUT:
            return health
        case Event.SERVED:
            return replace(health, failures=0)
        case Event.NEIGHBOUR_FAILED:
            return _suspected(health)
        case _:
            return _failed(health, now_s, limits)


def _suspected(health: Health) -> Health:
    if health.state is State.SUSPECT:
        return health
    return replace(health, state=State.SUSPECT, failed_probes=0, passed_probes=0)


def _failed(health: Health, now_s: float, limits: Limits) -> Health:
    failed = replace(_suspected(health), failures=health.failures + 1)
    if failed.failures < limits.failures:
        return failed
    fresh = now_s - health.back_s > limits.forget_s
    times = 1 if fresh else health.times + 1
    out_s = min(limits.base_s * times, limits.most_s)
    return replace(
        failed, state=State.OUT, times=times, until_s=now_s + out_s, failures=0, passed_probes=0
    )


def _missed(health: Health, limits: Limits) -> Health:
    missed = replace(health, failed_probes=health.failed_probes + 1, passed_probes=0)
    if health.state is State.SUSPECT and missed.failed_probes >= limits.failed_probes:
        return replace(missed, state=State.OUT, failures=0)
    return missed


def _passed(health: Health, now_s: float, limits: Limits) -> Health:
    passed = replace(health, passed_probes=health.passed_probes + 1, failed_probes=0)
    if health.state is State.HEALTHY or passed.passed_probes < limits.passed_probes:
        return passed
    if health.state is State.SUSPECT:
        return replace(passed, state=State.HEALTHY)
    # Further away than any time out is one of before the clock was set back.
    if 0 < health.until_s - now_s <= limits.most_s:
        return passed
    return replace(passed, state=State.HEALTHY, failures=0, back_s=now_s)
