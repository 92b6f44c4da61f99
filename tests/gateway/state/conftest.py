"""Shared state of both kinds: each test of this folder is asked of memory and of a real Redis."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

import pytest

from gateway.state.keys import key
from gateway.state.redis.link import RedisLink, RedisOptions
from gateway.state.shared import SharedState, in_memory, in_redis
from tests.servers.redis import RedisServer, redis_server


@dataclass(slots=True, kw_only=True)
class Kept:
    """State, a key of its own for each test, and the passing of time."""

    state: SharedState
    name: str
    clock: list[float] | None = field(default=None)

    def key(self, *parts: str) -> str:
        return key(self.name, *parts)

    async def passes(self, seconds: float) -> None:
        if self.clock is None:
            await asyncio.sleep(seconds)
        else:
            self.clock[0] += seconds


@pytest.fixture(scope="session")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with redis_server(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(params=["memory", "redis"])
async def kept(request: pytest.FixtureRequest) -> AsyncIterator[Kept]:
    name = request.node.name
    if request.param == "memory":
        clock = [1_000.0]
        yield Kept(state=in_memory(lambda: clock[0]), name=name, clock=clock)
        return
    server: RedisServer = request.getfixturevalue("redis")
    # Calls of a busy machine may take longer than a gateway's; that is tried elsewhere.
    link = RedisLink(RedisOptions(url=server.url, deadline_s=5.0))
    yield Kept(state=in_redis(link), name=name)
    await link.close()
