"""The site of the station benchmark: regional servers, and stations that report to them.

Two programs, each a process of its own: `servers PORTS` answers each line, `stations` plays a
morning and tells how it went.
"""

import argparse
import asyncio
import itertools
import json
import random
import time
from collections.abc import Sequence
from typing import cast

import uvloop

LOOPBACK = "127.0.0.1"
GIVE_UP_S = 10.0


class Line(asyncio.Protocol):
    """A regional server's side: one message, one answer."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while b"\n" in self._buffer and self._transport is not None:
            _, _, self._buffer = self._buffer.partition(b"\n")
            self._transport.write(b"ok\n")


class Report(asyncio.Protocol):
    """A station's side: connect, send, read the answer, close."""

    def __init__(self, message: bytes, done: "asyncio.Future[bool]") -> None:
        self._message = message
        self._done = done
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(self._message)

    def data_received(self, data: bytes) -> None:
        if not self._done.done():
            self._done.set_result(data == b"ok\n")
        if self._transport is not None:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._done.done():
            self._done.set_result(False)


async def serve(ports: Sequence[int]) -> None:
    """Answer on all ports until killed."""
    loop = asyncio.get_running_loop()
    servers = [await loop.create_server(Line, LOOPBACK, port, backlog=4_096) for port in ports]
    await asyncio.gather(*(server.serve_forever() for server in servers))


async def report(given: argparse.Namespace) -> None:
    """Play the stations for a time, and tell how it went."""
    rng = random.Random(given.seed)
    stations = list(range(given.stations))
    # Regions peak in turn in the morning: some have several times the stations of others.
    rng.shuffle(stations)
    answered = failed = 0
    slowest_s = 0.0
    ends_s = time.perf_counter() + given.seconds
    numbers = itertools.count()

    async def one_after_another(start: int) -> None:
        nonlocal answered, failed, slowest_s
        at = start
        while time.perf_counter() < ends_s:
            number, station = next(numbers), stations[at % len(stations)]
            at += given.concurrency
            began_s = time.perf_counter()
            fine = await _report(given.port, f"{station},{number},bikes=4\n".encode())
            slowest_s = max(slowest_s, time.perf_counter() - began_s)
            answered, failed = answered + fine, failed + (not fine)

    began_s = time.perf_counter()
    await asyncio.gather(*(one_after_another(start) for start in range(given.concurrency)))
    took_s = time.perf_counter() - began_s
    told = {
        "answered": answered,
        "failed": failed,
        "seconds": took_s,
        "slowest_ms": slowest_s * 1_000,
    }
    print(json.dumps(told), flush=True)


async def _report(port: int, message: bytes) -> bool:
    loop = asyncio.get_running_loop()
    done: asyncio.Future[bool] = loop.create_future()
    try:
        async with asyncio.timeout(GIVE_UP_S):
            await loop.create_connection(lambda: Report(message, done), LOOPBACK, port)
            return await done
    except (OSError, TimeoutError):
        return False


def main() -> None:
    """One of the two programs."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    servers = commands.add_parser("servers")
    servers.add_argument("ports", type=int, nargs="+")
    stations = commands.add_parser("stations")
    stations.add_argument("--port", type=int, required=True)
    stations.add_argument("--stations", type=int, required=True)
    stations.add_argument("--concurrency", type=int, default=64)
    stations.add_argument("--seconds", type=float, default=10.0)
    stations.add_argument("--seed", type=int, default=2014)
    given = parser.parse_args()
    uvloop.run(serve(given.ports) if given.command == "servers" else report(given))


if __name__ == "__main__":
    main()
