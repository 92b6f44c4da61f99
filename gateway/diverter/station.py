"""One station's connection, from its first message to its end, with the server that has it.

What has not been answered is kept, and given to the next server when the one that has it dies or
is silent: a message may then arrive twice, but it is not lost. Illegal messages end the connection.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from controlplane.domain.admission.asking import Asked
from controlplane.domain.admission.regional_overflow.framing import (
    first,
    region_finder,
    station_of,
)
from controlplane.domain.admission.regional_overflow.policy import (
    RegionalOverflowPolicy,
    redirection,
)
from controlplane.domain.routing.matching.request import Request
from gateway.diverter.servers import Server, Servers
from gateway.diverter.sides import ServerSide, Side

CONNECT_S = 1.0
# A station that says nothing, or does not come to the end of a message.
SILENT_S = 30.0
NOTHING = Request(path="/")


@dataclass(slots=True)
class Counts:
    """What is counted of all connections: by region and data centre, and by reason."""

    served: dict[tuple[str, str], int] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)
    resent: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """What every connection of a service is given."""

    service: str
    servers: Servers
    counts: Counts
    region: Callable[[str], str | None]

    @classmethod
    def of(cls, service: str, servers: Servers, counts: Counts) -> "Post":
        """By the policy that the servers go by now."""
        return cls(
            service=service, servers=servers, counts=counts, region=region_finder(servers.policy)
        )


class Station(Side):
    """A station's side."""

    def __init__(self, post: Post) -> None:
        super().__init__()
        self._post = post
        self._policy: RegionalOverflowPolicy = post.servers.policy
        self._buffer = b""
        # All that no server has answered yet.
        self.unanswered = b""
        self.ended = False
        self._asked: Asked | None = None
        self._tried: set[str] = set()
        self._server: ServerSide | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._wait(SILENT_S, "silent")

    def data_received(self, data: bytes) -> None:
        if self._asked is None:
            self._buffer += data
            self._read_first()
            return
        self.unanswered += data
        much = len(self.unanswered) > 2 * self._policy.framing.most_bytes
        if self._server is None:
            if much:
                # Nobody has any of it: the rest waits in the station until a server is found.
                self.pause()
            return
        if much:
            # A server that answers nothing of so much: what is older is its own.
            self.unanswered = b""
        self._server.send(data)

    def eof_received(self) -> bool:
        self.ended = True
        if self._asked is None:
            return False
        if self._server is not None:
            self._server.end()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._server is None:
            if self._asked is None:
                # A balancer that only looks whether somebody is here has dropped nothing.
                self._stop_timer()
            return
        if self.unanswered and self._policy.replies:
            # It has gone without waiting, and what it sent must not be lost.
            self._server.end()
            return
        self._stop_timer()
        server, self._server = self._server, None
        server.leave()

    def pause_writing(self) -> None:
        if self._server is not None:
            self._server.pause()

    def resume_writing(self) -> None:
        if self._server is not None:
            self._server.resume()

    def answered(self, data: bytes) -> None:
        """The server has answered."""
        if self.unanswered:
            self._stop_timer()
            self.unanswered = b""
            if self._server is not None:
                self._post.servers.well(self._server.server)
        if self._transport is not None:
            self._transport.write(data)
        elif self._server is not None:
            self._server.leave()

    def server_ended(self, server: "ServerSide", exc: Exception | None) -> None:
        """The server has closed: another one gets what it has not answered."""
        if server is not self._server:
            return
        self._server = None
        if self.unanswered and (exc is not None or self._policy.replies):
            self._post.servers.failed(server.server)
            self._post.counts.resent += 1
            self._connect()
        else:
            self._close()

    def _read_first(self) -> None:
        found = first(self._policy.framing, self._buffer)
        if found.illegal:
            self._drop("illegal")
            return
        if not found.message:
            return
        station = station_of(self._policy.station_id, found.body)
        region = None if station is None else self._post.region(station)
        if station is None or region is None:
            self._drop("unknown_station")
            return
        self._asked = Asked(
            request=NOTHING, now_s=0.0, service=self._post.service, region=region, user=station
        )
        self.unanswered, self._buffer = self._buffer, b""
        self._connect()

    def _connect(self) -> None:
        self._stop_timer()
        self._connecting = asyncio.create_task(self._find_server())

    async def _find_server(self) -> None:
        if self._asked is None:
            return
        for server in self._post.servers.candidates(self._asked):
            if server.datacenter in self._tried:
                continue
            self._tried.add(server.datacenter)
            if self._policy.redirect:
                self._redirect(server)
                return
            if await self._reached(server):
                self._connecting = None
                return
        self._connecting = None
        self._drop("no_server")

    async def _reached(self, server: Server) -> bool:
        host, port = next(server.turns)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CONNECT_S):
                _, made = await loop.create_connection(lambda: ServerSide(self, server), host, port)
        except (OSError, TimeoutError):
            self._post.servers.failed(server)
            return False
        self._served(server)
        self._server = made
        self.resume()
        made.send(self.unanswered)
        if self.ended or self._transport is None:
            made.end()
        if self._policy.replies:
            self._wait(self._policy.reply_s, "no_reply")
        else:
            self._post.servers.well(server)
        return True

    def _redirect(self, server: Server) -> None:
        self._served(server)
        if self._transport is not None:
            self._transport.write(redirection(self._policy, *next(server.turns)))
        self._close()

    def _served(self, server: Server) -> None:
        region = "" if self._asked is None else self._asked.region
        key = (region, server.datacenter)
        self._post.counts.served[key] = self._post.counts.served.get(key, 0) + 1

    def _wait(self, seconds: float, reason: str) -> None:
        self._stop_timer()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._late, reason)

    def _late(self, reason: str) -> None:
        server, self._timer = self._server, None
        if server is None or not self.unanswered:
            self._drop(reason)
            return
        server.abort()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _drop(self, reason: str) -> None:
        self._post.counts.dropped[reason] = self._post.counts.dropped.get(reason, 0) + 1
        if self._transport is not None:
            self._transport.abort()

    def _close(self) -> None:
        self._stop_timer()
        if self._transport is not None:
            self._transport.close()
