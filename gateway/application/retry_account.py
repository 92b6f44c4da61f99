"""The budget of a service's retries, as Finagle has it: each request puts its share in, each retry
takes one out. So a service that fails everywhere gets little more than its requests."""

from dataclasses import dataclass

# What an account holds at most. It begins empty: a service that fails from the start, too, gets no
# more than its requests and their share.
RESERVE = 10.0


@dataclass(slots=True)
class Account:
    """Retries that a service has left."""

    left: float = 0.0

    def put(self, share: float) -> None:
        """One more request."""
        self.left = min(RESERVE, self.left + share)

    def take(self) -> bool:
        """One retry, if there is one."""
        if self.left < 1.0:
            return False
        self.left -= 1.0
        return True
