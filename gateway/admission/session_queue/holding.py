"""Requests that wait in the agent itself until their session may enter.

One task asks for all of them: for the next few when a place may have become free, for everybody
often enough that nobody counts as gone. So a thousand that wait cost few calls, not a thousand.
"""

import asyncio
import heapq
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from controlplane.domain.admission.session_queue.room import Standing, Visited, Visitor
from controlplane.domain.errors import Retryable

# Asked for beyond those that the pool could take in at once: some of them have gone.
SPARE = 8
MOST_AT_ONCE = 500

Visit = Callable[[Sequence[Visitor]], Awaitable[Sequence[Visited]]]


@dataclass(slots=True, kw_only=True)
class _Held:
    visitor: Visitor
    visited: Visited
    entered: asyncio.Future[Visited]


class Holding:
    """The requests of one queue that wait here.

    Args:
        visit: asks the pool for several sessions.
        tick_s: places that other agents have freed are seen within this time.
        renew_s: everybody is asked for at least as often.
    """

    def __init__(self, visit: Visit, tick_s: float, renew_s: float) -> None:
        self._visit = visit
        self._tick_s = tick_s
        self._renew_s = renew_s
        self._held: dict[str, _Held] = {}
        self._freed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    def __len__(self) -> int:
        return len(self._held)

    def freed(self) -> None:
        """A place may have become free."""
        if self._held:
            self._freed.set()

    async def wait(self, visitor: Visitor, visited: Visited, most_s: float) -> Visited:
        """Wait until a session has entered, at most for a time; where it stands then."""
        if visitor.session in self._held or self._closed:
            # A second request of one session is not worth waiting twice; and one that was just
            # asking when the policy changed would wait for nobody.
            return visited
        held = _Held(
            visitor=visitor, visited=visited, entered=asyncio.get_running_loop().create_future()
        )
        self._held[visitor.session] = held
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        try:
            async with asyncio.timeout(most_s):
                return await held.entered
        except TimeoutError:
            return held.visited
        finally:
            del self._held[visitor.session]

    async def close(self) -> None:
        """Let everybody go on waiting outside."""
        self._closed = True
        for held in self._held.values():
            if not held.entered.done():
                held.entered.set_result(held.visited)
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        renewed_s = loop.time()
        while True:
            try:
                async with asyncio.timeout(self._tick_s):
                    await self._freed.wait()
            except TimeoutError:
                pass
            self._freed.clear()
            everybody = loop.time() - renewed_s >= self._renew_s
            if everybody:
                renewed_s = loop.time()
            try:
                await self._ask(self._all() if everybody else self._next())
            except Retryable:
                # Whoever waits goes on waiting; new ones fall back.
                continue

    def _all(self) -> list[_Held]:
        return sorted(self._held.values(), key=_order)

    def _next(self) -> list[_Held]:
        size = max((held.visited.size for held in self._held.values()), default=0)
        return heapq.nsmallest(size + SPARE, self._held.values(), key=_order)

    async def _ask(self, waiting: Sequence[_Held]) -> None:
        for start in range(0, len(waiting), MOST_AT_ONCE):
            part = waiting[start : start + MOST_AT_ONCE]
            answers = await self._visit([held.visitor for held in part])
            for held, visited in zip(part, answers, strict=True):
                held.visited = visited
                if visited.standing is not Standing.WAITING and not held.entered.done():
                    held.entered.set_result(visited)


def _order(held: _Held) -> float:
    """By place: positions are as old as the last question, and places never change."""
    return held.visited.place
