"""A real Envoy learns how many requests a service works on at once, for each service by itself."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx
import pytest

from benchmarks.free_ports import free_ports
from controlplane.domain.admission.adaptive_concurrency import AdaptiveConcurrencyPolicy
from controlplane.domain.admission.policy import Attachment, Policy
from tests.adapters.envoy.site import Live, fleet, prefix, running, service, snapshot
from tests.adapters.envoy.test_live import until_healthy

WORKERS = 4
WORK_S = 0.01
USERS = 40
LEARNED = AdaptiveConcurrencyPolicy(least_ms=1000 * WORK_S, least=3, most=200, window_s=0.1)


@dataclass(slots=True)
class Upstream:
    """Works on some requests at once; the others wait inside."""

    inside: int = 0
    most: int = 0
    free: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(WORKERS))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                if b"/health" not in head.split(b"\r\n", 1)[0]:
                    await self._work()
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
                await writer.drain()
        writer.close()

    async def _work(self) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)
        async with self.free:
            await asyncio.sleep(WORK_S)
        self.inside -= 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The statuses that users saw, and how many requests were in the upstream at once."""

    statuses: set[int]
    most: int


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[tuple[Live, Upstream]]:
    upstream = Upstream()
    async with running(tmp_path) as live, contextlib.AsyncExitStack() as stack:
        ports = free_ports(2)
        for port in ports:
            await stack.enter_async_context(
                await asyncio.start_server(upstream.serve, "127.0.0.1", port)
            )
        live.services = [service("slow", ports[:1], ports[1:]), live.service("web")]
        live.routes = [prefix("slow", "slow", "/"), prefix("web", "web", "/web")]
        await live.publish(0.5)
        await until_healthy(live)
        yield live, upstream


async def publish(live: Live, *policies: Policy) -> None:
    live.revision += 1
    declared = replace(fleet(live.services, live.routes, live.listener), policies=tuple(policies))
    await live.plane.apply(live.plane.render(snapshot(declared, live.revision)))


async def crowd(live: Live, upstream: Upstream, seconds: float, path: str = "/") -> Seen:
    """Users who ask again at once, or after a pause where they were refused."""
    statuses: set[int] = set()
    upstream.most = 0
    ends_s = time.monotonic() + seconds

    async def user() -> None:
        while time.monotonic() < ends_s:
            try:
                answer = await live.client.get(f"http://127.0.0.1:{live.listener}{path}")
            except httpx.TransportError:
                continue  # a kept connection of the listener before
            statuses.add(answer.status_code)
            if answer.status_code != httpx.codes.OK:
                await asyncio.sleep(0.1)

    await asyncio.gather(*(user() for _ in range(USERS)))
    return Seen(statuses=statuses, most=upstream.most)


async def test_a_service_is_not_given_what_would_only_wait_in_it(
    site: tuple[Live, Upstream], record_property: Callable[[str, object], None]
) -> None:
    live, upstream = site
    free = await crowd(live, upstream, 1.0)
    assert free.statuses == {200}
    policy = Policy(
        name="learned",
        attachment=Attachment(services=("slow",)),
        adaptive_concurrency=LEARNED,
    )
    await publish(live, policy)
    async with asyncio.timeout(20):
        while 503 not in (await crowd(live, upstream, 0.3)).statuses:
            pass
    held = await crowd(live, upstream, 1.5)
    record_property("most_at_once_without", free.most)
    record_property("most_at_once", held.most)
    assert held.statuses == {200, 503}
    assert held.most < free.most / 2
    assert (await crowd(live, upstream, 0.3, "/web")).statuses == {200}
    await publish(live)
    async with asyncio.timeout(20):
        while (await crowd(live, upstream, 0.3)).statuses != {200}:
            pass
