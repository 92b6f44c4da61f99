"""Adaptive concurrency: how many requests an upstream works on at once, learned from its times.

The limit follows the gradient of response time (TCP Vegas, Brakmo and Peterson 1995; Envoy's
filter of this name). After each window

    gradient = (1 + tolerance) * least / seen, within 0.5..2
    limit    = gradient * limit + sqrt(limit)

`seen` is the window's median, `least` the response time without a queue. Where that is not
declared it is learned from probes, as BBR does (Cardwell et al. 2016): for one window in
`probe_every_s` half of the limit is admitted. A limit that has grown into a queue sees a lower
time then, and shrinks; where the upstream itself has become slower the probe sees no lower time,
and the limit stays. Envoy's own probe admits three requests at once, and refuses most of a healthy
upstream's load while it lasts.
"""

import math
from dataclasses import dataclass, replace
from statistics import median

from controlplane.domain.admission.asking import ADMITTED, Asked, Decision, Verdict
from controlplane.domain.errors import Invalid

LOW, HIGH = 0.5, 2.0
PROBED = 0.5
SHRUNK = 0.8
# Windows after a probe in which its answer is believed.
TRUSTED = 4
MOST_LIMIT = 100_000
MOST_SAMPLES = 200
STATUSES = frozenset({429, 503})


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveConcurrencyPolicy:
    """How the limit is found.

    Attributes:
        initial: limit at the start, least..most.
        least, most: bounds of the limit, 1..100,000.
        window_s: the limit may change after so long, 0.01..60.
        samples: a window lasts until it has so many answers, 1..200.
        tolerance: how far above the least response time is still no queue, 0..10.
        least_ms: response time without a queue, above 0; None learns it.
        probe_every_s: from one probe to the next, window_s..3,600; unused with `least_ms`.
        status: of what is refused, 429 or 503.
    """

    initial: int = 20
    least: int = 3
    most: int = 1_000
    window_s: float = 0.25
    samples: int = 10
    tolerance: float = 0.25
    least_ms: float | None = None
    probe_every_s: float = 5.0
    status: int = 503


@dataclass(frozen=True, slots=True, kw_only=True)
class Concurrency:
    """What is known of one upstream.

    Attributes:
        limit: as it was computed last; `allowed` is what counts.
        inflight: requests that were admitted and have not ended.
        opened_s: when the window began; None before the first answer.
        skipped: answers at its beginning that tell of the time before.
        seen_ms: response times in the window, the first 200.
        least_ms: the least median since the newest probe; infinity is unknown.
        probed_s: when the newest probe ended; windows: those that have ended since.
        probing: this window is a probe.
        busy: the limit was reached in this window, or something was refused.
    """

    limit: float
    inflight: int = 0
    opened_s: float | None = None
    skipped: int = 0
    seen_ms: tuple[float, ...] = ()
    least_ms: float = math.inf
    probed_s: float = -math.inf
    windows: int = 0
    probing: bool = False
    busy: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcurrencyFacts:
    """What is known beside the request: how many are at the upstream, of how many; None is
    `initial`."""

    inflight: int = 0
    allowed: int | None = None


def check_adaptive_concurrency(policy: AdaptiveConcurrencyPolicy) -> None:
    """Raise Invalid `policy_invalid` for what cannot be carried out."""
    bounds = (
        ("least", policy.least, 1, MOST_LIMIT),
        ("most", policy.most, policy.least, MOST_LIMIT),
        ("initial", policy.initial, policy.least, policy.most),
        ("window_s", policy.window_s, 0.01, 60.0),
        ("samples", policy.samples, 1, MOST_SAMPLES),
        ("tolerance", policy.tolerance, 0.0, 10.0),
        ("probe_every_s", policy.probe_every_s, policy.window_s, 3_600.0),
        ("least_ms", 1.0 if policy.least_ms is None else policy.least_ms, 0.001, 600_000.0),
    )
    for name, value, low, high in bounds:
        if not low <= value <= high:
            raise _invalid(f"{name} is {value}: give {low}..{high}")
    if policy.status not in STATUSES:
        raise _invalid(f"status is {policy.status}: give 429 or 503")


def _invalid(words: str) -> Invalid:
    return Invalid("policy_invalid", f"adaptive_concurrency: {words}")


