"""Connections of clients: how many there are, and how long each may take to say what it wants.

The library reads HTTP and knows neither of the two.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import cast

import structlog
from aiohttp import HttpVersion10, web
from aiohttp.web_protocol import _ErrInfo

from gateway.proxy.answers import last_response, problem
from gateway.proxy.options import ProxyOptions

log = structlog.get_logger()

LEAST_FAULT = 500
Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\n"
    b"content-length: 0\r\n\r\n"
)
TOO_OLD = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
# Requests are counted and said by us; a stranger's bad bytes are not worth a traceback each.
NO_LOG = logging.getLogger("gateway.proxy.silent")
NO_LOG.disabled = True
# How long what is left of a refused body is read, so that the client sees the answer.
LINGER_S = 1.0


class Connection(web.RequestHandler):
    """One connection; a head that does not come in time ends it."""

    __slots__ = ("_head_s", "_request", "_timer")

    def __init__(self, server: "Listener", options: ProxyOptions) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=options.keep_s,
            lingering_time=LINGER_S,
            auto_decompress=False,
            access_log=NO_LOG,
            logger=NO_LOG,
        )
        self._head_s = options.head_s
        self._timer: asyncio.TimerHandle | None = None
        self._request: web.BaseRequest | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first head."""
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Wait for nothing."""
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes that come between two requests begin a head."""
        if self._request is None and self._timer is None:
            self._expect_head()
        super().data_received(data)
        body = self._request.content if self._request is not None else None
        if body is not None and not body.is_eof() and self._unreadable():
            # The library would let the reader of this body wait for ever.
            body.set_exception(web.RequestPayloadError("the body is not framed as HTTP"))

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The answer to what is no HTTP, and to a fault of ours."""
        if isinstance(exc, ConnectionError):
            # There is nobody to be answered, and nothing to be logged.
            raise exc
        if status >= LEAST_FAULT:
            log.error("proxy.fault", exc_info=exc)
        if request.writer.output_size > 0:
            raise ConnectionError("half of an answer is out")
        code = "request_unreadable" if status < LEAST_FAULT else "proxy_fault"
        words = "this is not HTTP as RFC 9112 has it" if status < LEAST_FAULT else "see the log"
        return last_response(problem(status, code, words))

    def begin(self, request: web.BaseRequest) -> None:
        """A head is in, and its request is handled."""
        self._request = request
        self._stop()

    def end(self) -> None:
        """The request is over."""
        self._request = None

    def _unreadable(self) -> bool:
        return bool(self._messages) and isinstance(self._messages[-1][0], _ErrInfo)

    def _expect_head(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._head_s, self._too_slow)

    def _too_slow(self) -> None:
        self._timer = None
        if self._request is None:
            self.force_close()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _Full(asyncio.Protocol):
    """A connection too many."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's is one by its methods only.
        opened = cast(asyncio.Transport, transport)
        opened.write(FULL)
        opened.close()


class Listener(web.Server):
    """All connections of clients."""

    def __init__(self, handler: Handler, options: ProxyOptions) -> None:
        super().__init__(self._handled, handler_cancellation=True)
        self._handler = handler
        self._options = options

    def __call__(self) -> web.RequestHandler:
        """The protocol of a new connection."""
        if len(self._connections) >= self._options.most_connections:
            # Whoever is one too many never speaks HTTP with the library.
            return _Full()  # type: ignore[return-value]
        return Connection(self, self._options)

    async def _handled(self, request: web.BaseRequest) -> web.StreamResponse:
        connection = request.protocol
        if request.version < HttpVersion10 and request.transport is not None:
            # The library would answer in the version that nobody speaks any more.
            request.transport.write(TOO_OLD)
            request.transport.close()
            raise ConnectionResetError("HTTP/0.9")
        if isinstance(connection, Connection):
            connection.begin(request)
            try:
                return await self._handler(request)
            finally:
                connection.end()
        return await self._handler(request)
