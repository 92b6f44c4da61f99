"""A small HTTP/1.1 server for answers that are ready: an `asyncio.Protocol` over httptools.

For what must be answered tens of thousands of times a second (server time, flash sales) on a port
of its own. Forwards nothing. Bounded: sizes of head and body, requests that wait on a connection,
connections, and the time that a request may take to come in.
"""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import cast

import httptools
import structlog

log = structlog.get_logger()

Header = tuple[bytes, bytes]


@dataclass(slots=True)
class Call:
    """One request; names of headers are as they came."""

    method: bytes
    target: bytes
    headers: list[Header]
    body: bytes

    def header(self, name: bytes) -> bytes:
        """The first header of a name in lower case; b"" is absent."""
        for key, value in self.headers:
            if key.lower() == name:
                return value
        return b""


# A whole answer in bytes, or one that is still to come.
Answering = Callable[[Call], bytes | Awaitable[bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a client may ask of this server.

    Attributes:
        head, body: bytes of a request.
        waiting: requests of one connection that wait for the one before them.
        connections: at once; more are closed as they come.
        idle_s: a connection that sends nothing whole for so long is closed.
    """

    head: int = 16_384
    body: int = 16_384
    waiting: int = 16
    connections: int = 20_000
    idle_s: float = 30.0


def wire(status: int, body: bytes, headers: tuple[Header, ...] = ()) -> bytes:
    """A whole answer as it goes over the wire."""
    lines = [b"HTTP/1.1 %d %s" % (status, HTTPStatus(status).phrase.encode())]
    lines += [b"%s: %s" % header for header in headers]
    lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


BAD_REQUEST = wire(400, b"", ((b"Connection", b"close"),))
TOO_LARGE = wire(413, b"", ((b"Connection", b"close"),))
EXPECT, CONTINUE = b"expect", b"HTTP/1.1 100 Continue\r\n\r\n"
FAILED = wire(500, b"", ((b"Connection", b"close"),))


def _fitting(call: Call, answer: bytes) -> bytes:
    if call.method != b"HEAD":
        return answer
    # What comes behind the head would be taken for the next answer of the connection.
    return answer.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"


class DirectServer:
    """Listens on one address; `answer` gives every answer."""

    def __init__(self, answer: Answering, limits: Limits | None = None) -> None:
        self.answer = answer
        self.limits = limits or Limits()
        self.connections: set[_Connection] = set()
        self._server: asyncio.Server | None = None
        self._sweeping: asyncio.Task[None] | None = None

    async def start(self, host: str, port: int) -> int:
        """Listen and return the port.

        Raises:
            OSError: the address cannot be had.
        """
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: _Connection(self), host, port, backlog=4_096
        )
        self._sweeping = asyncio.create_task(self._sweep())
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Close the port and every connection."""
        if self._sweeping is not None:
            self._sweeping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._sweeping
        if self._server is not None:
            self._server.close()
        for connection in tuple(self.connections):
            connection.close()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(self.limits.idle_s / 4)
            too_old_s = time.monotonic() - self.limits.idle_s
            for connection in tuple(self.connections):
                if connection.heard_s < too_old_s and not connection.answering:
                    connection.close()


class _Connection(asyncio.Protocol):
    """One client; answers go out in the order of its requests."""

    def __init__(self, server: DirectServer) -> None:
        self._server = server
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._target = b""
        self._headers: list[Header] = []
        self._body = b""
        self._head_size = 0
        self._expects = False
        self._waiting: deque[tuple[Call, bool]] = deque()
        self._task: asyncio.Task[None] | None = None
        self.heard_s = time.monotonic()

    @property
    def answering(self) -> bool:
        """Whether an answer is still to come."""
        return self._task is not None

    def close(self) -> None:
        """End the connection; what was written still goes out."""
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if len(self._server.connections) >= self._server.limits.connections:
            transport.close()
            return
        # uvloop's is one by its methods only.
        self._transport = cast(asyncio.Transport, transport)
        self._server.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.connections.discard(self)
        self._transport = None
        self._waiting.clear()

    def data_received(self, data: bytes) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._end(BAD_REQUEST)

    def pause_writing(self) -> None:
        # A client that does not read gets nothing more to answer.
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        there = self._transport is not None and not self._transport.is_closing()
        if self._transport is not None and there and self._task is None:
            self._transport.resume_reading()

    def on_url(self, part: bytes) -> None:
        self._target += part
        self._grown(len(part))

    def on_headers_complete(self) -> None:
        expects, self._expects = self._expects, False
        # Before an answer that is still to come it would be taken for that one's.
        if expects and self._task is None and self._parser.get_http_version() == "1.1":
            self._write(CONTINUE, keep=True)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name, value))
        if len(name) == len(EXPECT) and name.lower() == EXPECT:
            self._expects = value.lower() == b"100-continue"
        self._grown(len(name) + len(value) + 4)

    def on_body(self, part: bytes) -> None:
        self._body += part
        if len(self._body) > self._server.limits.body:
            self._end(TOO_LARGE)

    def on_message_complete(self) -> None:
        call = Call(self._parser.get_method(), self._target, self._headers, self._body)
        keep = self._parser.should_keep_alive()
        self._target, self._headers, self._body, self._head_size = b"", [], b"", 0
        if self._transport is None or self._transport.is_closing():
            return
        self.heard_s = time.monotonic()
        if self._task is None:
            self._serve(call, keep=keep)
            return
        self._waiting.append((call, keep))
        if len(self._waiting) >= self._server.limits.waiting:
            self._end(BAD_REQUEST)

    def _serve(self, call: Call, *, keep: bool) -> None:
        try:
            answer = self._server.answer(call)
        except Exception:
            # It may be the next in line, after an answer that came later: nobody else hears of it.
            log.exception("direct_http.unexpected")
            self._end(FAILED)
            return
        if isinstance(answer, bytes):
            self._write(_fitting(call, answer), keep=keep)
            return
        self._task = asyncio.ensure_future(self._later(call, answer, keep=keep))
        if self._transport is not None:
            self._transport.pause_reading()

    async def _later(self, call: Call, answer: Awaitable[bytes], *, keep: bool) -> None:
        try:
            self._write(_fitting(call, await answer), keep=keep)
        except Exception:
            # One answer that fails must not leave its client waiting.
            log.exception("direct_http.unexpected")
            self._end(FAILED)
        self._task = None
        while self._waiting and self._task is None:
            following, keep = self._waiting.popleft()
            self._serve(following, keep=keep)
        self.resume_writing()

    def _write(self, answer: bytes, *, keep: bool) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        self._transport.write(answer)
        if not keep:
            self._transport.close()

    def _grown(self, size: int) -> None:
        self._head_size += size
        if self._head_size > self._server.limits.head:
            self._end(TOO_LARGE)

    def _end(self, answer: bytes) -> None:
        self._waiting.clear()
        self._write(answer, keep=False)
