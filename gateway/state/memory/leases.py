"""Tokens in memory: the domain's own lines, with a clock."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager

from controlplane.domain.admission.overload.line import Line, Taken, Terms
from gateway.state.bells import Bells

MICROS = 1_000_000
# Lines looked at on each call: those that are empty go.
SWEPT = 2


class MemoryLeases:
    """See `ports.Leases`.

    Args:
        floor: fences are above it; for one that stands in for a shared state whose fences are
            known already.
    """

    def __init__(self, now_s: Callable[[], float], floor: Callable[[], int] = lambda: 0) -> None:
        self._now_s = now_s
        self._floor = floor
        self._lines: dict[str, Line] = {}
        self._bells = Bells()
        self._fence = 0

    async def take(self, key: str, waiter: str, terms: Terms) -> Taken:
        now_s = self._now_s()
        self._sweep(now_s)
        # The time is in it, so that tokens and what was fetched without one have one order.
        self._fence = max(self._fence + 1, int(now_s * MICROS), self._floor() + 1)
        line = self._lines.setdefault(key, Line())
        return line.take(waiter, terms, now_s, self._fence)

    async def release(self, key: str, waiter: str, fence: int) -> bool:
        line = self._lines.get(key)
        released = line is not None and line.release(waiter, fence)
        if released:
            self._bells.ring(key)
        return released

    async def finish(self, key: str, waiter: str, fence: int) -> bool:
        line = self._lines.get(key)
        finished = line is not None and line.finish(waiter, fence)
        if finished:
            self._bells.ring(key)
        return finished

    async def leave(self, key: str, waiter: str) -> None:
        line = self._lines.get(key)
        if line is not None and line.leave(waiter):
            self._bells.ring(key)

    async def now_us(self) -> int:
        return int(self._now_s() * MICROS)

    def listen(self, key: str) -> AbstractContextManager[asyncio.Event]:
        return self._bells.listen(key)

    def ring(self, key: str) -> None:
        """Wake everybody who listens; for answers that came."""
        self._bells.ring(key)

    def _sweep(self, now_s: float) -> None:
        for key in [one for one, _ in zip(self._lines, range(SWEPT), strict=False)]:
            line = self._lines.pop(key)
            if not line.empty(now_s):
                # Behind the others, so that all have their turn.
                self._lines[key] = line
