"""Cached answers in memory: bounded in bytes, the oldest go first."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from gateway.state.ports import Cached, Fresh, Room


@dataclass(frozen=True, slots=True)
class _Kept:
    fence: int
    body: bytes
    stored_s: float


class MemoryAnswers:
    """See `ports.Answers`."""

    def __init__(self, now_s: Callable[[], float], ring: Callable[[str], None]) -> None:
        self._now_s = now_s
        self._ring = ring
        self._shelves: dict[str, OrderedDict[str, _Kept]] = {}
        self._bytes: dict[str, int] = {}

    async def get(self, shelf: str, key: str) -> Cached | None:
        kept = self._shelves[shelf].get(key) if shelf in self._shelves else None
        if kept is None:
            return None
        return Cached(fence=kept.fence, body=kept.body, age_s=self._now_s() - kept.stored_s)

    async def put(self, shelf: str, key: str, fresh: Fresh, room: Room) -> bool:
        kept = self._shelves.setdefault(shelf, OrderedDict())
        before = kept.get(key)
        if before is not None and before.fence > fresh.fence:
            return False
        now_s = self._now_s()
        self._drop(shelf, key)
        kept[key] = _Kept(fresh.fence, fresh.body, now_s)
        self._bytes[shelf] = self._bytes.get(shelf, 0) + len(fresh.body)
        while kept:
            oldest = next(iter(kept))
            over = now_s - kept[oldest].stored_s > room.ttl_s
            if not over and self._bytes[shelf] <= room.most_bytes:
                break
            self._drop(shelf, oldest)
        self._ring(key)
        return True

    def _drop(self, shelf: str, key: str) -> None:
        gone = self._shelves[shelf].pop(key, None)
        if gone is not None:
            self._bytes[shelf] -= len(gone.body)
