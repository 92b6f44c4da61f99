"""A real Envoy rests endpoints that fail too often, and answers itself when all of them do."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import pytest

from benchmarks.free_ports import free_ports
from controlplane.domain.admission.circuit_breaker import CircuitBreakerPolicy
from controlplane.domain.admission.policy import Attachment, Policy
from controlplane.domain.services import AllDown
from tests.adapters.envoy.site import Live, fleet, prefix, running, service, snapshot
from tests.adapters.envoy.test_live import until_healthy

OPEN_S = 1.0
UNHEALTHY = "no healthy upstream"
BREAKER = CircuitBreakerPolicy(error_ratio=0.5, requests=5, window_s=0.5, open_s=OPEN_S)
REST = Policy(name="rest", attachment=Attachment(services=("frail",)), circuit_breaker=BREAKER)


@dataclass(slots=True)
class Frail:
    """An endpoint: of three answers in a row two are errors, until it is well."""

    well: bool = False
    asked: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                status = b"200 OK" if b"/health" in head.split(b"\r\n", 1)[0] else self._status()
                writer.write(b"HTTP/1.1 " + status + b"\r\ncontent-length: 0\r\n\r\n")
                await writer.drain()
        writer.close()

    def _status(self) -> bytes:
        self.asked += 1
        return b"200 OK" if self.well or self.asked % 3 == 0 else b"500 Failed"


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[tuple[Live, list[Frail]]]:
    endpoints = [Frail(), Frail()]
    async with running(tmp_path) as live, contextlib.AsyncExitStack() as stack:
        ports = free_ports(2)
        for port, endpoint in zip(ports, endpoints, strict=True):
            await stack.enter_async_context(
                await asyncio.start_server(endpoint.serve, "127.0.0.1", port)
            )
        frail = replace(service("frail", ports[:1], ports[1:]), all_down=AllDown.CLOSED)
        live.services = [frail, live.service("web")]
        live.routes = [prefix("frail", "frail", "/"), prefix("web", "web", "/web")]
        await live.publish(0.5)
        await until_healthy(live)
        yield live, endpoints


async def publish(live: Live, *policies: Policy) -> None:
    live.revision += 1
    declared = replace(fleet(live.services, live.routes, live.listener), policies=policies)
    await live.plane.apply(live.plane.render(snapshot(declared, live.revision)))


async def sent(live: Live, seconds: float, path: str = "/") -> Counter[int]:
    """Answers by status of some 200 requests per second."""
    found: Counter[int] = Counter()
    ends_s = time.monotonic() + seconds

    async def worker() -> None:
        while time.monotonic() < ends_s:
            found[(await live.get(path)).status_code] += 1
            await asyncio.sleep(0.01)

    await asyncio.gather(*(worker() for _ in range(4)))
    return found


async def test_endpoints_that_fail_too_often_rest_and_come_back(
    site: tuple[Live, list[Frail]], record_property: Callable[[str, object], None]
) -> None:
    live, endpoints = site
    assert set(await sent(live, 0.7)) == {200, 500}
    await publish(live, REST)
    async with asyncio.timeout(20):
        while set(await sent(live, 0.05)) != {503}:
            pass
    began_s = time.monotonic()
    answer = await live.get()
    assert (answer.status_code, answer.text) == (httpx.codes.SERVICE_UNAVAILABLE, UNHEALTHY)
    for endpoint in endpoints:
        endpoint.well = True
    before = [endpoint.asked for endpoint in endpoints]
    assert set(await sent(live, 0.2)) == {503}
    assert [endpoint.asked for endpoint in endpoints] == before
    assert set(await sent(live, 0.1, "/web")) == {200}
    async with asyncio.timeout(20):
        while set(await sent(live, 0.05)) != {200}:
            pass
    record_property("rested_s", round(time.monotonic() - began_s, 2))
    assert set(await sent(live, 0.7)) == {200}
    assert (await live.plane.observe())[0].nacks == 0
