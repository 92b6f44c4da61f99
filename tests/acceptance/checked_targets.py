"""Endpoints whose checks pass or fail as a test says, and observers as processes."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from benchmarks.live_envoy import Child
from tests.acceptance.served import Site, program

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
SICK = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n"


@dataclass(slots=True)
class Targets:
    """HTTP endpoints on loopback: `/` always serves, `/healthz` passes unless it is sick.

    Attributes:
        sick: port -> whether the check with this number (from 0) fails.
        asked: checks so far by port.
        broken: ports that serve nothing but their checks.
    """

    sick: dict[int, Callable[[int], bool]] = field(default_factory=dict)
    asked: dict[int, int] = field(default_factory=dict)
    broken: set[int] = field(default_factory=set)

    def fall(self, ports: Iterable[int]) -> None:
        """Their checks fail from now on."""
        self.sick.update(dict.fromkeys(ports, lambda _number: True))

    def recover(self) -> None:
        """All checks pass again."""
        self.sick.clear()

    @contextlib.asynccontextmanager
    async def running(self, ports: Iterable[int]) -> AsyncIterator[None]:
        """Serve on these ports for as long as the context lasts."""
        open_tasks: set[asyncio.Task[None]] = set()

        def accept(port: int) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
            def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                task = asyncio.ensure_future(self._serve(port, reader, writer))
                open_tasks.add(task)
                task.add_done_callback(open_tasks.discard)

            return begin

        servers = [await asyncio.start_server(accept(port), "127.0.0.1", port) for port in ports]
        try:
            yield
        finally:
            for server in servers:
                server.close()
            for task in tuple(open_tasks):
                task.cancel()
            await asyncio.gather(*open_tasks, return_exceptions=True)

    async def _serve(
        self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            while request := await reader.readuntil(b"\r\n\r\n"):
                writer.write(self._answer(port, request))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    def _answer(self, port: int, request: bytes) -> bytes:
        if b"/healthz" not in request.split(b"\r\n", 1)[0]:
            return SICK if port in self.broken else OK
        number = self.asked.get(port, 0)
        self.asked[port] = number + 1
        return SICK if self.sick.get(port, lambda _n: False)(number) else OK


@contextlib.asynccontextmanager
async def observer(
    site: Site, api: httpx.AsyncClient, name: str, *commands: str
) -> AsyncIterator[Child]:
    """`signalbox observe` as a process, with a token of its own."""
    url = f"http://127.0.0.1:{site.ports.api}"
    token = site.folder / f"{name}.token"
    wish = {"name": name, "role": "gateway", "reason": "test"}
    answer = await api.post("/v1/tokens", json=wish)
    assert answer.is_success, answer.text
    token.write_text(answer.json()["secret"])
    words = ["controlplane", "--url", url, "--token-file", str(token), "observe", "--name", name]
    for command in commands:
        words += ["--command", command]
    async with program(words, dict(os.environ), Path(site.folder / f"{name}.log")) as child:
        yield child
