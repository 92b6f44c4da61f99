"""Circuit breaker: an upstream that fails, or answers too slowly, gets a rest.

Closed, open, half-open (Nygard, Release It!, 2007). Outcomes are counted over a sliding window of
ten slots. Half-open lets one probe through at a time; what it says decides. Each time that a probe
fails the rest is twice as long, up to a limit.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from controlplane.domain.admission.asking import ADMITTED, Asked, Decision, Verdict
from controlplane.domain.errors import Invalid

SLOTS = 10
LAST_DOUBLING = 30


class Phase(StrEnum):
    """`CLOSED` lets everything through, `OPEN` nothing, `HALF_OPEN` one probe."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitBreakerPolicy:
    """When an upstream rests.

    Attributes:
        error_ratio: share of failed answers that opens it, above 0..1.
        slow_ratio: share of slow answers that opens it; `slow_ms`: from when an answer is slow,
            above 0..600,000; None counts none as slow.
        requests: answers in the window below which nothing is judged, 1..1,000,000.
        window_s: length of the window, 0.1..600.
        open_s: the first rest, 0.1..3,600; most_open_s: the longest, open_s..86,400.
        probe_s: a probe that has not ended after so long has failed, 0.1..600.
        statuses: what counts as failed beside no answer at all, 500..599.
    """

    error_ratio: float = 0.5
    slow_ratio: float = 0.8
    slow_ms: float | None = None
    requests: int = 20
    window_s: float = 10.0
    open_s: float = 5.0
    most_open_s: float = 60.0
    probe_s: float = 10.0
    statuses: tuple[int, ...] = (500, 502, 503, 504)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """Answers in a tenth of a window: all, failed, slow; `number` counts tenths since time 0."""

    number: int
    answers: int = 0
    failed: int = 0
    slow: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    """What is known of one upstream.

    Attributes:
        since_s: when it came into its phase; in `HALF_OPEN`, when the probe began.
        trips: rests since it was last closed.
        slots: of the window, oldest first.
    """

    phase: Phase = Phase.CLOSED
    since_s: float = 0.0
    trips: int = 0
    slots: tuple[Slot, ...] = ()


CLOSED = Breaker()


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerFacts:
    """What is known beside the request."""

    breaker: Breaker = CLOSED


def check_circuit_breaker(policy: CircuitBreakerPolicy) -> None:
    """Raise Invalid `policy_invalid` for what cannot be carried out."""
    bounds = (
        ("slow_ms", 1.0 if policy.slow_ms is None else policy.slow_ms, 0.001, 600_000.0),
        ("requests", policy.requests, 1, 1_000_000),
        ("window_s", policy.window_s, 0.1, 600.0),
        ("open_s", policy.open_s, 0.1, 3_600.0),
        ("most_open_s", policy.most_open_s, policy.open_s, 86_400.0),
        ("probe_s", policy.probe_s, 0.1, 600.0),
    )
    for name, value, low, high in bounds:
        if not low <= value <= high:
            raise _invalid(f"{name} is {value}: give {low}..{high}")
    for name in ("error_ratio", "slow_ratio"):
        value = getattr(policy, name)
        if not 0 < value <= 1:
            raise _invalid(f"{name} is {value}: give more than 0, up to 1")
    for status in policy.statuses:
        if not 500 <= status <= 599:
            raise _invalid(f"statuses has {status}: give 500..599, which say that a server failed")


def _invalid(words: str) -> Invalid:
    return Invalid("policy_invalid", f"circuit_breaker: {words}")


def decide(policy: CircuitBreakerPolicy, asked: Asked, facts: BreakerFacts) -> Decision:
    """What a request gets; the one that is let through in `OPEN` or `HALF_OPEN` is the probe."""
    wait_s = _wait_s(policy, facts.breaker, asked.now_s)
    if wait_s <= 0.0:
        return ADMITTED
    return Decision(
        verdict=Verdict.REFUSE,
        reason="circuit_open",
        status=503,
        retry_after_s=wait_s,
        details={"service": asked.service, "phase": facts.breaker.phase.value},
    )


def begun(breaker: Breaker, now_s: float) -> Breaker:
    """A request was admitted: behind a rest it is the probe."""
    if breaker.phase is Phase.CLOSED:
        return breaker
    return replace(breaker, phase=Phase.HALF_OPEN, since_s=now_s)


def ended(
    policy: CircuitBreakerPolicy, breaker: Breaker, answer: tuple[int, float], now_s: float
) -> Breaker:
    """A request has ended.

    Args:
        answer: status, 0 when there was none, and milliseconds that it took.
    """
    status, took_ms = answer
    failed = status == 0 or status in policy.statuses
    slow = policy.slow_ms is not None and took_ms >= policy.slow_ms
    if breaker.phase is Phase.CLOSED:
        counted = replace(breaker, slots=_counted(policy, breaker, (failed, slow), now_s))
        return _opened(counted, now_s) if _trips(policy, counted) else counted
    if breaker.phase is Phase.OPEN or now_s - took_ms / 1_000 < breaker.since_s:
        # It was under way when the rest or the probe began, and says nothing new.
        return breaker
    return _opened(breaker, now_s) if failed or slow else Breaker(since_s=now_s)


def unused(policy: CircuitBreakerPolicy, breaker: Breaker) -> Breaker:
    """The probe never reached the upstream: the next request is one."""
    if breaker.phase is not Phase.HALF_OPEN:
        return breaker
    return replace(breaker, phase=Phase.OPEN, since_s=breaker.since_s - rest_s(policy, breaker))


def rest_s(policy: CircuitBreakerPolicy, breaker: Breaker) -> float:
    """How long this rest lasts."""
    doubled = policy.open_s * float(2 ** min(max(0, breaker.trips - 1), LAST_DOUBLING))
    return min(policy.most_open_s, doubled)


def _wait_s(policy: CircuitBreakerPolicy, breaker: Breaker, now_s: float) -> float:
    """Until the next request may go through; a clock that went back does not prolong it."""
    if breaker.phase is Phase.CLOSED:
        return 0.0
    lasts_s = rest_s(policy, breaker) if breaker.phase is Phase.OPEN else policy.probe_s
    return lasts_s - max(0.0, now_s - breaker.since_s)


def _opened(breaker: Breaker, now_s: float) -> Breaker:
    return Breaker(phase=Phase.OPEN, since_s=now_s, trips=breaker.trips + 1)


def _counted(
    policy: CircuitBreakerPolicy, breaker: Breaker, what: tuple[bool, bool], now_s: float
) -> tuple[Slot, ...]:
    failed, slow = what
    number = int(now_s * SLOTS / policy.window_s)
    kept = [one for one in breaker.slots if number - SLOTS < one.number <= number]
    newest = kept.pop() if kept and kept[-1].number == number else Slot(number=number)
    return (
        *kept,
        Slot(
            number=number,
            answers=newest.answers + 1,
            failed=newest.failed + failed,
            slow=newest.slow + slow,
        ),
    )


def _trips(policy: CircuitBreakerPolicy, breaker: Breaker) -> bool:
    answers = sum(one.answers for one in breaker.slots)
    failed = sum(one.failed for one in breaker.slots)
    slow = sum(one.slow for one in breaker.slots)
    return answers >= policy.requests and (
        failed >= policy.error_ratio * answers
        or (policy.slow_ms is not None and slow >= policy.slow_ratio * answers)
    )
