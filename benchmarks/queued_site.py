"""Services that answer so many requests at once, each with its name; the others wait in order.

Started by benchmarks as a child. `/control?takes=0.04&fail=1` of a service changes how long a
request takes, in seconds, and whether everything is answered 503; it tells how many have come.
"""

import argparse
import asyncio
from collections import deque
from functools import partial
from typing import cast
from urllib.parse import parse_qs

import uvloop

LOOPBACK = "127.0.0.1"
CONTROL = b"GET /control?"


class Service:
    """Places and who waits for them."""

    def __init__(self, name: str, places: int, takes_s: float) -> None:
        self.name = name
        self.fails = False
        self.came = 0
        self._free = places
        self._takes_s = takes_s
        self._waiting: deque[Connection] = deque()

    def control(self, query: str) -> None:
        """What a benchmark wants from now on."""
        wanted = parse_qs(query)
        self._takes_s = float(wanted.get("takes", [str(self._takes_s)])[0])
        self.fails = wanted.get("fail", [str(int(self.fails))])[0] == "1"

    def come(self, connection: "Connection") -> None:
        """One more request."""
        self.came += 1
        self._waiting.append(connection)
        self._serve()

    def leave(self, connection: "Connection") -> None:
        """Who has gone does not wait any more."""
        if connection in self._waiting:
            self._waiting.remove(connection)

    def _serve(self) -> None:
        while self._free and self._waiting:
            self._free -= 1
            loop = asyncio.get_running_loop()
            loop.call_later(self._takes_s, self._done, self._waiting.popleft())

    def _done(self, connection: "Connection") -> None:
        self._free += 1
        connection.answer()
        self._serve()


class Connection(asyncio.Protocol):
    """One connection of the proxy, one request at a time; its bodies are empty."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._transport: asyncio.Transport | None = None
        self._buffer = b""
        self._status = b"200 OK"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if b"\r\n\r\n" not in self._buffer:
            return
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        if head.startswith(CONTROL):
            self._service.control(head[len(CONTROL) :].split(b" ")[0].decode())
            self._status = b"200 OK"
            self.answer()
            return
        wrong = b"x-wrong-password" in head.lower()
        self._status = b"401 Unauthorized" if wrong else b"200 OK"
        self._service.come(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._service.leave(self)

    def answer(self) -> None:
        """What everybody gets."""
        if self._transport is None:
            return
        status = b"503 Service Unavailable" if self._service.fails else self._status
        body = str(self._service.came).encode()
        self._transport.write(
            b"HTTP/1.1 %b\r\nx-service: %b\r\ncontent-length: %d\r\n\r\n%b"
            % (status, self._service.name.encode(), len(body), body)
        )


async def serve(given: argparse.Namespace) -> None:
    """Answer until killed."""
    loop = asyncio.get_running_loop()
    servers = []
    for text in given.services:
        name, port, places = text.split(":")
        made = partial(Connection, Service(name, int(places), given.takes_s))
        servers.append(await loop.create_server(made, LOOPBACK, int(port), backlog=1_024))
    await asyncio.gather(*(server.serve_forever() for server in servers))


def main() -> None:
    """The child's program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("services", nargs="+", metavar="NAME:PORT:PLACES")
    parser.add_argument("--takes-s", type=float, required=True)
    uvloop.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
