"""What an enforcer is given by the agent that it works in."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from controlplane.domain.admission.asking import Asked
from gateway.admission.enforcing import Answer
from gateway.admission.opening_options import OpeningOptions
from gateway.admission.pool_figures import PoolBook
from gateway.state.shared import SharedState

Fetch = Callable[[Asked], Awaitable[Answer]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """One agent.

    Attributes:
        state: what it remembers, with others or alone.
        now_s: Unix time.
        agent: its name, different from that of every other agent.
        group: its gateway group.
        ticket_key: private key (PEM) that tickets of session queues are signed with; b"" makes one
            that all who share the state use.
        openings: where the secrets of flash sales come from; None keeps them closed.
        fetch: the whole answer of a service to a request that is nobody's own, Retryable when
            there is none; None where the agent is no proxy.
        pools: where session queues write what their pools are like.
    """

    state: SharedState
    now_s: Callable[[], float]
    agent: str
    group: str
    ticket_key: bytes = b""
    openings: OpeningOptions | None = None
    fetch: Fetch | None = None
    pools: PoolBook = field(default_factory=PoolBook)
