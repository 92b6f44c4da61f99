"""A Redis that is gone, hangs, and comes back."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

from controlplane.domain.errors import Retryable
from gateway.state.ports import BucketRule
from gateway.state.redis.link import RedisLink, RedisOptions
from gateway.state.shared import in_redis
from tests.servers.redis import RedisServer, redis_server

RULE = BucketRule(rate_per_s=1_000, burst=1_000)
DEADLINE_S = 0.1


@pytest.fixture
def own(tmp_path: Path) -> Iterator[RedisServer]:
    with redis_server(tmp_path) as server:
        yield server


def link_to(server: RedisServer) -> RedisLink:
    return RedisLink(RedisOptions(url=server.url, deadline_s=DEADLINE_S, pause_s=0.1))


async def refusals(link: RedisLink, count: int) -> list[float]:
    """How long calls took, in seconds; all of them have to fail."""
    buckets, took = in_redis(link).buckets, []
    for _ in range(count):
        began_s = time.monotonic()
        with pytest.raises(Retryable) as caught:
            await buckets.take("key", 1, RULE)
        assert caught.value.code == "shared_state_away"
        took.append(time.monotonic() - began_s)
    return took


async def until_back(link: RedisLink) -> None:
    async with asyncio.timeout(10):
        while link.away:
            await asyncio.sleep(0.01)


async def test_a_redis_that_hangs_costs_a_few_calls_their_deadline(own: RedisServer) -> None:
    link = link_to(own)
    assert (await in_redis(link).buckets.take("key", 1, RULE)).taken
    own.hang()
    took = await refusals(link, 20)
    assert link.away
    # Three calls wait, and the rest do not even ask.
    assert sum(one >= DEADLINE_S for one in took) == 3
    assert sum(took[3:]) < DEADLINE_S
    own.go_on()
    await until_back(link)
    assert (await in_redis(link).buckets.take("key", 1, RULE)).taken
    await link.close()


async def test_a_redis_that_restarts_is_found_again(own: RedisServer) -> None:
    link = link_to(own)
    assert (await in_redis(link).buckets.take("key", 1, RULE)).taken
    own.kill()
    await refusals(link, 5)
    own.start()
    await until_back(link)
    # It has forgotten the scripts.
    assert (await in_redis(link).buckets.take("key", 1, RULE)).taken
    await link.close()


async def test_many_calls_at_once_to_a_redis_that_hangs_end_together(own: RedisServer) -> None:
    link = link_to(own)
    buckets = in_redis(link).buckets
    await buckets.take("key", 1, RULE)
    own.hang()
    began_s = time.monotonic()
    asked = [buckets.take("key", 1, RULE) for _ in range(200)]
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert all(isinstance(one, Retryable) for one in answers)
    assert time.monotonic() - began_s < 5 * DEADLINE_S
    own.go_on()
    await until_back(link)
    await link.close()


async def test_closing_while_away_ends_what_runs(own: RedisServer) -> None:
    link = link_to(own)
    own.kill()
    await refusals(link, 3)
    assert link.away
    await link.close()
    assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]


async def test_a_key_that_is_something_else_costs_only_its_own_calls(own: RedisServer) -> None:
    link = link_to(own)
    buckets = in_redis(link).buckets
    raw = Redis.from_url(own.url)
    await raw.set("foreign", "somebody else's")
    for _ in range(10):
        with pytest.raises(Retryable) as caught:
            await buckets.take("foreign", 1, RULE)
        assert caught.value.code == "shared_state_refused"
        assert not link.away
        assert (await buckets.take("key", 1, RULE)).taken
    assert await raw.get("foreign") == b"somebody else's"
    await raw.aclose()
    await link.close()


async def test_a_redis_without_room_is_full_and_not_away(own: RedisServer) -> None:
    link = link_to(own)
    buckets = in_redis(link).buckets
    assert (await buckets.take("key", 1, RULE)).taken
    raw = Redis.from_url(own.url)
    await raw.config_set("maxmemory", "1")
    for _ in range(10):
        with pytest.raises(Retryable) as caught:
            await buckets.take("key", 1, RULE)
        assert caught.value.code == "shared_state_full"
    assert not link.away
    await raw.config_set("maxmemory", "0")
    assert (await buckets.take("key", 1, RULE)).taken
    await raw.aclose()
    await link.close()
