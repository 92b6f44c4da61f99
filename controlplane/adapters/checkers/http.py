"""HTTP checks: one request on a connection of its own, and 200 is a pass.

A library's client takes longer to make than a probe takes; what is needed is the first line of the
answer. A new connection each time: one that is kept says nothing about a backlog that is full.
"""

import asyncio

from controlplane.adapters.checkers.connecting import reason
from controlplane.domain.health.picture import EndpointKey
from controlplane.domain.services import HealthCheck

PASSED = b"200"
# What a first line may be long.
MOST_BYTES = 4_096


class HttpChecker:
    """Implements `ports.health.Checker`."""

    async def check(self, endpoint: EndpointKey, check: HealthCheck) -> str:
        """GET the check's path; "" when the status is 200."""
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[bytes] = loop.create_future()
        head = f"GET {check.path} HTTP/1.1\r\nHost: {endpoint.name}\r\n"
        request = f"{head}User-Agent: signalbox-health\r\nConnection: close\r\n\r\n".encode()
        transport = None
        try:
            async with asyncio.timeout(check.timeout_ms / 1_000):
                transport, _ = await loop.create_connection(
                    lambda: _Exchange(request, answered), endpoint.address, endpoint.port
                )
                line = await answered
        except (OSError, TimeoutError) as error:
            return reason(error, check)
        finally:
            answered.cancel()
            if transport is not None:
                transport.abort()
        return _words(line)


class _Exchange(asyncio.Protocol):
    """Sends the request and waits for one line."""

    def __init__(self, request: bytes, answered: "asyncio.Future[bytes]") -> None:
        self._request = request
        self._answered = answered
        self._read = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask."""
        if isinstance(transport, asyncio.WriteTransport):
            transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Take the first line."""
        self._read += data
        if (b"\n" in self._read or len(self._read) > MOST_BYTES) and not self._answered.done():
            self._answered.set_result(self._read.split(b"\n", 1)[0][:MOST_BYTES])

    def connection_lost(self, exc: Exception | None) -> None:
        """It ended without an answer."""
        if not self._answered.done():
            self._answered.set_exception(ConnectionResetError("it closed the connection"))


def _words(line: bytes) -> str:
    parts = line.split(None, 2)
    if len(parts) < 2 or not parts[0].startswith(b"HTTP/"):
        return "it does not speak HTTP"
    if parts[1] == PASSED:
        return ""
    return f"status {parts[1][:3].decode(errors='replace')}"
