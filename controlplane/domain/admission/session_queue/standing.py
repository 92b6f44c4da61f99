"""What somebody who waits is told: his position, how long it may take, when to ask again.

`decide` is what the policy says of one request when it is known where its session stands; the
agent asks it after the shared state has answered, a dry run with facts of its own.
"""

from dataclasses import dataclass

from controlplane.domain.admission.asking import ADMITTED, Asked, Decision, Verdict
from controlplane.domain.admission.session_queue.policy import Gate, SessionQueuePolicy
from controlplane.domain.admission.session_queue.room import Standing

# Of the expected wait until the next question: somebody far behind needs no news each second.
POLL_SHARE = 0.1
UNAVAILABLE = 503


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionQueueFacts:
    """What is known beside the request.

    Attributes:
        standing: None is not known yet: somebody new.
        position: 1 is the next, 0 is not known.
        size, inside, waiting: of the pool and its line.
        rate_per_s: sessions that enter in a second; 0 is not known.
    """

    standing: Standing | None = None
    position: int = 0
    size: int = 0
    inside: int = 0
    waiting: int = 0
    rate_per_s: float = 0.0


def decide(policy: SessionQueuePolicy, asked: Asked, facts: SessionQueueFacts) -> Decision:
    """Whether a session goes on, waits, or is told to come back later."""
    if policy.gate is Gate.BYPASS or facts.standing is Standing.INSIDE:
        return ADMITTED
    if facts.standing is Standing.TURNED_AWAY:
        return Decision(
            verdict=Verdict.REFUSE,
            reason="queue_full",
            status=UNAVAILABLE,
            retry_after_s=policy.most_poll_s,
            details={"waiting": facts.waiting, "limit": policy.most_waiting},
        )
    if facts.standing is None and _room(policy, asked, facts):
        return ADMITTED
    return _wait(policy, asked, facts)


def expected_wait_s(position: int, rate_per_s: float) -> float | None:
    """By Little's law, position / rate; None where one of them is not known."""
    return position / rate_per_s if position > 0 and rate_per_s > 0 else None


def poll_s(policy: SessionQueuePolicy, wait_s: float | None) -> float:
    """When to ask again; who does not know his wait asks in the middle of the two bounds."""
    if wait_s is None:
        return (policy.poll_s + policy.most_poll_s) / 2
    return min(max(wait_s * POLL_SHARE, policy.poll_s), policy.most_poll_s)


def _room(policy: SessionQueuePolicy, asked: Asked, facts: SessionQueueFacts) -> bool:
    if policy.gate is Gate.HOLD or asked.now_s < policy.starts_at_s or facts.waiting:
        return False
    return facts.inside < (facts.size or policy.initial_size)


def _wait(policy: SessionQueuePolicy, asked: Asked, facts: SessionQueueFacts) -> Decision:
    opens_in_s = max(0.0, policy.starts_at_s - asked.now_s)
    wait_s = expected_wait_s(facts.position, facts.rate_per_s)
    if wait_s is not None:
        wait_s += opens_in_s
    again_s = poll_s(policy, wait_s if wait_s is not None or not opens_in_s else opens_in_s)
    details: dict[str, object] = {"waiting": facts.waiting, "size": facts.size}
    if facts.position:
        details["position"] = facts.position
    if wait_s is not None:
        details["expected_wait_s"] = round(wait_s, 1)
    if opens_in_s:
        details["opens_in_s"] = round(opens_in_s, 1)
    return Decision(
        verdict=Verdict.WAIT,
        reason=_reason(policy, opens_in_s),
        status=UNAVAILABLE,
        retry_after_s=again_s,
        details=details,
    )


def _reason(policy: SessionQueuePolicy, opens_in_s: float) -> str:
    if opens_in_s:
        return "queue_not_open"
    return "queue_held" if policy.gate is Gate.HOLD else "queued"
