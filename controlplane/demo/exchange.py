"""HTTP/1.1 on the endpoints of a demo data centre: health check, and requests that cost worker
time.

Called by the data centre process, one `Exchange` per connection. Never reads a body to its end
before queueing: the demo sends GETs only. Written on asyncio.Protocol because one process carries
hundreds of requests a second beside everything else on two cores.
"""

from __future__ import annotations

import asyncio
import time
import zlib
from dataclasses import dataclass
from typing import cast

import httptools

from controlplane.demo.pool import Job, WorkerPool

ARRIVAL_HEADER = b"x-arrival"
REQUEST_ID_HEADER = b"x-request-id"
_BODY = b'{"served_by":"%s","lane":"%s"}\n'


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneService:
    """What the connections of one lane share: its pool, the demand of each arrival, the ready-made
    answers.
    """

    pool: WorkerPool
    demands_s: tuple[float, ...]
    ok: bytes
    healthy: bytes
    overloaded: bytes


def lane_service(
    pool: WorkerPool, demands_s: tuple[float, ...], datacenter: str, lane: str
) -> LaneService:
    """Prepare the answers of one lane in one data centre."""
    body = _BODY % (datacenter.encode(), lane.encode())
    return LaneService(
        pool=pool,
        demands_s=demands_s,
        ok=_answer("200 OK", datacenter, body),
        healthy=_answer("200 OK", datacenter, b"ok\n"),
        overloaded=_answer("503 Service Unavailable", datacenter, b"queue full\n"),
    )


class Exchange(asyncio.Protocol):
    """One connection: parses requests, hands their demand to the pool, answers when the worker is
    done.
    """

    def __init__(self, service: LaneService) -> None:
        self._service = service
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._url = b""
        self._arrival: int | None = None
        self._waiting: set[Job] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not asserted: the transports of uvloop are no subclass.
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        for job in self._waiting:
            job.cancelled = True
            self._service.pool.counters.inflight -= 1
        self._waiting.clear()

    def data_received(self, data: bytes) -> None:
        self._service.pool.counters.ingress_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            if self._transport is not None:
                self._transport.close()

    def on_message_begin(self) -> None:
        """httptools: a request starts."""
        self._url, self._arrival = b"", None

    def on_url(self, url: bytes) -> None:
        """httptools: a piece of the request target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """httptools: one header. The arrival number decides the demand; other clients get it from
        the request id.
        """
        lowered = name.lower()
        if lowered == ARRIVAL_HEADER and value.isdigit():
            self._arrival = int(value)
        elif lowered == REQUEST_ID_HEADER and self._arrival is None:
            self._arrival = zlib.crc32(value)

    def on_message_complete(self) -> None:
        """httptools: the request is whole."""
        if self._url == b"/hc":
            self._write(self._service.healthy)
            return
        service, counters = self._service, self._service.pool.counters
        demand_s = service.demands_s[(self._arrival or 0) % len(service.demands_s)]
        job = Job(duration_s=demand_s)
        started_s = time.monotonic()
        job.on_done = lambda: self._done(job, started_s)
        if not service.pool.submit(job):
            counters.errors += 1
            counters.requests += 1
            self._write(service.overloaded)
            return
        counters.inflight += 1
        self._waiting.add(job)

    def _done(self, job: Job, started_s: float) -> None:
        counters = self._service.pool.counters
        self._waiting.discard(job)
        counters.inflight -= 1
        counters.requests += 1
        counters.response_time_s += time.monotonic() - started_s
        self._write(self._service.ok)

    def _write(self, answer: bytes) -> None:
        if self._transport is not None:
            self._transport.write(answer)


def _answer(status: str, datacenter: str, body: bytes) -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
        f"x-datacenter: {datacenter}\r\n\r\n"
    )
    return head.encode() + body
