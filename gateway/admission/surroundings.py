"""What an enforcer is given by the agent that it works in."""

from collections.abc import Callable
from dataclasses import dataclass

from gateway.state.shared import SharedState


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
    """

    state: SharedState
    now_s: Callable[[], float]
    agent: str
    group: str
    ticket_key: bytes = b""
