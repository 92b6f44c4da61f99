"""Cached answers of one agent, and those of all behind them."""

import asyncio
import time

from controlplane.domain.errors import Retryable
from gateway.admission.enforcing import Answer
from gateway.admission.overload.cache import OVERHEAD, Cache, Entry, decoded, encoded
from gateway.state.ports import Cached, Fresh, Room
from gateway.state.shared import in_memory

ROOM = Room(ttl_s=60.0, most_bytes=2 * (OVERHEAD + 100))


def entry(fence: int, size: int = 10) -> Entry:
    return Entry(
        fence=fence, stored_s=time.monotonic(), answer=Answer(status=200, body=b"x" * size)
    )


class Slow:
    """Shared answers that take their time, and count."""

    def __init__(self, away: bool = False) -> None:
        self.away = away
        self.asked = 0
        self.put_fences: list[int] = []

    async def get(self, shelf: str, key: str) -> Cached | None:
        self.asked += 1
        await asyncio.sleep(0.01)
        if self.away:
            raise Retryable("shared_state_away", "away")
        return Cached(fence=9, body=encoded(Answer(status=200, body=b"theirs")), age_s=1.0)

    async def put(self, shelf: str, key: str, fresh: Fresh, room: Room) -> bool:
        await asyncio.sleep(0.01)
        if self.away:
            raise Retryable("shared_state_away", "away")
        self.put_fences.append(fresh.fence)
        return True


def test_the_newest_stays_and_the_oldest_make_room() -> None:
    cache = Cache(in_memory(time.monotonic).answers, "shelf", ROOM, 100)
    assert cache.keep("a", entry(2))
    assert not cache.keep("a", entry(1))
    assert not cache.keep("b", entry(3, size=101))
    assert cache.keep("b", entry(3, size=100))
    assert cache.keep("c", entry(4, size=100))
    assert cache.local("a") is None
    assert cache.local("c") is not None
    assert cache.newest_fence == 4


async def test_of_many_who_ask_one_asks_the_others() -> None:
    shared = Slow()
    cache = Cache(shared, "shelf", ROOM, 100)
    found = await asyncio.gather(*(cache.newest("a", 100.0) for _ in range(20)))
    assert shared.asked == 1
    assert {one.answer.body for one in found if one} == {b"theirs"}
    assert found[0] is not None
    assert found[0].stored_s == 99.0


async def test_without_the_others_it_has_its_own() -> None:
    cache = Cache(Slow(away=True), "shelf", ROOM, 100)
    assert await cache.newest("a", 1.0) is None
    mine = entry(1)
    cache.keep("a", mine)
    await cache.share("a", mine)
    assert await cache.after_all("a", 1.0) is mine


async def test_of_copies_that_come_fast_the_newest_is_shared() -> None:
    shared = Slow()
    cache = Cache(shared, "shelf", ROOM, 100)
    await asyncio.gather(*(cache.share_newest("a", entry(fence)) for fence in range(1, 8)))
    assert shared.put_fences == [1, 7]
    await cache.share_newest("a", entry(8))
    assert shared.put_fences[-1] == 8


def test_what_another_version_has_written_is_no_answer() -> None:
    answer = Answer(status=200, headers=(("a", "b"),), body=b"x\ny")
    assert decoded(encoded(answer)) == answer
    for wrong in (b"", b"{}\nx", b'["x", []]\n', b"[200]\n"):
        assert decoded(wrong) is None
