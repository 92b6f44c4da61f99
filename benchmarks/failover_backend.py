"""Back ends of one service in one data centre, as a process that can be told to misbehave.

Started by `benchmarks.failover_site` as a child; no benchmark of its own. `lossy` drops packets by
a filter on the sockets, for machines on which nobody may set rules of the network.
"""

import asyncio
import ctypes
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from multiprocessing.connection import Connection

SLOW_S = 2.0
HEALTH = b"GET /healthz "
# Of linux/filter.h: load a random number, compare, return.
LOAD_RANDOM, JUMP_IF_GREATER, RETURN = 0x20, 0x25, 0x06
RANDOM_OFFSET = 0xFFFFF038
ATTACH_FILTER, DETACH_FILTER = 26, 27
LOST_PCT = 80


class Behavior(StrEnum):
    """How requests are answered. Those `behind` answer checks as if nothing were wrong."""

    WELL = "well"
    SLOW = "slow"
    SLOW_BEHIND = "slow-behind"
    ERRORS = "errors"
    ERRORS_BEHIND = "errors-behind"
    LOSSY = "lossy"


@dataclass(slots=True, kw_only=True)
class Backends:
    """All endpoints of the process; they behave alike."""

    body: bytes
    behavior: Behavior = Behavior.WELL
    sockets: set[socket.socket] = field(default_factory=set)

    def become(self, behavior: Behavior) -> None:
        """Behave like this from now on."""
        self.behavior = behavior
        for one in self.sockets:
            _lose(one, LOST_PCT if behavior is Behavior.LOSSY else 0)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer on one connection until it ends."""
        own = _plain(writer.get_extra_info("socket"))
        self.sockets.add(own)
        try:
            while request := await reader.readuntil(b"\r\n\r\n"):
                writer.write(await self._answer(request))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()
        finally:
            self.sockets.discard(own)

    async def _answer(self, request: bytes) -> bytes:
        behavior = self.behavior
        behind = behavior in (Behavior.SLOW_BEHIND, Behavior.ERRORS_BEHIND)
        if behind and request.startswith(HEALTH):
            behavior = Behavior.WELL
        if behavior in (Behavior.SLOW, Behavior.SLOW_BEHIND):
            await asyncio.sleep(SLOW_S)
        status = b"200 OK"
        if behavior in (Behavior.ERRORS, Behavior.ERRORS_BEHIND):
            status = b"500 Internal Server Error"
        head = b"HTTP/1.1 %s\r\ncontent-length: %d\r\n\r\n" % (status, len(self.body))
        return head + self.body


async def serve(name: str, ports: Sequence[int], orders: Connection) -> None:
    """Answer on loopback with the name; do as is told, and say so."""
    backends = Backends(body=name.encode())
    for port in ports:
        server = await asyncio.start_server(backends.answer, "127.0.0.1", port)
        # Connections inherit a filter that stands when they are made.
        backends.sockets.update(map(_plain, server.sockets))
    asyncio.get_running_loop().add_reader(orders.fileno(), _obey, backends, orders)
    orders.send("ready")
    await asyncio.Event().wait()


def run(name: str, ports: Sequence[int], orders: Connection) -> None:
    """Serve in this process until it is killed."""
    asyncio.run(serve(name, ports, orders))


def _obey(backends: Backends, orders: Connection) -> None:
    backends.become(Behavior(orders.recv()))
    orders.send("done")


def _plain(one: object) -> socket.socket:
    """The socket in asyncio's wrapper, which takes no filter."""
    found: socket.socket = one._sock  # type: ignore[attr-defined]
    return found


def _lose(one: socket.socket, percent: int) -> None:
    """Drop a part of the packets that a socket gets, before the kernel acknowledges them."""
    if percent == 0:
        try:
            one.setsockopt(socket.SOL_SOCKET, DETACH_FILTER, 0)
        except FileNotFoundError:
            return
        return
    program = b"".join(
        (
            struct.pack("HBBI", LOAD_RANDOM, 0, 0, RANDOM_OFFSET),
            struct.pack("HBBI", JUMP_IF_GREATER, 1, 0, 0xFFFFFFFF * percent // 100),
            struct.pack("HBBI", RETURN, 0, 0, 0),
            struct.pack("HBBI", RETURN, 0, 0, 0xFFFFFFFF),
        )
    )
    kept = ctypes.create_string_buffer(program)
    pointer = struct.pack("HP", 4, ctypes.addressof(kept))
    one.setsockopt(socket.SOL_SOCKET, ATTACH_FILTER, pointer)
