"""Requests at a fixed rate over kept connections, cheap enough to run beside everything else."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

ANSWER_S = 10.0
REQUEST = b"GET / HTTP/1.1\r\nhost: site\r\n\r\n"


@dataclass(slots=True, kw_only=True)
class SteadyLoad:
    """`rate_rps` requests a second in all; each that fails is kept in `failed`.

    A late answer makes the next requests of its connection late; they are sent, not left out.
    """

    port: int
    rate_rps: float
    connections: int = 20
    sent: int = 0
    failed: list[str] = field(default_factory=list)

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

    async def _connection(self, number: int) -> None:
        clock = asyncio.get_running_loop().time
        every_s = self.connections / self.rate_rps
        due_s = clock() + every_s * number / self.connections
        writer: asyncio.StreamWriter | None = None
        try:
            while True:
                await asyncio.sleep(max(0.0, due_s - clock()))
                due_s += every_s
                self.sent += 1
                try:
                    if writer is None:
                        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                    writer.write(REQUEST)
                    async with asyncio.timeout(ANSWER_S):
                        await self._answer(reader)
                except (OSError, EOFError, TimeoutError) as error:
                    self.failed.append(repr(error))
                    if writer is not None:
                        writer.close()
                    writer = None
        finally:
            if writer is not None:
                writer.close()

    async def _answer(self, reader: asyncio.StreamReader) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = next(
            int(line.partition(b":")[2])
            for line in head.split(b"\r\n")
            if line.startswith(b"content-length:")
        )
        body = await reader.readexactly(length)
        if not head.startswith(b"http/1.1 200"):
            self.failed.append(f"{head[:40]!r} {body[:80]!r}")
