"""Requests at a fixed rate over kept connections, each with its time, answer and duration."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

ANSWER_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One request: when it was due, how long it took from then on, and what it got."""

    due_s: float
    took_ms: float
    status: int
    body: str


@dataclass(slots=True, kw_only=True)
class MeasuredLoad:
    """`rate_rps` requests a second for one path; status 0 is no answer."""

    port: int
    path: str
    rate_rps: float
    connections: int = 40
    answers: list[Answered] = field(default_factory=list)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Send for as long as the context lasts."""
        tasks = [
            asyncio.create_task(self._connection(number)) for number in range(self.connections)
        ]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def between(self, since_s: float, until_s: float) -> list[Answered]:
        """Answers of requests that were due in a time by the loop's clock."""
        return [one for one in self.answers if since_s <= one.due_s < until_s]

    async def _connection(self, number: int) -> None:
        clock = asyncio.get_running_loop().time
        every_s = self.connections / self.rate_rps
        due_s = clock() + every_s * number / self.connections
        writer: asyncio.StreamWriter | None = None
        request = f"GET {self.path} HTTP/1.1\r\nhost: site\r\n\r\n".encode()
        try:
            while True:
                await asyncio.sleep(max(0.0, due_s - clock()))
                status, body = 0, ""
                try:
                    if writer is None:
                        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                    writer.write(request)
                    async with asyncio.timeout(ANSWER_S):
                        status, body = await _answer(reader)
                except (OSError, EOFError, TimeoutError):
                    if writer is not None:
                        writer.close()
                    writer = None
                took_ms = 1_000.0 * (clock() - due_s)
                self.answers.append(
                    Answered(due_s=due_s, took_ms=took_ms, status=status, body=body)
                )
                due_s += every_s
        finally:
            if writer is not None:
                writer.close()


async def _answer(reader: asyncio.StreamReader) -> tuple[int, str]:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = next(
        int(line.partition(b":")[2])
        for line in head.split(b"\r\n")
        if line.startswith(b"content-length:")
    )
    body = await reader.readexactly(length)
    return int(head.split()[1]), body.decode()


def p99_ms(answers: list[Answered]) -> float:
    """The 99th percentile of what they took; NaN of none."""
    ordered = sorted(one.took_ms for one in answers)
    return ordered[int(0.99 * (len(ordered) - 1))] if ordered else float("nan")
