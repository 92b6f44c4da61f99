"""Who waits is woken, also across a Redis that was away."""

import asyncio
from pathlib import Path

from gateway.state.bells import Bells
from gateway.state.keys import key
from gateway.state.ports import Fresh, Room
from gateway.state.redis.link import RedisLink, RedisOptions
from gateway.state.shared import in_redis
from tests.servers.redis import redis_server


def test_a_bell_rings_for_those_who_listen_and_is_forgotten_after_them() -> None:
    bells = Bells()
    with bells.listen("a") as first, bells.listen("a") as second, bells.listen("b") as other:
        bells.ring("a")
        assert (first.is_set(), second.is_set(), other.is_set()) == (True, True, False)
        bells.ring_all()
        assert other.is_set()
    assert bells._listeners == {}
    bells.ring("a")


async def test_a_redis_that_comes_back_wakes_everybody(tmp_path: Path) -> None:
    with redis_server(tmp_path) as server:
        link = RedisLink(RedisOptions(url=server.url, deadline_s=2.0, pause_s=0.05))
        state, name = in_redis(link), key("p", "a")
        with state.leases.listen(name) as rung:
            await asyncio.wait_for(rung.wait(), 5)
            server.kill()
            server.start()
            await asyncio.sleep(0.3)
            rung.clear()
            put = await state.answers.put(
                key("p", "shelf"), name, Fresh(fence=1, body=b"x"), Room(ttl_s=9.0, most_bytes=99)
            )
            assert put
            await asyncio.wait_for(rung.wait(), 5)
        await link.close()
