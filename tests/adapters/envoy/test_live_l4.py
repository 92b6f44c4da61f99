"""A real Envoy carries connections and datagrams: by port, by the name in the handshake."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from benchmarks.free_ports import free_ports
from controlplane.domain.routing.route import L4Protocol, L4Route
from controlplane.domain.topology import GatewayGroup
from tests.adapters.envoy.echoes import Echo, Lines, at, listening, served, site
from tests.adapters.envoy.site import GROUP, prefix

ANSWER_S = 15.0


def hello(name: str | None) -> bytes:
    """The first message of a TLS handshake."""
    context = ssl.create_default_context()
    context.check_hostname = False
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    session = context.wrap_bio(incoming, outgoing, server_hostname=name)
    with contextlib.suppress(ssl.SSLWantReadError):
        session.do_handshake()
    return outgoing.read()


async def sent(port: int, data: bytes) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(data)
        async with asyncio.timeout(ANSWER_S):
            return (await reader.read(100)).decode()
    except ConnectionError:
        return ""
    finally:
        writer.close()


class Datagrams(asyncio.DatagramProtocol):
    """Answers each datagram with its text twice."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self._transport.sendto(data * 2, addr)


class Received(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        if not self.answer.done():
            self.answer.set_result(data)


@contextlib.asynccontextmanager
async def datagrams() -> AsyncIterator[int]:
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        Datagrams, local_addr=("127.0.0.1", 0)
    )
    try:
        yield transport.get_extra_info("sockname")[1]
    finally:
        transport.close()


async def datagram(port: int, data: bytes) -> bytes:
    """The answer; asked again like clients of UDP do, because the first may come too early."""
    transport, received = await asyncio.get_running_loop().create_datagram_endpoint(
        Received, remote_addr=("127.0.0.1", port)
    )
    try:
        async with asyncio.timeout(ANSWER_S):
            while not received.answer.done():
                transport.sendto(data)
                await asyncio.wait({received.answer}, timeout=0.2)
        return received.answer.result()
    finally:
        transport.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    http: int
    plain: int
    named: int
    udp: int
    again: int


def routes(ports: Ports) -> tuple[L4Route, ...]:
    names = ("shop.example", "*.shop.example")
    return (
        L4Route(id="db", service="db", port=ports.plain),
        L4Route(id="shop", service="shop", port=ports.named, sni=names),
        L4Route(id="rest", service="rest", port=ports.named),
        L4Route(id="too-late", service="db", port=ports.named, sni=("shop.example",)),
        L4Route(id="clock", service="clock", port=ports.udp, protocol=L4Protocol.UDP),
        L4Route(id="web", service="db", port=ports.http),
        L4Route(id="both", service="web", port=ports.again),
        L4Route(id="lost", service="nobody", port=9),
        L4Route(id="elsewhere", service="db", port=ports.http, gateways=("other",)),
    )


async def test_connections_and_datagrams(tmp_path: Path) -> None:
    names = ("http", "plain", "named", "udp", "again")
    ports = Ports(**dict(zip(names, free_ports(5), strict=True)))
    servers = [Lines(name="db"), Lines(name="shop"), Lines(name="rest"), Echo(name="web")]
    async with listening(*servers), datagrams() as clock:
        declared = site(
            [*(at(one.name, (one.port, "")) for one in servers), at("clock", (clock, ""))],
            gateways=(GatewayGroup(name=GROUP, listen_port=ports.http),),
            routes=(prefix("all", "web", "/"),),
            l4_routes=routes(ports),
        )
        async with served(declared, tmp_path) as plane:
            found = await plane.repair()
            assert sorted((one.code, one.subject) for one in found) == [
                ("route_shadowed", "l4/too-late"),
                ("route_shadowed", "l4/web"),
                ("route_without_service", "l4/lost"),
            ]
            await _carried(ports)
            assert await datagram(ports.udp, b"tick") == b"ticktick"


async def _carried(ports: Ports) -> None:
    assert await sent(ports.plain, b"select") == "db"
    for first, name in {
        hello("shop.example"): "shop",
        hello("a.shop.example"): "shop",
        hello("other.example"): "rest",
        b"no handshake at all": "rest",
    }.items():
        assert await sent(ports.named, first) == name
    # A service may be asked by HTTP and carry connections.
    for port in (ports.again, ports.http):
        answer = await sent(port, b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        assert answer.startswith("HTTP/1.1 200")
