"""Requests by a timetable that waits for no answer, and what became of each.

Run by `benchmarks.failover`. A slow answer keeps its connection, and the next request takes
another one.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

ANSWER_S = 5.0
OK = b"HTTP/1.1 200"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One request; times are of `time.perf_counter`, `center` is "" where none answered.

    Attributes:
        failed: why, "" when it was served.
    """

    service: str
    sent_s: float
    ended_s: float
    center: str = ""
    failed: str = ""

    @property
    def took_s(self) -> float:
        """From the instant at which it was sent."""
        return self.ended_s - self.sent_s


Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(slots=True, kw_only=True)
class OpenLoad:
    """GET requests for each service in turn, `rate_rps` a second in all.

    Attributes:
        cookies: of the users that send them, in turn; without any, each is a new one.
        is_held: nothing is sent while it is.
    """

    port: int
    rate_rps: float
    services: Sequence[str]
    cookies: Sequence[str] = ()
    is_held: bool = False
    outcomes: list[Outcome] = field(default_factory=list)
    _idle: list[Connection] = field(default_factory=list)
    _running: dict[asyncio.Task[None], float] = field(default_factory=dict)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Send for as long as the context lasts, then wait for what is on its way."""
        timetable = asyncio.create_task(self._send())
        try:
            yield
        finally:
            timetable.cancel()
            await asyncio.gather(timetable, *self._running, return_exceptions=True)
            for _, writer in self._idle:
                writer.close()

    async def answered(self, until_s: float) -> None:
        """Wait until it is known what became of every request that was sent before."""
        early = [task for task, sent_s in self._running.items() if sent_s < until_s]
        await asyncio.gather(*early)

    async def _send(self) -> None:
        loop = asyncio.get_running_loop()
        began_s, number = loop.time(), 0
        while True:
            await asyncio.sleep(max(0.0, began_s + number / self.rate_rps - loop.time()))
            number += 1
            if self.is_held:
                continue
            task = loop.create_task(self._request(number))
            self._running[task] = time.perf_counter()
            task.add_done_callback(self._running.pop)

    async def _request(self, number: int) -> None:
        service = self.services[number % len(self.services)]
        cookie = ""
        if self.cookies:
            cookie = f"cookie: {self.cookies[number % len(self.cookies)]}\r\n"
        head = f"GET /{service} HTTP/1.1\r\nhost: site\r\n{cookie}\r\n".encode()
        sent_s = time.perf_counter()
        failed, center = "", ""
        try:
            async with asyncio.timeout(ANSWER_S):
                center, failed = await self._exchange(head)
        except (OSError, EOFError, TimeoutError) as error:
            failed = repr(error)
        self.outcomes.append(
            Outcome(
                service=service,
                sent_s=sent_s,
                ended_s=time.perf_counter(),
                center=center,
                failed=failed,
            )
        )

    async def _exchange(self, request: bytes) -> tuple[str, str]:
        """Who answered, and why that is none."""
        if self._idle:
            reader, writer = self._idle.pop()
        else:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                int(line.partition(b":")[2])
                for line in head.lower().split(b"\r\n")
                if line.startswith(b"content-length:")
            )
            body = await reader.readexactly(length)
        except BaseException:
            writer.close()
            raise
        self._idle.append((reader, writer))
        if head.startswith(OK):
            return body.decode(), ""
        return "", f"{head[9:12].decode()} {body[:60].decode(errors='replace')}"
