"""Kept-alive HTTP/1.1 connections to Envoy, as lean as the load generator needs them.

Called by the load generator. Sends GETs only, one at a time per connection. Retries nothing: what
fails is the finding.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import httptools

DATACENTER_HEADER = b"x-datacenter"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The end of one request; `failure` is empty for a 2xx answer, else the status or `reset`,
    `timeout`, `refused`.
    """

    lane: int
    phase: int
    sent_s: float
    done_s: float
    datacenter: str = ""
    failure: str = ""

    @property
    def latency_s(self) -> float:
        """Seconds from the planned instant of sending to the end."""
        return self.done_s - self.sent_s


@dataclass(slots=True, kw_only=True, eq=False)
class Request:
    """One request on its way; `sent_s` is the planned instant, so that a late generator does not
    flatter the result.
    """

    lane: int
    phase: int
    sent_s: float
    wire: bytes
    connection: Connection | None = None
    ended: bool = False


class Client:
    """A pool of connections to one address, which grows with the number of requests on their
    way.
    """

    def __init__(self, host: str, port: int, on_end: Callable[[Outcome], None]) -> None:
        self._address = (host, port)
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._idle: list[Connection] = []
        self._connecting: set[asyncio.Task[None]] = set()
        self._all: set[Connection] = set()

    async def warm(self, connections: int) -> None:
        """Open that many connections before the first request; OSError when nothing listens."""
        for _ in range(connections):
            self._idle.append(await self._connect())

    def send(self, request: Request) -> None:
        """Send on an idle connection, or on a new one."""
        if self._idle:
            self._idle.pop().send(request)
            return
        task = self._loop.create_task(self._send_on_new(request))
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)

    def expire(self, request: Request) -> None:
        """Give a request up as timed out; its connection is closed, since an answer may still come
        on it.
        """
        if request.ended:
            return
        connection = request.connection
        self.end(request, "timeout")
        if connection is not None:
            connection.abandon()

    def end(self, request: Request, failure: str, datacenter: str = "") -> None:
        """Report the end of a request, once."""
        if request.ended:
            return
        request.ended = True
        done_s = time.monotonic()  # the loop's own clock stands still during an iteration
        self._on_end(
            Outcome(
                lane=request.lane,
                phase=request.phase,
                sent_s=request.sent_s,
                done_s=done_s,
                datacenter=datacenter,
                failure=failure,
            )
        )

    def release(self, connection: Connection) -> None:
        """Take back a connection that may carry the next request."""
        self._idle.append(connection)

    def forget(self, connection: Connection) -> None:
        """Drop a connection that is gone."""
        self._all.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)

    def close(self) -> None:
        """Close every connection."""
        for connection in list(self._all):
            connection.abandon()

    async def _connect(self) -> Connection:
        _, connection = await self._loop.create_connection(lambda: Connection(self), *self._address)
        self._all.add(connection)
        return connection

    async def _send_on_new(self, request: Request) -> None:
        try:
            connection = await self._connect()
        except OSError:
            self.end(request, "refused")
            return
        if request.ended:
            self.release(connection)
        else:
            connection.send(request)


class Connection(asyncio.Protocol):
    """One connection and the request on it."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._request: Request | None = None
        self._datacenter = ""

    def send(self, request: Request) -> None:
        """Write the request; fails it at once when the connection is gone."""
        if self._transport is None:
            self._client.end(request, "reset")
            return
        self._request, self._datacenter = request, ""
        request.connection = self
        self._transport.write(request.wire)

    def abandon(self) -> None:
        """Close without waiting for an answer."""
        self._request = None
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not asserted: the transports of uvloop are no subclass.
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._client.forget(self)
        if self._request is not None:
            self._client.end(self._request, "reset")

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            if self._transport is not None:
                self._transport.abort()

    def on_header(self, name: bytes, value: bytes) -> None:
        """httptools: one header of the answer."""
        if name == DATACENTER_HEADER:
            self._datacenter = value.decode()

    def on_message_complete(self) -> None:
        """httptools: the answer is whole."""
        request, self._request = self._request, None
        status = self._parser.get_status_code()
        keeps = self._parser.should_keep_alive() and self._transport is not None
        if keeps:
            self._client.release(self)
        elif self._transport is not None:
            self._transport.close()
        if request is not None:
            self._client.end(request, "" if 200 <= status < 300 else str(status), self._datacenter)
