"""What every kind of policy offers to the agent, and what the agent makes of it.

Enforcers are made anew when their policy changes; what they must remember lives in `gateway.state`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from controlplane.domain.admission.asking import ADMITTED, Asked, Decision

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An HTTP answer that is given in place of the upstream's."""

    status: int
    headers: Headers = ()
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of an admitted request, told when its answer has ended.

    Attributes:
        status: of the answer; 0 when none came (connection lost, timeout, client gone).
        took_s: from admission to the last byte.
        sent: the service was asked; a policy behind may have stopped what one before it admitted.
    """

    status: int
    took_s: float
    sent: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Copying:
    """Who wants a copy of the service's answer, where the agent is its proxy.

    Attributes:
        most_bytes: a longer body is not copied.
        take: given the whole answer when it has gone through whole.
    """

    most_bytes: int
    take: Callable[[Answer], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """A decision with what it needs to be carried out.

    Attributes:
        answer: in place of the upstream's; None lets the agent write the usual one for the
            verdict (problem details as JSON, or a page for browsers).
        request_headers: set on a request that goes on; what a client sent of the same name is
            removed.
        response_headers: added to whatever the client gets, cookies among them.
        ended: called once with what became of it, where the agent is its proxy. With forward-auth
            nobody knows, and it is never called.
        most_body_bytes: where the agent is the proxy, a body that grows beyond it ends with 413;
            None is no limit of this policy.
        copied: of the answer to an admitted request.
    """

    decision: Decision
    answer: Answer | None = None
    request_headers: Headers = ()
    response_headers: Headers = ()
    ended: Callable[[Outcome], None] | None = None
    most_body_bytes: int | None = None
    copied: Copying | None = None


ADMITTED_RULING = Ruling(decision=ADMITTED)


class Enforcer(Protocol):
    """One policy at work."""

    async def rule(self, asked: Asked) -> Ruling:
        """What becomes of a request.

        May be cancelled when the time of the answer is up; it is asked to fall back then too.

        Raises:
            Retryable: shared state did not answer in time; the agent takes the policy's fallback.
        """
        ...

    def fall_back(self, asked: Asked) -> Ruling:
        """What becomes of a request without shared state, as the policy says it: a share of the
        limit, a pool of its own, admit or refuse. Waits for nothing.
        """
        ...

    async def close(self) -> None:
        """Stop what runs in the background; called when the policy is gone or has changed."""
        ...
