"""The users of benchmarks.overload: each looks at one seat map after the other.

A closed loop: a user waits for his answer, looks at it for about a second, and asks for another
show. Each has his own connection. Bytes are counted by hand, because thousands of users in one
process leave no time for a library.
"""

import asyncio
import contextlib
import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

# Seconds for which a user looks at a seat map.
LOOKS_S = (0.5, 1.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """Who asks, and for what.

    Attributes:
        ports: of the agents, in turn.
        host: which service is asked.
        warm_s: nothing counts before; seconds_s: what counts.
        looks_s: shortest and longest look at one answer.
    """

    users: int
    ports: Sequence[int]
    host: str
    shows: int
    warm_s: float
    seconds_s: float
    looks_s: tuple[float, float] = LOOKS_S


@dataclass(slots=True)
class Seen:
    """What users lived through, in the time that counts."""

    seconds_s: float
    took_s: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    broken: int = 0

    def good_rps(self, limit_s: float) -> float:
        """Answers of status 200 within a limit, per second."""
        return sum(took <= limit_s for took in self.took_s) / self.seconds_s


async def play(crowd: Crowd) -> Seen:
    """Let a crowd look for its time."""
    seen = Seen(seconds_s=crowd.seconds_s)
    began_s = time.perf_counter() + crowd.warm_s
    window = (began_s, began_s + crowd.seconds_s)
    tasks = [
        asyncio.create_task(_user(crowd, number, seen, window)) for number in range(crowd.users)
    ]
    await asyncio.sleep(crowd.warm_s + crowd.seconds_s)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    return seen


async def ask(port: int, host: str, target: str) -> tuple[int, bytes, float]:
    """One request on a connection of its own: status, whole answer, seconds."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    began_s = time.perf_counter()
    try:
        answer = await _asked(reader, writer, host, target)
    finally:
        writer.close()
    return int(answer[9:12]), answer, time.perf_counter() - began_s


async def _user(crowd: Crowd, number: int, seen: Seen, window: tuple[float, float]) -> None:
    draw = random.Random(number)
    port = crowd.ports[number % len(crowd.ports)]
    # Not all in the same moment.
    await asyncio.sleep(draw.uniform(0, crowd.looks_s[1]))
    while True:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                await _looks(crowd, draw, seen, window, (reader, writer))
            finally:
                writer.close()
        seen.broken += 1
        await asyncio.sleep(draw.uniform(*crowd.looks_s))


async def _looks(
    crowd: Crowd,
    draw: random.Random,
    seen: Seen,
    window: tuple[float, float],
    streams: tuple[asyncio.StreamReader, asyncio.StreamWriter],
) -> None:
    while True:
        target = f"/shows/{draw.randrange(crowd.shows)}/seats"
        began_s = time.perf_counter()
        answer = await _asked(*streams, crowd.host, target)
        now_s = time.perf_counter()
        if window[0] <= now_s < window[1]:
            status = int(answer[9:12])
            seen.statuses[status] += 1
            if status == 200:
                seen.took_s.append(now_s - began_s)
        await asyncio.sleep(draw.uniform(*crowd.looks_s))


async def _asked(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, target: str
) -> bytes:
    writer.write(f"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    at = head.lower().find(b"content-length:")
    size = int(head[at + 15 : head.find(b"\r", at)])
    return head + await reader.readexactly(size)
