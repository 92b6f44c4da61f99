"""Users of the session queue's benchmark: each has a connection and a cookie.

`crowd` plays the paper's load: so many users at once, each new one as soon as one is done, until a
number of requests has been made in sessions of five. A user who is told to wait asks again when the
answer says so.
"""

import asyncio
import itertools
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

STEPS = 5
WAITS = 503
# The agent has a second to connect to the site, which a busy machine may take longer for: the user
# asks again.
FAILED = (502, 504)
OK = 200


@dataclass(slots=True, kw_only=True)
class Played:
    """What a crowd lived through.

    Attributes:
        stays_s: from the first request of a session to its last answer, waiting included.
        total_s: from the first request of all to the last answer.
        rises: positions that were higher than the one told before.
        failures: requests that the agent could not pass on; they were made again.
    """

    stays_s: list[float] = field(default_factory=list)
    total_s: float = 0.0
    requests: int = 0
    rises: int = 0
    failures: int = 0


@dataclass(slots=True)
class User:
    """One connection with the cookie of its session."""

    port: int
    played: Played
    cookie: str = ""
    position: int = 0
    _reader: asyncio.StreamReader | None = None
    _writer: asyncio.StreamWriter | None = None

    async def session(self, name: str) -> None:
        """Make the five requests of one session."""
        self.cookie, self.position = "", 0
        began_s = time.monotonic()
        for step in range(STEPS):
            await self.step("/done" if step == STEPS - 1 else f"/s/{name}/{step}", name)
        self.played.stays_s.append(time.monotonic() - began_s)

    async def step(self, path: str, name: str) -> None:
        """One request, asked again for as long as it has to wait."""
        while True:
            status, body = await self.ask(path, name)
            if status == OK:
                self.played.requests += 1
                return
            if status == WAITS:
                await asyncio.sleep(self._told(json.loads(body)))
            elif status in FAILED:
                self.played.failures += 1
            else:
                raise SystemExit(f"{path} was answered {status}: {body[:200]!r}")

    async def ask(self, path: str, name: str) -> tuple[int, bytes]:
        """One request and its answer."""
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self.port)
        assert self._reader is not None
        cookie = f"cookie: {self.cookie}\r\n" if self.cookie else ""
        head = f"GET {path} HTTP/1.1\r\nhost: site\r\nx-session: {name}\r\n{cookie}\r\n"
        self._writer.write(head.encode())
        status, length = await self._head()
        return status, await self._reader.readexactly(length)

    def close(self) -> None:
        """End the connection."""
        if self._writer is not None:
            self._writer.close()

    async def _head(self) -> tuple[int, int]:
        assert self._reader is not None
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        status, length = int(head[9:12]), 0
        for line in head.split("\r\n")[1:]:
            name, _, value = line.partition(":")
            if name.lower() == "content-length":
                length = int(value)
            elif name.lower() == "set-cookie":
                self.cookie = value.strip().partition(";")[0]
        return status, length

    def _told(self, told: dict[str, float]) -> float:
        position = int(told.get("position", 0))
        if self.position and position > self.position:
            self.played.rises += 1
        self.position = position or self.position
        return float(told["poll_s"])


async def crowd(port: int, users: int, sessions: int) -> Played:
    """`users` at once until `sessions` have been played."""
    played = Played()
    names = iter(range(sessions))
    began_s = time.monotonic()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(min(users, sessions)):
            tasks.create_task(_user(port, names, played))
    played.total_s = time.monotonic() - began_s
    return played


async def steady(port: int, users: int) -> None:
    """`users` at once, one session after the other, until it is cancelled."""
    names = itertools.count()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(users):
            tasks.create_task(_user(port, names, Played()))


async def _user(port: int, names: Iterator[int], played: Played) -> None:
    user = User(port, played)
    try:
        for name in names:
            await user.session(str(name))
    finally:
        user.close()
