"""Copies of what goes through while an upstream is not protected: they refresh the cache.

An answer is as old as its request, by the clock that tokens are numbered with, so that it never
takes the place of one that was asked for later.
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial

from controlplane.domain.admission.overload.sharing import kept, shareable
from controlplane.domain.errors import Retryable
from gateway.admission.enforcing import ADMITTED_RULING, Answer, Copying, Ruling
from gateway.admission.overload.cache import Cache, Entry
from gateway.state.ports import Leases

MICROS = 1_000_000
# The shared clock is read again after this time: two clocks drift by less than 1 ms in it.
AGAIN_S = 10.0


class Copies:
    """All copies of one policy."""

    def __init__(
        self,
        most_bytes: int,
        cache: Cache,
        leases: Leases,
        monotonic_s: Callable[[], float],
    ) -> None:
        self._most_bytes = most_bytes
        self._cache = cache
        self._leases = leases
        self._monotonic_s = monotonic_s
        self._ahead_us: int | None = None
        self._read_s = float("-inf")
        self._tasks: set[asyncio.Task[None]] = set()

    def ruling(self, key: str, now_s: float) -> Ruling:
        """Let a request go on, and keep its answer."""
        if now_s - self._read_s > AGAIN_S:
            self._read_s = now_s
            self._begin(self._read())
        if self._ahead_us is None:
            return ADMITTED_RULING
        fence = int(now_s * MICROS) + self._ahead_us
        copied = Copying(most_bytes=self._most_bytes, take=partial(self._take, key, fence))
        return Ruling(decision=ADMITTED_RULING.decision, copied=copied)

    async def close(self) -> None:
        """End what is under way."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _take(self, key: str, fence: int, answer: Answer) -> None:
        if not shareable(answer.status, answer.headers):
            return
        shared = Answer(status=answer.status, headers=kept(answer.headers), body=answer.body)
        entry = Entry(fence=fence, stored_s=self._monotonic_s(), answer=shared)
        if self._cache.keep(key, entry):
            self._begin(self._cache.share_newest(key, entry))

    async def _read(self) -> None:
        before_s = self._monotonic_s()
        try:
            now_us = await self._leases.now_us()
        except Retryable:
            return
        middle_s = (before_s + self._monotonic_s()) / 2
        self._ahead_us = now_us - int(middle_s * MICROS)

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