def start(policy: AdaptiveConcurrencyPolicy) -> Concurrency:
    """An upstream of which nothing is known."""
    return Concurrency(limit=float(policy.initial))


def allowed(policy: AdaptiveConcurrencyPolicy, known: Concurrency) -> int:
    """Requests that may be at the upstream now."""
    limit = known.limit * PROBED if known.probing else known.limit
    return max(policy.least, math.floor(limit))


def decide(policy: AdaptiveConcurrencyPolicy, asked: Asked, facts: ConcurrencyFacts) -> Decision:
    """Whether one more request may go to the upstream."""
    most = policy.initial if facts.allowed is None else facts.allowed
    if facts.inflight < most:
        return ADMITTED
    return Decision(
        verdict=Verdict.REFUSE,
        reason="concurrency_limit",
        status=policy.status,
        retry_after_s=1.0,
        details={"service": asked.service, "inflight": facts.inflight, "limit": most},
    )


def begun(policy: AdaptiveConcurrencyPolicy, known: Concurrency) -> Concurrency:
    """One more request was admitted."""
    inflight = known.inflight + 1
    busy = known.busy or inflight >= allowed(policy, known)
    return replace(known, inflight=inflight, busy=busy)


def refused(known: Concurrency) -> Concurrency:
    """One more was refused: the limit was needed."""
    return replace(known, busy=True)


def dropped(known: Concurrency) -> Concurrency:
    """One that was admitted never reached the upstream."""
    return replace(known, inflight=max(0, known.inflight - 1))


def ended(
    policy: AdaptiveConcurrencyPolicy, known: Concurrency, took_ms: float, now_s: float
) -> Concurrency:
    """One request has ended after `took_ms`; one without an answer counts by what it waited."""
    known = dropped(known)
    opened_s = known.opened_s
    if opened_s is None:
        return replace(known, opened_s=now_s, skipped=allowed(policy, known))
    if known.skipped:
        return replace(known, opened_s=now_s, skipped=known.skipped - 1)
    if len(known.seen_ms) < MOST_SAMPLES:
        known = replace(known, seen_ms=(*known.seen_ms, took_ms))
    if now_s - opened_s < policy.window_s or len(known.seen_ms) < _needed(policy, known):
        return known
    return _next_window(policy, known, now_s)


def _needed(policy: AdaptiveConcurrencyPolicy, known: Concurrency) -> int:
    """Answers that make a window: one of each place, as Vegas waits for a round trip, and in a
    probe, which counts for long, two."""
    rounds = 2 if known.probing else 1
    return min(MOST_SAMPLES, max(policy.samples * rounds, allowed(policy, known) * rounds))


def _next_window(
    policy: AdaptiveConcurrencyPolicy, known: Concurrency, now_s: float
) -> Concurrency:
    seen_ms = median(known.seen_ms)
    opened = replace(known, opened_s=now_s, seen_ms=(), busy=False, windows=known.windows + 1)
    if known.probing:
        return replace(opened, probing=False, probed_s=now_s, windows=0, least_ms=seen_ms)
    least_ms = policy.least_ms
    if least_ms is None:
        # Not the least of all windows: of many noisy medians that is far below the true one.
        least_ms = seen_ms if math.isinf(known.least_ms) else known.least_ms
    limit = _limit(policy, known, (1.0 + policy.tolerance) * least_ms / seen_ms)
    due = now_s - known.probed_s >= policy.probe_every_s
    doubted = limit < SHRUNK * known.limit and opened.windows > TRUSTED
    if policy.least_ms is None and known.busy and (due or doubted):
        # Without load there is no queue to leave. A limit that would shrink much is asked first
        # whether it is a queue that it sees. Short answers of those that began last come first: a
        # probe begins behind the answers to all that are at the upstream, or it would see no other.
        return replace(opened, least_ms=least_ms, probing=True, skipped=known.inflight)
    return replace(opened, least_ms=least_ms, limit=limit)


def _limit(policy: AdaptiveConcurrencyPolicy, known: Concurrency, gradient: float) -> float:
    gradient = min(HIGH, max(LOW, gradient))
    limit = gradient * known.limit + math.sqrt(known.limit)
    if limit > known.limit and not known.busy:
        # It was not needed: what it would bear is unknown.
        limit = known.limit
    return min(float(policy.most), max(float(policy.least), limit))
