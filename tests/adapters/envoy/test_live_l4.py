"""A real Envoy carries connections and datagrams: by port, by the name in the handshake."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

from benchmarks.live_envoy import free_ports
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


async def test_connections_and_datagrams(tmp_path: Path) -> None:
    base, shop, rest = Lines(name="db"), Lines(name="shop"), Lines(name="rest")
    http, plain, named, udp, again = free_ports(5)
    web = Echo(name="web")
    routes = (
        L4Route(id="db", service="db", port=plain),
        L4Route(id="shop", service="shop", port=named, sni=("shop.example", "*.shop.example")),
        L4Route(id="rest", service="rest", port=named),
        L4Route(id="too-late", service="db", port=named, sni=("shop.example",)),
        L4Route(id="clock", service="clock", port=udp, protocol=L4Protocol.UDP),
        L4Route(id="web", service="db", port=http),
        L4Route(id="both", service="web", port=again),
        L4Route(id="lost", service="nobody", port=9),
        L4Route(id="elsewhere", service="db", port=http, gateways=("other",)),
    )
    async with listening(base, shop, rest, web), datagrams() as clock:
        services = [
            at(name, (port, ""))
            for name, port in (
                ("db", base.port),
                ("shop", shop.port),
                ("rest", rest.port),
                ("clock", clock),
                ("web", web.port),
            )
        ]
        declared = site(
            services,
            gateways=(GatewayGroup(name=GROUP, listen_port=http),),
            routes=(prefix("all", "web", "/"),),
            l4_routes=routes,
        )
        async with served(declared, tmp_path) as plane:
            found = await plane.repair()
            assert sorted((one.code, one.subject) for one in found) == [
                ("route_shadowed", "l4/too-late"),
                ("route_shadowed", "l4/web"),
                ("route_without_service", "l4/lost"),
            ]
            assert await sent(plain, b"select") == "db"
            assert base.got[-1] == b"select"
            assert await sent(named, hello("shop.example")) == "shop"
            assert await sent(named, hello("a.shop.example")) == "shop"
            assert await sent(named, hello("other.example")) == "rest"
            assert await sent(named, b"no handshake at all") == "rest"
            # A service may be asked by HTTP and carry connections.
            assert (await sent(again, b"GET /l4 HTTP/1.1\r\n\r\n")).startswith("HTTP/1.1 200")
            assert (await sent(http, b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")).startswith(
                "HTTP/1.1 200"
            )
            assert await datagram(udp, b"tick") == b"ticktick"
