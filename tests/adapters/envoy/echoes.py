"""Servers in the test's own loop that tell what reached them, and an Envoy in front of them."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.free_ports import free_ports
from benchmarks.live_envoy import envoy, ready, stats
from controlplane.adapters.envoy.bootstrap import BootstrapOptions, render
from controlplane.adapters.envoy.plane import EnvoyPlane
from controlplane.domain.fleet_snapshot import build
from controlplane.domain.services import Cluster, Endpoint, HealthCheck, RetryPolicy, Service
from controlplane.domain.topology import Datacenter, Fleet, Role
from tests.adapters.envoy.site import GROUP, plane

CENTER = "east"
# The servers share the test's loop, so on a busy machine they answer late.
PATIENT = HealthCheck(interval_ms=500, timeout_ms=5_000, healthy_threshold=1)
PATIENT_RETRY = RetryPolicy(per_try_timeout_ms=5_000)


@dataclass(slots=True, kw_only=True)
class Echo:
    """An HTTP server that answers with what it was sent; `x-wait-ms` in a request delays it."""

    name: str
    port: int = 0
    running: int = 0
    most: int = 0
    seen: list[str] = field(default_factory=list)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                first, *lines = head.rstrip().split("\r\n")
                headers = {
                    name.lower(): value.strip()
                    for name, _, value in (line.partition(":") for line in lines)
                }
                await reader.readexactly(int(headers.get("content-length", "0")))
                await self._tell(writer, first, headers)
        writer.close()

    async def _tell(
        self, writer: asyncio.StreamWriter, first: str, headers: dict[str, str]
    ) -> None:
        method, path, _ = first.split(" ")
        if path != "/healthz":
            self.seen.append(path)
            self.running += 1
            self.most = max(self.most, self.running)
            await asyncio.sleep(int(headers.get("x-wait-ms", "0")) / 1_000)
            self.running -= 1
        status = headers.get("x-status", "200")
        told = {"name": self.name, "method": method, "path": path, "headers": headers}
        body = json.dumps(told).encode()
        writer.write(
            f"HTTP/1.1 {status} X\r\nx-secret: 1\r\ncontent-length: {len(body)}\r\n\r\n".encode()
        )
        writer.write(body)
        await writer.drain()


@dataclass(slots=True, kw_only=True)
class Lines:
    """A server of connections and datagrams that answers whatever comes with its name."""

    name: str
    port: int = 0
    got: list[bytes] = field(default_factory=list)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            if data := await reader.read(65_536):
                self.got.append(data)
                writer.write(self.name.encode())
                await writer.drain()
        writer.close()


@contextlib.asynccontextmanager
async def listening(*servers: Echo | Lines) -> AsyncIterator[None]:
    """The servers on free ports of loopback; what they still do ends with the context."""
    tasks: set[asyncio.Task[None]] = set()
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(_ended, tasks)
        for one in servers:
            server = await asyncio.start_server(_tracked(one, tasks), "127.0.0.1", 0)
            stack.callback(server.close)
            one.port = server.sockets[0].getsockname()[1]
        yield


Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def _tracked(one: Echo | Lines, tasks: set[asyncio.Task[None]]) -> Answer:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(one.answer(reader, writer))
        tasks.add(task)
        try:
            await asyncio.wait({task})
        finally:
            writer.close()

    return answer


async def _ended(tasks: set[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    # Their connections close in the turns of the loop that follow.
    for _ in range(3):
        await asyncio.sleep(0)


def at(service: str, *endpoints: tuple[int, str], retry: RetryPolicy = PATIENT_RETRY) -> Service:
    """A service with endpoints of one data centre: port and version."""
    found = tuple(
        Endpoint(address="127.0.0.1", port=port, version=version) for port, version in endpoints
    )
    cluster = Cluster(datacenter=CENTER, capacity_rps=100.0, endpoints=found)
    return Service(name=service, clusters=(cluster,), health_check=PATIENT, retry=retry)


def site(services: Sequence[Service], **sections: object) -> Fleet:
    """A fleet of one data centre."""
    center = Datacenter(name=CENTER, role=Role.PRIMARY, region="r1")
    return Fleet(datacenters=(center,), services=tuple(services), **sections)  # type: ignore[arg-type]


async def publish(one: EnvoyPlane, declared: Fleet, revision: int) -> None:
    shares = {service.name: {CENTER: 1.0} for service in declared.services}
    await one.apply(one.render(replace(build(declared, shares), revision=revision)))


@contextlib.asynccontextmanager
async def served(declared: Fleet, folder: Path, group: str = GROUP) -> AsyncIterator[EnvoyPlane]:
    """An Envoy of a group with this fleet, when its endpoints have passed their checks."""
    (admin,) = free_ports(1)
    one = plane()
    await publish(one, declared, 1)
    try:
        options = BootstrapOptions(
            node="edge-1",
            group=group,
            control_plane=("127.0.0.1", await one.start()),
            agent=None,
            admin=("127.0.0.1", admin),
        )
        async with envoy(render(options), folder):
            await ready(admin)
            await _healthy(admin)
            yield one
    finally:
        await one.stop()


async def _healthy(admin: int) -> None:
    """Wait for the first checks."""
    pattern = r"^cluster\.[^_].*\.membership_(healthy|total)$"
    async with asyncio.timeout(60):
        while True:
            found = await stats(admin, pattern)
            total = sum(count for name, count in found.items() if name.endswith("total"))
            if total and 2 * total == sum(found.values()):
                return
            await asyncio.sleep(0.05)
