"""Endpoints that answer the control plane's checks, and can be let fail: one for each data centre.

Nothing but checks reaches them; the requests are the simulated world's.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import StrEnum

HOST = "127.0.0.1"
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
SICK = b"HTTP/1.1 500 Sick\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Fault(StrEnum):
    """What an endpoint does instead of answering 200."""

    REFUSES = "refuses"
    HANGS = "hangs"
    ERRS = "errs"


@dataclass(slots=True, kw_only=True)
class Place:
    """The endpoint of one data centre."""

    port: int = 0
    fault: Fault | None = None
    _server: asyncio.Server | None = None

    async def fail(self, fault: Fault) -> None:
        """Be like this until it is healed."""
        self.fault = fault
        if fault is Fault.REFUSES:
            self.close()

    async def heal(self) -> None:
        """Answer again."""
        self.fault = None
        if self._server is None:
            await self.open()

    async def open(self) -> None:
        """Listen, always on the same port."""
        self._server = await asyncio.start_server(self._answer, HOST, self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    def close(self) -> None:
        """Refuse connections."""
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            if self.fault is Fault.HANGS:
                # Until whoever asks has had enough.
                await reader.read()
            else:
                writer.write(OK if self.fault is None else SICK)
                await writer.drain()
        writer.close()


@contextlib.asynccontextmanager
async def places(names: tuple[str, ...]) -> AsyncIterator[dict[str, Place]]:
    """One for each name, well."""
    found = {name: Place() for name in names}
    try:
        for place in found.values():
            await place.open()
        yield found
    finally:
        for place in found.values():
            place.close()
