"""Streams and long polls over a real server, which the in-process transport cannot carry."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
import uvicorn

from controlplane.api.edge import sse
from controlplane.domain.access import AccessRole
from controlplane.domain.errors import Refused, Retryable
from tests import builders
from tests.api.house import AUTHOR, House

Event = dict[str, str]


@asynccontextmanager
async def served(house: House) -> AsyncIterator[str]:
    """The house's application on a free port of loopback."""
    config = uvicorn.Config(
        house.app, port=0, log_config=None, access_log=False, timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    async with asyncio.timeout(10):
        while not server.started:
            await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        await task


@pytest.fixture
async def url(house: House) -> AsyncIterator[str]:
    async with served(house) as address:
        yield address


@asynccontextmanager
async def watching(
    house: House, url: str, query: str = "", role: AccessRole = AccessRole.VIEWER, **headers: str
) -> AsyncIterator[AsyncIterator[Event]]:
    """The events of one reader."""
    headers["Authorization"] = f"Bearer {house.secrets[role]}"
    async with (
        httpx.AsyncClient(timeout=10) as client,
        client.stream("GET", f"{url}/v1/watch{query}", headers=headers) as response,
    ):
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        yield _events(response)


async def _events(response: httpx.Response) -> AsyncIterator[Event]:
    event: Event = {}
    async for line in response.aiter_lines():
        name, _, value = line.partition(": ")
        if line.startswith(":"):
            yield {"comment": line[1:].strip()}
        elif line:
            event[name] = value
        elif event:
            yield event
            event = {}


async def following(events: AsyncIterator[Event], name: str) -> Event:
    """The next event of that name."""
    async with asyncio.timeout(5):
        async for event in events:
            if event.get("event") == name:
                return event
    raise AssertionError(f"the stream ended without {name}")


async def test_a_reader_gets_the_newest_at_once_and_then_each_change(
    house: House, url: str
) -> None:
    await house.declare()
    async with watching(house, url) as events:
        first = await following(events, "snapshot")
        content = json.loads(first["data"])
        assert (first["id"], content["revision"]) == ("1", 1)
        assert set(content["digests"]) >= {"weights", "routes"}
        await house.declare(builders.fleet(builders.service(), builders.service("news")))
        assert (await following(events, "snapshot"))["id"] == "2"


async def test_last_event_id_resumes(house: House, url: str) -> None:
    await house.declare()
    async with watching(house, url, "?events=snapshot", **{"Last-Event-ID": "1"}) as events:
        waiting = asyncio.create_task(following(events, "snapshot"))
        await asyncio.sleep(0.1)
        assert not waiting.done()
        await house.declare(builders.fleet(builders.service(), builders.service("news")))
        assert (await waiting)["id"] == "2"


@pytest.mark.parametrize("last", ["99", "x", "-1", "9" * 30])
async def test_an_id_that_cannot_be_ours_starts_anew(house: House, url: str, last: str) -> None:
    await house.declare()
    async with watching(house, url, **{"Last-Event-ID": last}) as events:
        assert (await following(events, "snapshot"))["id"] == "1"


async def test_decisions_are_followed_by_who_may_read_them(
    house: House, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sse, "DECISIONS_EVERY_S", 0.05)
    monkeypatch.setattr(sse, "HEARTBEAT_S", 0.5)
    await house.declare()
    async with (
        watching(house, url) as events,
        watching(house, url, role=AccessRole.GATEWAY) as limited,
    ):
        await house.tick()
        decision = json.loads((await following(events, "decision"))["data"])
        assert decision["service"] == "tickets"
        seen: list[Event] = []
        async with asyncio.timeout(5):
            async for event in limited:
                seen.append(event)
                if len([one for one in seen if "comment" in one]) == 2:
                    break
        assert [one["event"] for one in seen if "event" in one] == ["snapshot"]


async def test_heartbeats_come_and_a_revoked_token_ends_the_stream(
    house: House, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sse, "HEARTBEAT_S", 0.1)
    async with watching(house, url) as events:
        async with asyncio.timeout(5):
            assert await anext(events) == {"comment": "alive"}
            assert await anext(events) == {"comment": "alive"}
        (token,) = [t for t in await house.access.tokens() if t.role is AccessRole.VIEWER]
        await house.access.revoke(token.id, AUTHOR, "test")
        async with asyncio.timeout(5):
            rest = [event async for event in events]
        assert all("comment" in event for event in rest)


async def test_a_slow_reader_gets_the_newest_and_nothing_piles_up(house: House) -> None:
    await house.declare()
    stream = sse.Watch(
        publication=house.publication,
        decisions=None,
        summary=str,
        allowed=lambda: asyncio.sleep(0),
    ).events()
    assert await anext(stream) == sse.HEARTBEAT
    assert b"id: 1\n" in await anext(stream)
    services = [builders.service()]
    for index in range(5):
        services.append(builders.service(f"s{index}"))
        await house.declare(builders.fleet(*services))
    assert b"id: 6\n" in await anext(stream)
    await stream.aclose()


async def test_many_readers_and_pollers_hear_of_one_change(house: House, url: str) -> None:
    await house.declare()
    headers = {"Authorization": f"Bearer {house.secrets[AccessRole.GATEWAY]}"}
    limits = httpx.Limits(max_connections=100)
    async with httpx.AsyncClient(base_url=url, headers=headers, limits=limits, timeout=20) as http:
        etag = (await http.get("/v1/routes")).headers["etag"]
        polls = [
            asyncio.create_task(http.get("/v1/routes?wait=30", headers={"If-None-Match": etag}))
            for _ in range(50)
        ]
        await asyncio.sleep(0.3)
        await house.declare(builders.fleet(builders.service(), builders.service("news")))
        async with asyncio.timeout(5):
            answers = await asyncio.gather(*polls)
    assert {answer.headers["x-signalbox-revision"] for answer in answers} == {"2"}


@pytest.mark.parametrize("away", [False, True])
async def test_a_stream_outlives_the_store_but_not_its_token(
    house: House, monkeypatch: pytest.MonkeyPatch, away: bool
) -> None:
    monkeypatch.setattr(sse, "HEARTBEAT_S", 0.01)

    async def check() -> None:
        raise Retryable("store_unavailable", "x") if away else Refused("unauthenticated", "x")

    stream = sse.Watch(
        publication=house.publication, decisions=None, summary=str, allowed=check
    ).events()
    assert await anext(stream) == sse.HEARTBEAT
    if away:
        assert await anext(stream) == sse.HEARTBEAT
    else:
        assert [beat async for beat in stream] == []
