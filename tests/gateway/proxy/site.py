"""A proxy on loopback in front of an upstream that records every byte it gets."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from controlplane.domain.admission.asking import Asked
from controlplane.domain.routing.route import (
    Condition,
    FixedResponse,
    PathMatch,
    Rewrite,
    Route,
)
from controlplane.domain.services import (
    Cluster,
    Endpoint,
    HealthCheck,
    LoadBalancing,
    RetryPolicy,
    Service,
)
from controlplane.domain.topology import Datacenter, Fleet, GatewayGroup, Role
from gateway.admission.enforcing import ADMITTED_RULING, Ruling
from gateway.application.session import Session
from gateway.proxy.forwarding import FAILURES
from gateway.proxy.options import ProxyOptions
from gateway.proxy.proxy import Proxy
from tests.gateway.fleet import GROUP, keep, options

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
ROUTES = (
    Route(id="app", service="app"),
    Route(
        id="vip", service="app", conditions=(Condition(name="x-level", value="vip"),), priority=1
    ),
    Route(
        id="barred",
        conditions=(Condition(name="x-level", value="barred"),),
        priority=1,
        response=FixedResponse(status=410, body="not for you\n"),
    ),
    Route(
        id="old",
        service="app",
        path=PathMatch(value="/old"),
        rewrite=Rewrite(prefix="/new", host="inner.example"),
    ),
)


@dataclass(slots=True)
class Upstream:
    """What it got, connection by connection, and what it says.

    Attributes:
        answer: bytes for each whole request; a coroutine may take its time.
        gone: connections that the other side has ended, while they were answered.
    """

    answer: Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]
    port: int = 0
    connections: list[bytearray] = field(default_factory=list)
    gone: int = 0
    open: int = 0

    @property
    def bytes(self) -> bytes:
        return b"".join(bytes(each) for each in self.connections)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got = bytearray()
        self.connections.append(got)
        self.open += 1
        try:
            while await self._request(reader, writer, got):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            self.gone += 1
        finally:
            self.open -= 1
            writer.close()

    async def _request(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, got: bytearray
    ) -> bool:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as error:
            got += error.partial
            return False
        got += head
        body = b""
        if b"transfer-encoding: chunked" in head.lower():
            while True:
                line = await self._read(reader.readuntil(b"\r\n"), got)
                size = int(line, 16)
                body += (await self._read(reader.readexactly(size + 2), got))[:-2]
                if size == 0:
                    break
        elif (at := head.lower().find(b"content-length:")) >= 0:
            size = int(head[at + 15 :].split(b"\r\n")[0])
            body = await self._read(reader.readexactly(size), got)
        answering = asyncio.ensure_future(self.answer(head + body, writer))
        ended = asyncio.ensure_future(self._ended(reader))
        await asyncio.wait((answering, ended), return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()
        if not answering.done():
            answering.cancel()
            self.gone += 1
            return False
        await answering
        return True

    async def _ended(self, reader: asyncio.StreamReader) -> None:
        while not reader.at_eof():
            await asyncio.sleep(0.005)

    async def _read(self, reading: Awaitable[bytes], got: bytearray) -> bytes:
        try:
            data = await reading
        except asyncio.IncompleteReadError as error:
            got += error.partial
            raise
        got += data
        return data


async def ok(request: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(OK)
    await writer.drain()


async def admit(asked: Asked) -> Ruling:
    return ADMITTED_RULING


def fleet(port: int, attempts: int = 0, timeout_ms: int = 5_000) -> Fleet:
    service = Service(
        name="app",
        timeout_ms=timeout_ms,
        load_balancing=LoadBalancing.ROUND_ROBIN,
        health_check=HealthCheck(interval_ms=1_000, timeout_ms=1_000),
        retry=RetryPolicy(attempts=attempts, per_try_timeout_ms=timeout_ms),
        clusters=(
            Cluster(
                datacenter="east",
                capacity_rps=1_000.0,
                endpoints=(Endpoint(address="127.0.0.1", port=port),),
            ),
        ),
    )
    return Fleet(
        datacenters=(Datacenter(name="east", role=Role.PRIMARY, region="r1"),),
        services=(service,),
        gateways=(GatewayGroup(name=GROUP),),
        routes=ROUTES,
    )


@dataclass(slots=True, kw_only=True)
class Site:
    port: int
    upstream: Upstream
    proxy: Proxy
    session: Session

    async def send(self, raw: bytes, wait_s: float = 5.0) -> bytes:
        """Everything that comes back to some bytes, until the proxy closes or is silent."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(raw)
        got = b""
        with contextlib.suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(wait_s):
                while piece := await reader.read(65_536):
                    got += piece
        writer.close()
        return got

    async def ask(self, raw: bytes) -> bytes:
        """One answer that has a length."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(raw)
        got = await answer(reader)
        writer.close()
        return got


async def answer(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    at = head.lower().find(b"content-length:")
    size = int(head[at + 15 :].split(b"\r\n")[0]) if at >= 0 else 0
    return head + await reader.readexactly(size)


@contextlib.asynccontextmanager
async def site(
    folder: Path,
    answering: Callable[[bytes, asyncio.StreamWriter], Awaitable[None]] = ok,
    declared: Callable[[int], Fleet] = fleet,
    given: ProxyOptions | None = None,
    rule: Callable[[Asked], Awaitable[Ruling]] = admit,
) -> AsyncIterator[Site]:
    upstream = Upstream(answering)
    server = await asyncio.start_server(upstream.serve, "127.0.0.1", 0, limit=1 << 22)
    upstream.port = server.sockets[0].getsockname()[1]
    keep(folder, declared(upstream.port))
    session = Session(options(folder, failures=FAILURES))
    await session.load()
    proxy = Proxy(session, rule, given or ProxyOptions())
    port = await proxy.start("127.0.0.1", 0)
    try:
        yield Site(port=port, upstream=upstream, proxy=proxy, session=session)
    finally:
        await proxy.stop()
        server.close()
