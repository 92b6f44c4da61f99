"""How many sessions may be inside: a pool that holds the site's mean response time at its target.

The law, for one period with mean response time R, target T and N sessions inside (S3's feedback
with a gain; the ratio T/R is the gradient of TCP Vegas (Brakmo and Peterson, 1995) and of Netflix'
concurrency limits; the halves of AIMD (Chiu and Jain, 1989) bound its steps):

    size <- N * clip((T / R) ** g, 1/2, 2)

It is integral control of log R. Where R grows as N ** e, an error of log R is multiplied by 1 - g e
in each period: it dies out for g e < 2, at once for g e = 1. With Little's law N = X R, e is 1 as
soon as the site is busy, so g starts at 1; every change of the error's sign makes it smaller by
`LESS_GAIN`, because then e is greater than 1 (a site that slows down faster than its load grows, or
users who think between their requests), and each period without one brings it back.

Errors within `BAND` change nothing. Only a queue makes the pool grow, and never from a size that it
had not reached: N is who is inside, not who may be. Without answers nothing is known and nothing
changes: no answer is not a fast one. Failures are fast, too, and say nothing good: above
`MOST_FAILURES` of all answers the pool shrinks, however fast they came.
"""

from dataclasses import dataclass

from controlplane.domain.admission.session_queue.policy import SessionQueuePolicy

BAND = 0.05
MOST_STEP = 2.0
FULL_GAIN = 1.0
LEAST_GAIN = 0.25
LESS_GAIN = 0.6
MORE_GAIN = 1.25
LEAST_ANSWERS = 3
MOST_FAILURES = 0.1
FAILING_STEP = 0.7
# Of the newest period, in the smoothed rate of entries.
NEWS = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """What was seen since the last decision, by all agents together.

    Attributes:
        length_s: how long it was, above 0.
        answers: how many came; failures: how many of them were none, or a 5xx.
        total_s: response times of all answers together, in seconds.
        entered: sessions that came in.
        inside, waiting: sessions at its end.
    """

    length_s: float
    answers: int
    failures: int
    total_s: float
    entered: int
    inside: int
    waiting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """What is remembered from one period to the next.

    Attributes:
        size: of the pool, a real number; what is inside is its whole part.
        gain: g of the law.
        error: sign of the last error outside the band, -1 (too slow), 0 (none yet) or 1.
        inside: sessions at the end of the last period.
        calm_s: nobody has waited for so long.
        rate_per_s: sessions that enter while others wait, smoothed; 0 is unknown.
        mean_ms: response time in the newest period with answers; 0 is unknown.
    """

    size: float
    gain: float = FULL_GAIN
    error: int = 0
    inside: int = 0
    calm_s: float = 0.0
    rate_per_s: float = 0.0
    mean_ms: float = 0.0


def at_start(policy: SessionQueuePolicy) -> Control:
    """Before the first period."""
    return Control(size=float(policy.initial_size))


def whole(control: Control) -> int:
    """How many may be inside."""
    return max(1, int(control.size))


def controlled(policy: SessionQueuePolicy, control: Control, period: Period) -> Control:
    """The size for the next period."""
    calm_s = 0.0 if period.waiting else control.calm_s + period.length_s
    error = _error(policy, period)
    gain = _gain(control, error)
    size = _size(policy, control, period, gain)
    if calm_s > 0 and calm_s >= policy.calm_s:
        size, gain, error = float(policy.initial_size), FULL_GAIN, 0
    return Control(
        size=min(max(size, float(policy.least_size)), float(policy.most_size)),
        gain=gain,
        error=error or control.error,
        inside=period.inside,
        calm_s=calm_s,
        rate_per_s=_rate(control, period),
        mean_ms=period.total_s / period.answers * 1_000.0 if period.answers else control.mean_ms,
    )


def _error(policy: SessionQueuePolicy, period: Period) -> int:
    if period.answers < LEAST_ANSWERS:
        return 0
    relative = period.total_s / period.answers * 1_000.0 / policy.target_ms - 1.0
    if abs(relative) <= BAND:
        return 0
    return -1 if relative > 0 else 1


def _gain(control: Control, error: int) -> float:
    if error * control.error < 0:
        return max(LEAST_GAIN, control.gain * LESS_GAIN)
    return min(FULL_GAIN, control.gain * MORE_GAIN)


def _size(policy: SessionQueuePolicy, control: Control, period: Period, gain: float) -> float:
    if period.answers < LEAST_ANSWERS:
        return control.size
    # Who came and went in between was inside, too: a mean answers for the mean response time.
    inside = max(1.0, (control.inside + period.inside) / 2)
    if period.failures > MOST_FAILURES * period.answers:
        return min(control.size, inside * FAILING_STEP)
    error = _error(policy, period)
    if error == 0:
        return control.size
    ratio = policy.target_ms * period.answers / max(period.total_s * 1_000.0, 1e-9)
    step = min(max(float(ratio**gain), 1.0 / MOST_STEP), MOST_STEP)
    if error < 0:
        return min(control.size, inside * step)
    return max(control.size, period.inside * step) if period.waiting else control.size


def _rate(control: Control, period: Period) -> float:
    """Where nobody waits, entries say how many came and not how many could."""
    if not period.waiting or not period.entered:
        return control.rate_per_s
    seen = period.entered / period.length_s
    return (
        seen if not control.rate_per_s else control.rate_per_s + NEWS * (seen - control.rate_per_s)
    )
