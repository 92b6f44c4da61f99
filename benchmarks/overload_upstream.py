"""The upstream of benchmarks.overload: seat maps from a system of fixed capacity.

`run` is the life of a child of `overload_parts`. The law: a request that comes when n are in work,
itself counted, takes

    s(n) = S0 * max(1, n / N0)

so in the long run it finishes N0 / S0 requests per second, and each of them takes longer
the more there are. A request whose connection ends is no longer in work.
"""

import asyncio
import json
import sys
from collections import Counter
from dataclasses import dataclass, field

import httptools
import uvloop

S0_S = 0.02
SEATS = b'{"seats":"' + b"01" * 1_000 + b'"}'
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
ANSWER = HEAD % len(SEATS) + SEATS
# A show that never answers, to be held by a gateway that dies.
HUNG = b"/shows/hung/seats"


def service_s(in_work: int, at_once: float) -> float:
    """The law, in seconds; `at_once` is N0."""
    return S0_S * max(1.0, in_work / at_once)


def capacity_rps(at_once: float) -> float:
    """What it finishes at most."""
    return at_once / S0_S


@dataclass(slots=True)
class Work:
    """What is in work, and what was since the last look."""

    at_once: float
    in_work: int = 0
    by_key: Counter[bytes] = field(default_factory=Counter)
    most: int = 0
    most_of_key: int = 0
    answered: int = 0
    hangs: bool = True

    def begin(self, key: bytes) -> None:
        """One more."""
        self.in_work += 1
        self.by_key[key] += 1
        self.most = max(self.most, self.in_work)
        self.most_of_key = max(self.most_of_key, self.by_key[key])

    def end(self, key: bytes) -> None:
        """One less."""
        self.in_work -= 1
        self.by_key[key] -= 1
        if not self.by_key[key]:
            del self.by_key[key]

    def looked_at(self) -> bytes:
        """The figures as JSON; they begin anew."""
        said = {
            "in_work": self.in_work,
            "most": self.most,
            "most_of_key": self.most_of_key,
            "answered": self.answered,
        }
        self.most, self.answered = self.in_work, 0
        self.most_of_key = max(self.by_key.values(), default=0)
        body = json.dumps(said).encode()
        return HEAD % len(body) + body


class Connection(asyncio.Protocol):
    """One connection; one request at a time."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._target = b""
        self._key = b""
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._work.end(self._key)
        self._transport = None

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_url(self, part: bytes) -> None:
        self._target += part

    def on_message_complete(self) -> None:
        target, self._target = self._target, b""
        if target == b"/_figures":
            self._write(self._work.looked_at())
        elif target == b"/_release":
            self._work.hangs = False
            self._write(ANSWER)
        elif target == b"/healthz":
            self._write(ANSWER)
        else:
            self._serve(target)

    def _serve(self, target: bytes) -> None:
        self._key = target
        self._work.begin(target)
        hangs = target == HUNG and self._work.hangs
        takes_s = 3_600.0 if hangs else service_s(self._work.in_work, self._work.at_once)
        self._timer = asyncio.get_running_loop().call_later(takes_s, self._answer)

    def _answer(self) -> None:
        self._timer = None
        self._work.end(self._key)
        self._work.answered += 1
        self._write(ANSWER)

    def _write(self, answer: bytes) -> None:
        if self._transport is not None:
            self._transport.write(answer)


async def serve(port: int, at_once: float) -> None:
    """Answer until it is ended."""
    work = Work(at_once=at_once)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(work), "127.0.0.1", port, backlog=4_096)
    await server.serve_forever()


def run() -> None:
    """Answer on the port and by the N0 of the command line."""
    uvloop.run(serve(int(sys.argv[1]), float(sys.argv[2])))
