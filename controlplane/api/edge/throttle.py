"""Slows callers that keep presenting bad tokens.

Called by the token check. A secret that was seen to be good is never slowed, so that a guesser
behind the same address locks nobody out. Memory is bounded, whatever the callers do.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from controlplane.domain.errors import Refused, Retryable

# Bad tokens of one address before it is slowed; one is forgiven every FORGIVEN_S.
BURST = 10
FORGIVEN_S = 6.0
PAUSE_S = 1.0
MOST_CLIENTS = 10_000
MOST_WAITING = 32


class Throttle:
    """Counts bad tokens by address."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._debts: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._waiting = 0

    async def before(self, client: str, *, known: bool) -> None:
        """Pause before the check when this address presented too many bad tokens.

        Raises:
            Retryable: `too_many_bad_tokens`, when too many callers are paused already.
        """
        if known or self._debt(client) <= BURST - 1:
            return
        if self._waiting >= MOST_WAITING:
            raise Retryable(
                "too_many_bad_tokens",
                f"more than {BURST} bad tokens came from {client}; wait a minute and check the "
                "token",
                after_s=60.0,
            )
        self._waiting += 1
        try:
            await asyncio.sleep(PAUSE_S)
        finally:
            self._waiting -= 1

    @contextmanager
    def watching(self, client: str, *, presented: bool) -> Iterator[None]:
        """Count a refusal of the token in the block; a call without one is not a guess."""
        try:
            yield
        except Refused as error:
            if presented and error.code == "unauthenticated":
                self._count(client)
            raise

    def _debt(self, client: str) -> float:
        debt, since = self._debts.get(client, (0.0, 0.0))
        return max(0.0, debt - (self._clock() - since) / FORGIVEN_S)

    def _count(self, client: str) -> None:
        self._debts[client] = (min(self._debt(client) + 1, 2.0 * BURST), self._clock())
        self._debts.move_to_end(client)
        if len(self._debts) > MOST_CLIENTS:
            self._debts.popitem(last=False)
