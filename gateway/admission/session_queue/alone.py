"""What happens without shared state: a pool of this agent's own, everybody, or nobody new."""

from controlplane.domain.admission.session_queue.policy import Alone, SessionQueuePolicy
from controlplane.domain.admission.session_queue.room import (
    Room,
    Standing,
    Terms,
    Visited,
    Visitor,
)


class OwnPool:
    """This agent's share of the pool, while it cannot ask for the whole."""

    def __init__(self, policy: SessionQueuePolicy) -> None:
        self._policy = policy
        self._room = Room()

    def visit(self, visitor: Visitor, terms: Terms, last_size: int, now_s: float) -> Visited:
        """Where somebody stands.

        Args:
            last_size: of the whole pool, as far as this agent knows.
        """
        policy = self._policy
        if policy.alone is Alone.ADMIT:
            return Visited(standing=Standing.INSIDE)
        if policy.alone is Alone.REFUSE:
            return Visited(standing=Standing.WAITING)
        self._room.size = max(1, int(last_size * policy.alone_share))
        return self._room.visit(visitor, terms, now_s)

    def leave(self, session: str, remembered_s: float, now_s: float) -> None:
        """Somebody is done."""
        self._room.leave(session, remembered_s, now_s)
