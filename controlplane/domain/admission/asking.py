"""The question that every admission policy is asked, and the answer that it gives.

Asked by gateways for each request and by `policies:decide` for a dry run. A decision is words and
numbers; what a client sees of it (a page, JSON, a header) is made at the edge.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from controlplane.domain.routing.matching.request import Request


class Verdict(StrEnum):
    """What becomes of a request.

    `ADMIT` goes on; `WAIT` comes again later and keeps its place; `REFUSE` is told no; `ANSWER` is
    served from what is known; `DIVERT` goes to another service; `CHALLENGE` has to show first that
    a person sends it.
    """

    ADMIT = "admit"
    WAIT = "wait"
    REFUSE = "refuse"
    ANSWER = "answer"
    DIVERT = "divert"
    CHALLENGE = "challenge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request at the moment when it is judged.

    Attributes:
        request: in normal form.
        now_s: seconds of Unix time by the gateway's clock (shared state has its own).
        route, service: what the route table gives it to; "" is none.
        region: where it comes from, "" is unknown.
        user: who sends it, as its policy names users; "" is unknown.
        followed: who asks will tell what becomes of it; a proxy that only asks whether a request
            may go on does not.
    """

    request: Request
    now_s: float
    route: str = ""
    service: str = ""
    region: str = ""
    user: str = ""
    followed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a policy says of a request.

    Attributes:
        verdict: what becomes of it.
        reason: stable word in snake case, for logs, metrics and headers; "" goes with `ADMIT` only.
        policy: name of the policy that decided; "" when none had anything to say.
        status: HTTP status of what is not admitted; 0 with `ADMIT` and `DIVERT`.
        retry_after_s: when it is worth asking again; None does not say.
        service: where `DIVERT` sends it.
        details: numbers and words that explain it (position, limit, what was counted).
    """

    verdict: Verdict
    reason: str = ""
    policy: str = ""
    status: int = 0
    retry_after_s: float | None = None
    service: str = ""
    details: Mapping[str, object] = field(default_factory=dict)


ADMITTED = Decision(verdict=Verdict.ADMIT)
