"""Two services of the bots' benchmark: each answers with its name, so many requests at once.

Started by `bots` as a child. A service has a number of places; a request that has one takes a fixed
time, the others wait in order.
"""

import argparse
import asyncio
from collections import deque
from functools import partial
from typing import cast

import uvloop

LOOPBACK = "127.0.0.1"


class Service:
    """Places and who waits for them."""

    def __init__(self, name: str, places: int, takes_s: float) -> None:
        self.name = name
        self._free = places
        self._takes_s = takes_s
        self._waiting: deque[Connection] = deque()

    def come(self, connection: "Connection") -> None:
        """One more request."""
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
        self._failed = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if b"\r\n\r\n" in self._buffer:
            head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
            self._failed = b"x-wrong-password" in head.lower()
            self._service.come(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._service.leave(self)

    def answer(self) -> None:
        """What everybody gets; a login with a wrong password gets 401."""
        if self._transport is not None:
            status = b"401 Unauthorized" if self._failed else b"200 OK"
            name = self._service.name.encode()
            self._transport.write(
                b"HTTP/1.1 %b\r\nx-service: %b\r\ncontent-length: 2\r\n\r\nok" % (status, name)
            )


async def serve(given: argparse.Namespace) -> None:
    """Answer until killed."""
    loop = asyncio.get_running_loop()
    services = (
        Service("shop", given.shop_places, given.takes_s),
        Service("slow", given.slow_places, given.takes_s),
    )
    servers = [
        await loop.create_server(partial(Connection, one), LOOPBACK, port)
        for one, port in zip(services, given.ports, strict=True)
    ]
    await asyncio.gather(*(server.serve_forever() for server in servers))


def main() -> None:
    """The child's program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ports", type=int, nargs=2)
    parser.add_argument("--shop-places", type=int, required=True)
    parser.add_argument("--slow-places", type=int, required=True)
    parser.add_argument("--takes-s", type=float, required=True)
    uvloop.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
