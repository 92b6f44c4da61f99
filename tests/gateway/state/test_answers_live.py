"""Cached answers: the newest stays, memory is bounded; in memory and in Redis."""

import asyncio

import pytest

from gateway.state.ports import Fresh, Room
from tests.gateway.state.conftest import Kept

ROOM = Room(ttl_s=60.0, most_bytes=1_000)


async def test_an_older_answer_never_takes_the_place_of_a_newer_one(kept: Kept) -> None:
    answers, shelf = kept.state.answers, kept.key("shelf")
    now_us = await kept.state.leases.now_us()
    assert await answers.get(shelf, "a") is None
    assert await answers.put(shelf, "a", Fresh(fence=now_us, body=b"\x00new\n"), ROOM)
    assert not await answers.put(shelf, "a", Fresh(fence=now_us - 1, body=b"old"), ROOM)
    found = await answers.get(shelf, "a")
    assert found is not None
    assert (found.body, found.fence) == (b"\x00new\n", now_us)
    assert await answers.put(shelf, "a", Fresh(fence=now_us, body=b"again"), ROOM)
    assert await answers.get(kept.key("other"), "a") is None


async def test_an_answer_has_an_age(kept: Kept) -> None:
    answers, shelf = kept.state.answers, kept.key("shelf")
    await answers.put(shelf, "a", Fresh(fence=await kept.state.leases.now_us(), body=b"x"), ROOM)
    await kept.passes(0.3)
    found = await answers.get(shelf, "a")
    assert found is not None
    assert found.age_s == pytest.approx(0.3, abs=0.15)


async def test_the_oldest_make_room(kept: Kept) -> None:
    answers, shelf = kept.state.answers, kept.key("shelf")
    for name in "abc":
        fence = await kept.state.leases.now_us()
        assert await answers.put(shelf, name, Fresh(fence=fence, body=b"x" * 400), ROOM)
        await kept.passes(0.01)
    assert await answers.get(shelf, "a") is None
    assert await answers.get(shelf, "c") is not None
    # One that is put again counts once.
    for _ in range(5):
        fence = await kept.state.leases.now_us()
        await answers.put(shelf, "c", Fresh(fence=fence, body=b"y" * 400), ROOM)
    assert await answers.get(shelf, "b") is not None


async def test_what_is_too_old_goes(kept: Kept) -> None:
    answers, shelf = kept.state.answers, kept.key("shelf")
    short = Room(ttl_s=0.2, most_bytes=1_000)
    await answers.put(shelf, "a", Fresh(fence=await kept.state.leases.now_us(), body=b"x"), short)
    await kept.passes(0.3)
    await answers.put(shelf, "b", Fresh(fence=await kept.state.leases.now_us(), body=b"x"), short)
    assert await answers.get(shelf, "a") is None
    assert await answers.get(shelf, "b") is not None


async def test_an_answer_wakes_who_waits_for_it(kept: Kept) -> None:
    answers, key = kept.state.answers, kept.key("a")
    with kept.state.leases.listen(key) as rung:
        await asyncio.sleep(0.2)
        rung.clear()
        fence = await kept.state.leases.now_us()
        await answers.put(kept.key("shelf"), key, Fresh(fence=fence, body=b"x"), ROOM)
        await asyncio.wait_for(rung.wait(), 2)
