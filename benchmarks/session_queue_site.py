"""A small site for the session queue's benchmark: the more it has to do, the slower it does it.

Started by `session_queue_parts` as a child of its own. Its processor is shared. With n requests in
progress and m sessions begun and not ended, each of the n takes

    S / speed * (1 + (n / KNEE) ** SLOWING) * (1 + m / ROOM)

seconds. S is the time of a request alone; ROOM says what the state of a session costs that the
site has to keep until it ends, infinity is nothing. A request's path is `/s/SESSION/STEP`, or
`/done` with the session in a header for the last one.
"""

import asyncio
import heapq
import json
import math
import sys
import time
from dataclasses import dataclass, field

KNEE = 20.0
SLOWING = 1.5
SESSION_HEADER = b"x-session: "
BODY = b"ok"
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b"


@dataclass(slots=True)
class Processor:
    """Shared by all requests in progress; `done` is told when one has been worked off."""

    service_s: float
    room: float
    speed: float = 1.0
    sessions: set[bytes] = field(default_factory=set)
    log: list[tuple[float, float, int]] = field(default_factory=list)
    _work: float = 0.0
    _at_s: float = 0.0
    _queue: list[tuple[float, int, float, "Connection"]] = field(default_factory=list)
    _number: int = 0
    _timer: asyncio.TimerHandle | None = None

    def take(self, connection: "Connection") -> None:
        """Begin a request."""
        now_s = self._advance()
        self._number += 1
        heapq.heappush(self._queue, (self._work + 1.0, self._number, now_s, connection))
        self._plan()

    def reset(self, speed: float) -> None:
        """Another speed from now on, and a new log."""
        self._advance()
        self.speed = speed
        self._plan()

    def _rate(self) -> float:
        slower = 1.0 + math.pow(len(self._queue) / KNEE, SLOWING)
        return self.speed / (self.service_s * slower * (1.0 + len(self.sessions) / self.room))

    def _advance(self) -> float:
        now_s = time.monotonic()
        self._work += (now_s - self._at_s) * self._rate()
        self._at_s = now_s
        return now_s

    def _plan(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._queue:
            wait_s = max(0.0, (self._queue[0][0] - self._work) / self._rate())
            self._timer = asyncio.get_running_loop().call_later(wait_s, self._due)

    def _due(self) -> None:
        now_s = self._advance()
        # The timer may be a moment early.
        while self._queue and self._queue[0][0] <= self._work + 1e-6:
            _, _, began_s, connection = heapq.heappop(self._queue)
            self.log.append((now_s, now_s - began_s, len(self._queue) + 1))
            connection.answered()
        self._plan()


class Connection(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self, processor: Processor) -> None:
        self._processor = processor
        self._transport: asyncio.Transport | None = None
        self._got = b""
        self._ends = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._got += data
        if b"\r\n\r\n" in self._got:
            head, _, self._got = self._got.partition(b"\r\n\r\n")
            self._request(head)

    def answered(self) -> None:
        """The request has been worked off."""
        self._processor.sessions.discard(self._ends)
        self._say(BODY)

    def _request(self, head: bytes) -> None:
        path = head.split(b" ", 2)[1]
        if path.startswith(b"/speed/"):
            self._processor.reset(float(path[7:]))
            self._say(BODY)
        elif path == b"/log":
            told, self._processor.log = self._processor.log, []
            self._say(json.dumps(told).encode())
        else:
            session = head.lower().partition(SESSION_HEADER)[2].partition(b"\r\n")[0]
            self._processor.sessions.add(session)
            self._ends = session if path == b"/done" else b""
            self._processor.take(self)

    def _say(self, body: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(ANSWER % (len(body), body))


async def serve(service_s: float, room: float) -> None:
    """Answer on a free port of loopback until the process is killed; the port is printed."""
    processor = Processor(service_s=service_s, room=room)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(processor), "127.0.0.1", 0, backlog=1_024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()


def run() -> None:
    """Serve as the command line says: SERVICE_S ROOM."""
    asyncio.run(serve(float(sys.argv[1]), float(sys.argv[2])))
