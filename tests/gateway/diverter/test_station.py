"""Stations and regional servers with real sockets: where messages go, and that none is lost."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace

import pytest

from controlplane.domain.admission.regional_overflow.policy import (
    Framing,
    RegionalOverflowPolicy,
    StationGroup,
)
from controlplane.domain.services import HealthCheck, LoadBalancing, RetryPolicy
from controlplane.domain.snapshot import CenterEndpoints, ServiceEndpoints
from gateway.diverter import station
from gateway.diverter.servers import Servers
from gateway.diverter.station import Counts, Post, Station

POLICY = RegionalOverflowPolicy(
    connection_limit=10,
    reply_s=0.3,
    framing=Framing(most_bytes=1_000),
    stations=(
        StationGroup(region="north", first=1, last=500),
        StationGroup(region="south", first=501, last=999),
    ),
)


@dataclass(slots=True)
class Regional:
    """A regional server: answers each line, or does what a test wants."""

    received: list[bytes] = field(default_factory=list)
    silent: bool = False
    hangs_up: bool = False
    answers: bool = True
    server: asyncio.Server | None = None
    serving: set[asyncio.Task[None]] = field(default_factory=set)

    async def start(self) -> int:
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return int(self.server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        assert self.server is not None
        self.server.close()
        for task in self.serving:
            task.cancel()
        await asyncio.gather(*self.serving, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.serving.add(task)
        try:
            await self._lines(reader, writer)
        finally:
            writer.close()

    async def _lines(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while line := await reader.readline():
                if self.silent:
                    await reader.read()
                    break
                if self.hangs_up:
                    break
                self.received.append(line)
                if self.answers:
                    writer.write(b"ok " + line)
                    await writer.drain()


@dataclass(slots=True)
class Site:
    north: Regional
    south: Regional
    servers: Servers
    counts: Counts
    ports: dict[str, int]
    port: int = 0

    def adopt(self, policy: RegionalOverflowPolicy) -> None:
        self.servers.policy = policy

    def made(self) -> Station:
        return Station(Post.of("stations", self.servers, self.counts))

    async def ask(self, message: bytes, *, close: bool = True) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(message)
        if close:
            writer.write_eof()
        try:
            return await asyncio.wait_for(reader.read(), 5.0) if close else await reader.readline()
        except ConnectionError:
            return b""
        finally:
            writer.close()


def endpoints(ports: dict[str, int]) -> ServiceEndpoints:
    return ServiceEndpoints(
        service="stations",
        load_balancing=LoadBalancing.ROUND_ROBIN,
        health_check=HealthCheck(),
        retry=RetryPolicy(),
        timeout_ms=1_000,
        centers=tuple(
            CenterEndpoints(
                datacenter=f"dc-{region}", region=region, addresses=(("127.0.0.1", port),)
            )
            for region, port in ports.items()
        ),
    )


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    north, south = Regional(), Regional()
    ports = {"north": await north.start(), "south": await south.start()}
    loop = asyncio.get_running_loop()
    servers = Servers(loop.time)
    servers.policy = POLICY
    servers.take(endpoints(ports))
    made = Site(north, south, servers, Counts(), ports)
    door = await loop.create_server(made.made, "127.0.0.1", 0)
    made.port = int(door.sockets[0].getsockname()[1])
    yield made
    door.close()
    await north.stop()
    await south.stop()
    # Ends of connections that are on their way.
    await asyncio.sleep(0.01)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(5.0):
        while not holds():
            await asyncio.sleep(0.005)


async def test_a_message_goes_to_the_server_of_its_region_and_the_answer_back(site: Site) -> None:
    assert await site.ask(b"7,bikes=4\n") == b"ok 7,bikes=4\n"
    assert await site.ask(b"700,bikes=1\n") == b"ok 700,bikes=1\n"
    assert (site.north.received, site.south.received) == ([b"7,bikes=4\n"], [b"700,bikes=1\n"])
    assert site.counts.served == {("north", "dc-north"): 1, ("south", "dc-south"): 1}
    assert [one.connections for one in site.servers.by_center.values()] == [0, 0]


async def test_a_connection_is_held_for_further_messages(site: Site) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    for number in range(3):
        writer.write(f"7,bikes={number}\n".encode())
        assert await reader.readline() == f"ok 7,bikes={number}\n".encode()
    assert site.servers.by_center["dc-north"].connections == 1
    writer.close()
    await until(lambda: site.servers.by_center["dc-north"].connections == 0)
    assert len(site.north.received) == 3


async def test_a_station_that_leaves_at_once_is_heard(site: Site) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", site.port)
    writer.write(b"7,bikes=4\n")
    writer.close()
    await until(lambda: site.north.received == [b"7,bikes=4\n"])
    await until(lambda: site.servers.by_center["dc-north"].connections == 0)


async def stopped(server: Regional) -> None:
    assert server.server is not None
    server.server.close()


async def silenced(server: Regional) -> None:
    server.silent = True


async def hanging_up(server: Regional) -> None:
    server.hangs_up = True


@pytest.mark.parametrize("fault", [stopped, silenced, hanging_up])
async def test_what_a_dead_server_did_not_answer_goes_to_another(
    site: Site, fault: Callable[[Regional], Awaitable[None]]
) -> None:
    await fault(site.north)
    for number in range(4):
        assert await site.ask(f"{number + 1},x\n".encode()) == f"ok {number + 1},x\n".encode()
    assert len(site.south.received) == 4
    assert not site.servers.by_center["dc-north"].alive


async def test_a_server_that_came_back_is_found_by_one_message(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.north.hangs_up = True
    for _ in range(2):
        await site.ask(b"7,x\n")
    site.north.hangs_up = False
    assert not site.servers.by_center["dc-north"].alive
    monkeypatch.setattr(site.servers.by_center["dc-north"], "pause_s", 0.0)
    assert await site.ask(b"7,y\n") == b"ok 7,y\n"
    assert site.north.received == [b"7,y\n"]
    assert site.servers.by_center["dc-north"].alive


async def test_with_nobody_alive_a_connection_is_ended_and_counted(site: Site) -> None:
    await stopped(site.north)
    await stopped(site.south)
    assert await site.ask(b"7,x\n") == b""
    assert site.counts.dropped == {"no_server": 1}


async def test_a_full_region_goes_to_the_least_loaded(site: Site) -> None:
    site.servers.by_center["dc-north"].connections = 9
    assert await site.ask(b"7,x\n") == b"ok 7,x\n"
    assert site.south.received == [b"7,x\n"]


@pytest.mark.parametrize(
    ("message", "reason"),
    [(b"x" * 1_100, "illegal"), (b"1000,x\n", "unknown_station"), (b",x\n", "unknown_station")],
)
async def test_illegal_messages_are_dropped(site: Site, message: bytes, reason: str) -> None:
    assert await site.ask(message) == b""
    assert site.counts.dropped == {reason: 1}
    assert not site.north.received


async def test_who_says_nothing_is_ended(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(station, "SILENT_S", 0.05)
    assert await site.ask(b"7,x", close=False) == b""
    assert site.counts.dropped == {"silent": 1}


async def test_who_only_looks_whether_somebody_is_here_drops_nothing(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(station, "SILENT_S", 0.05)
    _, writer = await asyncio.open_connection("127.0.0.1", site.port)
    writer.close()
    await asyncio.sleep(0.1)
    assert not site.counts.dropped


async def test_all_that_comes_while_a_server_is_sought_reaches_it(site: Site) -> None:
    """A station that was cut off tells all at once; a server is found only then."""
    site.adopt(replace(POLICY, replies=False))
    site.north.answers = False
    sought = site.made()
    lines = [b"7,%d,%s\n" % (number, b"x" * 600) for number in range(5)]
    server, client = socket.socketpair()
    transport, _ = await asyncio.get_running_loop().connect_accepted_socket(lambda: sought, server)
    for line in lines:
        # As it comes in parts: no server has been found before the last one.
        sought.data_received(line)
    await until(lambda: site.north.received == lines)
    assert site.counts.served == {("north", "dc-north"): 1}
    client.close()
    transport.close()


async def test_half_a_message_goes_nowhere(site: Site) -> None:
    assert await site.ask(b"7,x") == b""
    assert not site.counts.served


async def test_where_servers_do_not_answer_their_silence_is_no_fault(site: Site) -> None:
    site.adopt(replace(POLICY, replies=False))
    site.north.answers = False
    assert await site.ask(b"7,x\n") == b""
    await until(lambda: site.north.received == [b"7,x\n"])
    assert site.counts.resent == 0
    assert site.servers.by_center["dc-north"].alive


async def test_a_station_may_be_told_where_to_connect(site: Site) -> None:
    site.adopt(replace(POLICY, redirect="MOVED {address}:{port}\n"))
    assert await site.ask(b"7,x\n") == f"MOVED 127.0.0.1:{site.ports['north']}\n".encode()
    assert not site.north.received


async def test_large_answers_and_slow_readers_are_held_back(site: Site) -> None:
    site.adopt(replace(POLICY, framing=Framing(most_bytes=1 << 24)))
    message = b"7," + b"x" * 60_000 + b"\n"
    assert await site.ask(message) == b"ok " + message
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    for _ in range(100):
        writer.write(message)
    await asyncio.sleep(0.05)
    for _ in range(100):
        assert len(await reader.readline()) == len(message) + 3
    writer.close()


async def test_endpoints_that_change_keep_what_is_known(site: Site) -> None:
    server = site.servers.by_center["dc-north"]
    server.connections = 3
    site.servers.take(endpoints({**site.ports, "west": 9}))
    assert site.servers.by_center["dc-north"] is server
    moved = endpoints({"north": site.ports["south"]})
    site.servers.take(moved)
    assert site.servers.by_center == {"dc-north": server}
    assert server.connections == 3
    assert server.addresses == (("127.0.0.1", site.ports["south"]),)
    out = replace(moved.centers[0], out=moved.centers[0].addresses)
    site.servers.take(replace(moved, centers=(out, replace(out, cluster="b", out=()))))
    assert len(server.addresses) == 1


async def test_a_tick_moves_a_share_of_a_region_whose_pool_is_full(site: Site) -> None:
    site.servers.policy = replace(POLICY, alpha=0.1)
    assert site.servers.told("dc-north", 1.0)
    assert not site.servers.told("dc-west", 1.0)
    site.servers.tick()
    assert 0.0 < site.servers.away["north"] < 0.3
    assert site.servers.loads()["dc-north"] == pytest.approx(0.9)
    site.servers.told("dc-north", 0.0)
    site.servers.tick()
    assert site.servers.away["north"] == 0.0
