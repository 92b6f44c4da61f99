"""The two sides of a diverted connection: what both do, and the regional server's.

Called by `station`. A side that cannot take more holds the other one back.
"""

import asyncio
from typing import Protocol, cast

from gateway.diverter.servers import Server


class Side(asyncio.Protocol):
    """A connection that another one can hold back."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def pause(self) -> None:
        """The other side takes less than this one sends."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume(self) -> None:
        """The other side has caught up."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()


class Sender(Protocol):
    """The station behind a server's side."""

    def answered(self, data: bytes) -> None:
        """The server has answered."""
        ...

    def server_ended(self, server: "ServerSide", exc: Exception | None) -> None:
        """The server's connection has ended."""
        ...

    def pause(self) -> None:
        """The server takes less than the station sends."""
        ...

    def resume(self) -> None:
        """The server has caught up."""
        ...


class ServerSide(Side):
    """A regional server's side."""

    def __init__(self, station: Sender, server: Server) -> None:
        super().__init__()
        self.server = server
        self._station = station

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.server.connections += 1

    def data_received(self, data: bytes) -> None:
        self._station.answered(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self.server.connections -= 1
        self._station.server_ended(self, exc)

    def pause_writing(self) -> None:
        self._station.pause()

    def resume_writing(self) -> None:
        self._station.resume()

    def send(self, data: bytes) -> None:
        """Bytes of the station."""
        if self._transport is not None:
            self._transport.write(data)

    def end(self) -> None:
        """The station has sent all."""
        if self._transport is not None and self._transport.can_write_eof():
            self._transport.write_eof()

    def leave(self) -> None:
        """The station has gone; what it sent is still written."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """It does not answer."""
        if self._transport is not None:
            self._transport.abort()
