"""Cached answers: those of this agent, ready to be sent, and those of all agents behind them."""

import asyncio
import json
from collections import OrderedDict
from dataclasses import dataclass

from controlplane.domain.errors import Retryable
from gateway.admission.enforcing import Answer
from gateway.state.ports import Answers, Cached, Fresh, Room

# What an entry costs beside its body, about.
OVERHEAD = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An answer in this agent; `stored_s` is monotonic."""

    fence: int
    stored_s: float
    answer: Answer


class Cache:
    """All answers of one policy.

    Args:
        shelf: where all agents keep them.
        most_answer_bytes: longer ones are not kept.
    """

    def __init__(self, answers: Answers, shelf: str, room: Room, most_answer_bytes: int) -> None:
        self._answers = answers
        self._shelf = shelf
        self._room = room
        self._most_answer_bytes = most_answer_bytes
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        self._bytes = 0
        # Greatest fence of all that were kept.
        self.newest_fence = 0
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._putting: dict[str, Entry | None] = {}

    def local(self, key: str) -> Entry | None:
        """What this agent has."""
        return self._entries.get(key)

    async def newest(self, key: str, now_s: float) -> Entry | None:
        """What anybody has; of many who ask at once one asks the others.

        Without shared state it is what this agent has.
        """
        asking = self._asking.get(key)
        if asking is None:
            asking = asyncio.create_task(self._refresh(key, now_s))
            self._asking[key] = asking
            asking.add_done_callback(lambda _: self._asking.pop(key, None))
        await asyncio.shield(asking)
        return self._entries.get(key)

    async def after_all(self, key: str, now_s: float) -> Entry | None:
        """What anybody has, asked after everything that happened before."""
        await self._refresh(key, now_s)
        return self._entries.get(key)

    def keep(self, key: str, entry: Entry) -> bool:
        """Keep an answer in this agent; False when it has a newer one, or it is too long."""
        size = len(entry.answer.body)
        before = self._entries.get(key)
        if size > self._most_answer_bytes or (before is not None and before.fence > entry.fence):
            return False
        if before is not None:
            self._bytes -= len(before.answer.body) + OVERHEAD
        self.newest_fence = max(self.newest_fence, entry.fence)
        self._entries[key] = entry
        self._entries.move_to_end(key)
        self._bytes += size + OVERHEAD
        while self._bytes > self._room.most_bytes and self._entries:
            _, gone = self._entries.popitem(last=False)
            self._bytes -= len(gone.answer.body) + OVERHEAD
        return True

    async def share(self, key: str, entry: Entry) -> None:
        """Give an answer to all agents; without shared state nothing happens."""
        fresh = Fresh(fence=entry.fence, body=encoded(entry.answer))
        try:
            await self._answers.put(self._shelf, key, fresh, self._room)
        except Retryable:
            return

    async def share_newest(self, key: str, entry: Entry) -> None:
        """As `share`; while one is under way the newest of those that come waits for it."""
        if key in self._putting:
            self._putting[key] = entry
            return
        following: Entry | None = entry
        try:
            while following is not None:
                self._putting[key] = None
                await self.share(key, following)
                following = self._putting[key]
        finally:
            del self._putting[key]

    async def _refresh(self, key: str, now_s: float) -> None:
        try:
            found = await self._answers.get(self._shelf, key)
        except Retryable:
            return
        if found is not None:
            self._take(key, found, now_s)

    def _take(self, key: str, found: Cached, now_s: float) -> None:
        answer = decoded(found.body)
        if answer is not None:
            entry = Entry(fence=found.fence, stored_s=now_s - found.age_s, answer=answer)
            self.keep(key, entry)


def encoded(answer: Answer) -> bytes:
    """An answer as bytes: a line of JSON, then the body."""
    return json.dumps([answer.status, answer.headers]).encode() + b"\n" + answer.body


def decoded(data: bytes) -> Answer | None:
    """The answer again; None is none that this version reads."""
    head, _, body = data.partition(b"\n")
    try:
        status, lines = json.loads(head)
        headers = tuple((str(name), str(value)) for name, value in lines)
        return Answer(status=int(status), headers=headers, body=body)
    except (ValueError, TypeError):
        return None
