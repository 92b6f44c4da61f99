"""What a connection may take before anybody knows who calls: a head of some size, within some time.

Given to uvicorn by `serving`. Its parser has no limit of its own for either, so that one caller
could fill the memory with a header, and a thousand idle ones all file descriptors. The store and
the check before a push need some of those too, so there is a bound on connections as well.
"""

import asyncio
import resource

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEAD_BYTES = 64 * 1024
HEAD_WITHIN_S = 10.0
# What comes behind an answer is read and dropped for so long.
LINGER_S = 10.0
# File descriptors that connections leave to everything else.
OTHER_FILES = 128
TOO_MANY = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 10\r\n"
TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
TOO_LATE = b"HTTP/1.1 408 Request Timeout\r\n"
LAST = b"content-length: 0\r\nconnection: close\r\n\r\n"


class BoundedConnection(HttpToolsProtocol):
    """One connection: closed when a head is too long, or does not come to its end in time."""

    _in_head = True
    _in_body = False
    _head_bytes = 0
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Expect the first head."""
        super().connection_made(transport)
        self._expect_head()
        if len(self.connections) > most_connections():
            self._refuse(TOO_MANY)

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing any more."""
        self._cancel()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._expect_head()

    def on_headers_complete(self) -> None:
        """A head is there."""
        self._in_head = False
        self._in_body = True
        self._cancel()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """A body is there, though its answer may be out already."""
        self._in_body = False
        self._cancel()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Read on for a while behind an answer that did not wait for the body.

        Closing at once would make the system drop what came meanwhile with a reset, and the
        caller might never see the answer.
        """
        super().on_response_complete()
        if self._in_body and not self.transport.is_closing():
            self._late = self.loop.call_later(LINGER_S, self.transport.close)

    def data_received(self, data: bytes) -> None:
        """Count what belongs to a head that has begun before."""
        in_head = self._in_head
        super().data_received(data)
        if in_head and self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > MOST_HEAD_BYTES:
                self._refuse(TOO_LARGE)

    def _expect_head(self) -> None:
        self._in_head = True
        self._head_bytes = 0
        if self._late is None:
            self._late = self.loop.call_later(HEAD_WITHIN_S, self._refuse, TOO_LATE)

    def _refuse(self, status: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(status + LAST)
            self.transport.close()

    def _cancel(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


def most_connections() -> int:
    """How many connections the limit of open files leaves room for."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(files - OTHER_FILES, files // 2)


def allow_many_files() -> None:
    """Take as many file descriptors as the system allows without asking: usually the limit is
    1,024, and every gateway that polls or watches has one."""
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
