"""The wait for an answer or the token, and the fetch of the one who has it.

A fetch belongs to the policy and not to the client who began it: whoever goes away leaves it to
those who wait. It ends a little before its token does, so that no two are ever under way.
"""

import asyncio
import contextlib
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from weakref import WeakValueDictionary

from controlplane.domain.admission.asking import Asked
from controlplane.domain.admission.overload.deciding import Turn
from controlplane.domain.admission.overload.line import Full, Granted, Terms
from controlplane.domain.admission.overload.policy import OverloadPolicy
from controlplane.domain.admission.overload.sharing import kept, shareable
from controlplane.domain.errors import Retryable
from gateway.admission.enforcing import Answer
from gateway.admission.overload.cache import Cache, Entry
from gateway.admission.surroundings import Fetch
from gateway.state.ports import Leases

# A fetch ends so much of its token's time before the token, at most so many seconds.
MARGIN, MOST_MARGIN_S = 0.1, 0.1
# Who waits looks again after this time, whatever he hears: a message may be lost.
LOOK_S = 0.5
# A policy that is changed lets its fetches end for so long: somebody waits for them.
ENDS_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """One request that wants an answer.

    Attributes:
        key: of what it reads.
        asked: what is sent to the upstream for everybody.
        alive: whether a cached answer is good enough.
        until_s: monotonic, the end of its wait.
    """

    key: str
    asked: Asked
    alive: Callable[[Entry | None], bool]
    until_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """How a wait ended: with an entry, with an answer of its own fetch, or with neither."""

    turn: Turn
    entry: Entry | None = None
    answer: Answer | None = None


class Turns:
    """All waits of one policy.

    Args:
        agent: its name; waiters of several agents must not be taken for each other.
    """

    def __init__(self, spec: OverloadPolicy, cache: Cache, fetch: Fetch, agent: str) -> None:
        self._cache = cache
        self._fetch = fetch
        self._agent = agent
        self._numbers = itertools.count()
        self._terms = Terms(
            token_s=spec.token_s, wait_s=spec.wait_s, most_waiting=spec.most_waiting
        )
        self._fetch_s = spec.token_s - min(spec.token_s * MARGIN, MOST_MARGIN_S)
        self._fetching: set[asyncio.Task[Found]] = set()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._leaving: set[asyncio.Task[None]] = set()

    async def wait(self, wait: Wait, leases: Leases) -> Found:
        """Wait for an answer that is good enough, or fetch it.

        Raises:
            Retryable: the tokens are out of reach.
        """
        waiter = f"{self._agent}:{next(self._numbers)}"
        with leases.listen(wait.key) as rung:
            try:
                return await self._in_line(wait, leases, waiter, rung)
            except asyncio.CancelledError:
                self._left(leases, wait.key, waiter)
                raise

    async def close(self) -> None:
        """Let what is fetched come in, and end what takes longer."""
        under_way = (*self._fetching, *self._leaving)
        if not under_way:
            return
        _, late = await asyncio.wait(under_way, timeout=ENDS_S)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    async def _in_line(self, wait: Wait, leases: Leases, waiter: str, rung: asyncio.Event) -> Found:
        while True:
            rung.clear()
            entry = await self._cache.newest(wait.key, time.monotonic())
            if wait.alive(entry):
                # Whoever brought it has emptied the line.
                return Found(turn=Turn.WAITING, entry=entry)
            asked_s = time.monotonic()
            taken = await leases.take(wait.key, waiter, self._terms)
            if isinstance(taken, Granted):
                held = _Held(leases=leases, waiter=waiter, fence=taken.fence, asked_s=asked_s)
                return await self._fetched(wait, held)
            left_s = wait.until_s - time.monotonic()
            if isinstance(taken, Full) or left_s <= 0:
                self._left(leases, wait.key, waiter)
                turn = Turn.FULL if isinstance(taken, Full) else Turn.LATE
                return Found(turn=turn, entry=entry)
            # A token that is free by time wakes nobody.
            pause_s = min(taken.again_s + 0.001, left_s, LOOK_S)
            try:
                async with asyncio.timeout(pause_s):
                    await rung.wait()
            except TimeoutError:
                continue

    async def _fetched(self, wait: Wait, held: "_Held") -> Found:
        task = asyncio.create_task(self._work(wait, held))
        self._fetching.add(task)
        task.add_done_callback(self._fetching.discard)
        await asyncio.wait([task])
        # One that was ended failed: cancelling who waits for it would end his connection.
        return Found(turn=Turn.FAILED) if task.cancelled() else task.result()

    async def _work(self, wait: Wait, held: "_Held") -> Found:
        # With tokens from two places, one of which may be away, an agent still fetches once.
        lock = self._locks.setdefault(wait.key, asyncio.Lock())
        async with lock:
            return await self._alone(wait, held)

    async def _alone(self, wait: Wait, held: "_Held") -> Found:
        everybodys = False
        try:
            # Whoever had the token before may have brought the answer.
            entry = await self._cache.after_all(wait.key, time.monotonic())
            if wait.alive(entry):
                everybodys = True
                return Found(turn=Turn.HELD, entry=entry)
            spent_s = time.monotonic() - held.asked_s
            try:
                async with asyncio.timeout(self._fetch_s - spent_s):
                    answer = await self._fetch(wait.asked)
            except (Retryable, TimeoutError):
                return Found(turn=Turn.FAILED, entry=entry)
            if shareable(answer.status, answer.headers):
                everybodys = await self._keep(wait.key, held, answer)
            return Found(turn=Turn.HELD, answer=answer)
        finally:
            give_back = held.leases.finish if everybodys else held.leases.release
            # Its time frees it, too.
            with contextlib.suppress(Retryable):
                await give_back(wait.key, held.waiter, held.fence)

    async def _keep(self, key: str, held: "_Held", answer: Answer) -> bool:
        """Give an answer to everybody; whether it was new and not too long."""
        shared = Answer(status=answer.status, headers=kept(answer.headers), body=answer.body)
        entry = Entry(fence=held.fence, stored_s=time.monotonic(), answer=shared)
        if not self._cache.keep(key, entry):
            return False
        await self._cache.share(key, entry)
        return True

    def _left(self, leases: Leases, key: str, waiter: str) -> None:
        task = asyncio.create_task(_leave(leases, key, waiter))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """A token in hand; `asked_s` is monotonic, before it was asked for."""

    leases: Leases
    waiter: str
    fence: int
    asked_s: float


async def _leave(leases: Leases, key: str, waiter: str) -> None:
    try:
        await leases.leave(key, waiter)
    except Retryable:
        return
