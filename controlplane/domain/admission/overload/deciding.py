"""What becomes of a request to an upstream that may be overloaded.

Asked by gateways, again each time when something has changed (an answer came, a token is there,
the wait is over), and by dry runs. The table of the protection:

    not a declared read, or below the threshold  -> ADMIT
    an answer that is alive                      -> ANSWER "cached"
    no turn asked for yet                        -> WAIT   "token_wanted"
    it has the token                             -> ADMIT  "token"
    somebody else has it                         -> WAIT   "token_taken"
    the fetch failed, waited too long, too many, -> ANSWER "stale" if there is such an answer,
    nobody can lend a token                         else REFUSE with the reason
"""

from dataclasses import dataclass
from enum import StrEnum
from math import inf

from controlplane.domain.admission.asking import ADMITTED, Asked, Decision, Verdict
from controlplane.domain.admission.overload.policy import OverloadPolicy
from controlplane.domain.admission.overload.reads import Reads

UNAVAILABLE = 503


class Turn(StrEnum):
    """How a request stands with the token of what it reads."""

    UNASKED = "unasked"
    HELD = "held"
    WAITING = "waiting"
    FULL = "full"
    LATE = "late"
    FAILED = "failed"
    APART = "apart"


REASONS = {
    Turn.FULL: "too_many_waiting",
    Turn.LATE: "waited_too_long",
    Turn.FAILED: "upstream_failed",
    Turn.APART: "shared_state_away",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OverloadFacts:
    """What is known beside the request.

    Attributes:
        count: requests in the window to this upstream, this one included.
        protected_for_s: since the count went above the threshold.
        age_s: of the cached answer; infinity is none.
        turn: how the request stands with the token.
    """

    count: float = 0.0
    protected_for_s: float = 0.0
    age_s: float = inf
    turn: Turn = Turn.UNASKED


@dataclass(frozen=True, slots=True)
class Protection:
    """Whether an upstream is protected, and since when."""

    since_s: float | None = None

    def after(self, count: float, threshold: float, now_s: float) -> "Protection":
        """The protection with a new count."""
        if count <= threshold:
            return self if self.since_s is None else Protection()
        return Protection(now_s) if self.since_s is None else self


def decide(policy: OverloadPolicy, asked: Asked, facts: OverloadFacts) -> Decision:
    """What a policy says of a request; for many, `judged` with reads that were made ready once."""
    wanted = Reads.of(policy.reads).wanted(asked.request)
    if wanted is None or facts.count <= policy.threshold:
        return ADMITTED
    return judged(policy, facts)


def judged(policy: OverloadPolicy, facts: OverloadFacts) -> Decision:
    """What becomes of a declared read while its upstream is protected."""
    if alive(policy, facts):
        return _answered("cached", facts)
    match facts.turn:
        case Turn.HELD:
            return Decision(verdict=Verdict.ADMIT, reason="token")
        case Turn.UNASKED:
            return _waiting(policy, "token_wanted")
        case Turn.WAITING:
            return _waiting(policy, "token_taken")
        case _ if facts.age_s < policy.lifetime_s + policy.stale_s and policy.stale_s > 0:
            return _answered("stale", facts)
        case _:
            return Decision(
                verdict=Verdict.REFUSE,
                reason=REASONS[facts.turn],
                status=UNAVAILABLE,
                retry_after_s=policy.lifetime_s,
                details={"count": facts.count, "threshold": policy.threshold},
            )


def alive(policy: OverloadPolicy, facts: OverloadFacts) -> bool:
    """Whether a cached answer is given to everybody.

    Lifetimes begin to count when the protection begins: an answer from before it is alive for
    `lifetime_s` from then on, unless it is older than `carried_s`.
    """
    carried = facts.age_s <= policy.carried_s and facts.protected_for_s < policy.lifetime_s
    return facts.age_s < policy.lifetime_s or carried


def _answered(reason: str, facts: OverloadFacts) -> Decision:
    details = {"age_s": round(facts.age_s, 3)}
    return Decision(verdict=Verdict.ANSWER, reason=reason, status=200, details=details)


def _waiting(policy: OverloadPolicy, reason: str) -> Decision:
    return Decision(
        verdict=Verdict.WAIT, reason=reason, status=UNAVAILABLE, retry_after_s=policy.wait_s
    )
