"""A Redis whose clock went ahead for a while and was set back: nothing lasts a day longer for it.

What was written by the wrong clock is written here as it would have stood.
"""

from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from controlplane.domain.admission.overload.line import Granted
from controlplane.domain.admission.overload.line import Terms as LineTerms
from controlplane.domain.admission.session_queue.room import Standing, Terms, Visitor
from gateway.state.ports import BucketRule, Fresh, Room, Times, WindowRule
from gateway.state.redis.link import RedisLink, RedisOptions
from gateway.state.shared import in_redis
from tests.gateway.state.conftest import Kept
from tests.servers.redis import RedisServer

DAY_S = 86_400.0
POOL = Terms(initial_size=1, stay_s=0.05, session_s=600, abandon_s=0.05)


@pytest.fixture
async def raw(redis: RedisServer) -> AsyncIterator[Redis]:
    client = Redis.from_url(redis.url)
    yield client
    await client.aclose()


@pytest.fixture
async def shared(redis: RedisServer, request: pytest.FixtureRequest) -> AsyncIterator[Kept]:
    # Only Redis: an agent's own memory goes by a clock that never goes back.
    link = RedisLink(RedisOptions(url=redis.url, deadline_s=5.0))
    yield Kept(state=in_redis(link), name=request.node.name)
    await link.close()


async def ahead_s(raw: Redis) -> float:
    seconds, _ = await raw.time()
    return float(seconds) + DAY_S


async def test_a_bucket_fills_again(shared: Kept, raw: Redis) -> None:
    rule = BucketRule(rate_per_s=50, burst=1)
    await raw.hset(shared.key("a"), mapping={"tokens": "0", "at": str(await ahead_s(raw))})
    assert not (await shared.state.buckets.take(shared.key("a"), 1, rule)).taken
    await shared.passes(0.05)
    assert (await shared.state.buckets.take(shared.key("a"), 1, rule)).taken


async def test_a_window_forgets_what_has_not_happened_yet(shared: Kept, raw: Redis) -> None:
    rule = WindowRule(window_s=10, limit=1, slots=10)
    await raw.hset(shared.key("a"), str(int(await ahead_s(raw))), "1")
    assert (await shared.state.windows.add(shared.key("a"), 1, rule)).added


async def test_a_token_is_held_no_longer_than_its_time(shared: Kept, raw: Redis) -> None:
    terms = LineTerms(token_s=0.05, wait_s=1, claim_s=0.05)
    until = str(await ahead_s(raw))
    await raw.hset(shared.key("a"), mapping={"waiter": "dead", "fence": "1", "until": until})
    await shared.state.leases.take(shared.key("a"), "two", terms)
    await shared.passes(0.06)
    taken = await shared.state.leases.take(shared.key("a"), "two", terms)
    assert isinstance(taken, Granted)


async def test_a_token_that_was_offered_then_is_not_kept_for_him(shared: Kept, raw: Redis) -> None:
    terms = LineTerms(token_s=0.05, wait_s=1, claim_s=0.05)
    since = await ahead_s(raw)
    key = shared.key("a")
    await raw.hset(key, mapping={"offered": "gone", "since": str(since)})
    await raw.zadd(f"{key}:line", {"gone": 1})
    await raw.zadd(f"{key}:untils", {"gone": since})
    await shared.state.leases.take(key, "two", terms)
    await shared.passes(0.06)
    assert isinstance(await shared.state.leases.take(key, "two", terms), Granted)


async def test_an_answer_of_the_future_is_not_given_as_new(shared: Kept, raw: Redis) -> None:
    answers, key, room = shared.state.answers, shared.key("a"), Room(ttl_s=60, most_bytes=100)
    assert await answers.put(key, "read", Fresh(fence=1, body=b"old"), room)
    await raw.hset(key, "read", f"{await ahead_s(raw)}\nold")
    assert await answers.get(key, "read") is None
    assert await answers.put(key, "read", Fresh(fence=2, body=b"new"), room)
    found = await answers.get(key, "read")
    assert found is not None
    assert found.body == b"new"


async def test_who_left_in_the_future_keeps_no_place(shared: Kept, raw: Redis) -> None:
    pools, key = shared.state.pools, shared.key("a")
    await pools.visit(key, [Visitor(session="ghost", chance=0.5)], POOL)
    await raw.zadd(f"{key}:present", {"ghost": await ahead_s(raw)})
    two = [Visitor(session="two", chance=0.5)]
    assert (await pools.visit(key, two, POOL))[0].standing is Standing.WAITING
    await shared.passes(0.06)
    assert (await pools.visit(key, two, POOL))[0].standing is Standing.INSIDE


async def test_a_pool_goes_on_being_sized(shared: Kept, raw: Redis) -> None:
    pools, key = shared.state.pools, shared.key("a")
    await pools.visit(key, [Visitor(session="one", chance=0.5)], POOL)
    await raw.hset(key, "began", str(await ahead_s(raw)))
    await pools.tell(key, Times(), 0.05)
    await shared.passes(0.06)
    assert (await pools.tell(key, Times(), 0.05)).ended is not None
