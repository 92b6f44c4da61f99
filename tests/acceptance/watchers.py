"""Callers that watch a control plane all the time and note whatever they must never see.

Each runs until its context ends, connects again whenever it is cut, and keeps what was wrong in
`problems`. A connection that a killed process cuts is no problem; a wrong answer is one.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import orjson

from controlplane.domain.errors import ControlPlaneError, Refused
from controlplane.domain.xds import ResourceType
from gateway.options import AgentOptions
from gateway.xds_cache.cache import CachedResponse
from gateway.xds_cache.upstream import Upstream

PAUSE_S = 0.02


@dataclass(slots=True, kw_only=True)
class Watcher:
    """What one caller saw.

    Attributes:
        revision: the newest that it was given; it must never become smaller.
        answers: good ones; `cuts`: connections that ended under it.
    """

    name: str
    revision: int = 0
    answers: int = 0
    cuts: int = 0
    problems: list[str] = field(default_factory=list)

    def wrong(self, what: str) -> None:
        """Note something that must not be."""
        self.problems.append(f"{self.name}: {what}")

    def saw(self, revision: int, services: int) -> None:
        """Note a configuration."""
        self.answers += 1
        if services < 1 or revision < 1:
            self.wrong(f"revision {revision} with {services} services")
        if revision < self.revision:
            self.wrong(f"revision {revision} after {self.revision}")
        self.revision = max(self.revision, revision)


@contextlib.asynccontextmanager
async def running(*works: Awaitable[None]) -> AsyncIterator[None]:
    """Let them run for as long as the context lasts; one that fails makes the test fail."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        for ended in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(ended, Exception):
                raise ended


async def _again(
    watcher: Watcher, client: httpx.AsyncClient, once: Callable[[], Awaitable[None]]
) -> None:
    async with client:
        while True:
            try:
                await once()
            except httpx.TransportError:
                watcher.cuts += 1
            await asyncio.sleep(PAUSE_S)


def _client(url: str, token: str, timeout_s: float = 40.0) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.AsyncClient(base_url=url, headers=headers, timeout=timeout_s, trust_env=False)


def _noted(watcher: Watcher, answer: httpx.Response) -> None:
    services = len(orjson.loads(answer.content)["endpoints"]["services"])
    watcher.saw(int(answer.headers["x-signalbox-revision"]), services)


def poll(watcher: Watcher, url: str, token: str) -> Awaitable[None]:
    """GET /v1/config again and again."""
    client = _client(url, token)

    async def once() -> None:
        answer = await client.get("/v1/config")
        if answer.is_success:
            _noted(watcher, answer)
        else:
            watcher.wrong(f"{answer.status_code} {answer.text[:200]}")

    return _again(watcher, client, once)


def long_poll(watcher: Watcher, url: str, token: str) -> Awaitable[None]:
    """Wait for changes as an agent does."""
    client = _client(url, token)
    etag = ""

    async def once() -> None:
        nonlocal etag
        answer = await client.get("/v1/config?wait=30", headers={"If-None-Match": etag})
        if answer.status_code == httpx.codes.NOT_MODIFIED:
            watcher.answers += 1
        elif answer.is_success:
            etag = answer.headers["etag"]
            _noted(watcher, answer)
        else:
            watcher.wrong(f"{answer.status_code} {answer.text[:200]}")

    return _again(watcher, client, once)


def stream(watcher: Watcher, url: str, token: str) -> Awaitable[None]:
    """Follow GET /v1/watch; `cuts` counts how often it had to begin again."""
    client = _client(url, token)

    async def once() -> None:
        async with client.stream("GET", "/v1/watch?events=snapshot") as answer:
            if not answer.is_success:
                watcher.wrong(f"{answer.status_code} {(await answer.aread())[:200]!r}")
                return
            async for line in answer.aiter_lines():
                if line.startswith("data: "):
                    watcher.saw(orjson.loads(line[6:])["revision"], services=1)
        watcher.cuts += 1

    return _again(watcher, client, once)


def readiness(watcher: Watcher, url: str, token: str) -> Awaitable[None]:
    """Ask /readyz; whenever it says yes, the configuration must be there at once."""
    client = _client(url, token)

    async def once() -> None:
        ready = await client.get("/readyz")
        if ready.status_code == httpx.codes.SERVICE_UNAVAILABLE:
            return
        if not ready.is_success:
            watcher.wrong(f"/readyz answers {ready.status_code}")
            return
        answer = await client.get("/v1/config")
        if answer.is_success:
            _noted(watcher, answer)
        else:
            watcher.wrong(f"ready with nothing: {answer.status_code} {answer.text[:200]}")

    return _again(watcher, client, once)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdsCaller:
    """Who subscribes, and where."""

    ads: tuple[str, int]
    node: str
    group: str
    token: str


async def subscribe(watcher: Watcher, caller: AdsCaller) -> None:
    """Subscribe as an Envoy that has nothing yet, each time that the stream ends."""
    options = AgentOptions(
        cache=Path(),
        control_plane=caller.ads,
        listen=("127.0.0.1", 0),
        node=caller.node,
        group=caller.group,
        token_file=Path(),
    )
    seen: dict[ResourceType, list[str]] = {}
    while True:
        cached: dict[ResourceType, CachedResponse] = {}
        upstream = Upstream(options, cached)
        try:
            await upstream.connect(caller.token)
            async for new, nonce in upstream.responses():
                _given(watcher, new, seen.setdefault(new.type, []))
                cached[new.type] = new
                await upstream.acknowledge(new, nonce)
        except Refused as error:
            watcher.wrong(f"refused: {error.message}")
        except ControlPlaneError:
            watcher.cuts += 1
        finally:
            await upstream.close()
        await asyncio.sleep(PAUSE_S)


def _given(watcher: Watcher, new: CachedResponse, seen: list[str]) -> None:
    watcher.answers += 1
    if not new.resources:
        watcher.wrong(f"{new.type} {new.version} has no resource")
    if seen and new.version != seen[-1]:
        if new.version in seen:
            watcher.wrong(f"{new.type} went back to {new.version}")
        seen.append(new.version)
    elif not seen:
        seen.append(new.version)
