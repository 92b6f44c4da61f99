"""Bodies on their way, piece by piece, no faster than the other side takes them."""

import asyncio
from collections.abc import AsyncIterator, Callable

import aiohttp
from aiohttp import web
from aiohttp.http_exceptions import PayloadEncodingError
from multidict import CIMultiDict

from gateway.admission.enforcing import Answer, Headers
from gateway.proxy.answers import Streamed, problem
from gateway.proxy.head import Judged
from gateway.proxy.options import ProxyOptions

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Upload:
    """The body of a client's request.

    What is wrong with it is in `fault`, and the pieces end with an error: the upstream never sees
    the end of a body that had none.

    Args:
        most_bytes: limit of the policies; None is only that of the options.
    """

    def __init__(
        self,
        client: web.BaseRequest,
        judged: Judged,
        options: ProxyOptions,
        most_bytes: int | None = None,
    ) -> None:
        self._client = client
        self._judged = judged
        self._options = options
        whole = options.most_body_bytes
        self._most_bytes = whole if most_bytes is None else min(whole, most_bytes)
        self.begun = False
        self.fault: Answer | None = None

    async def pieces(self, ended: Callable[[], None]) -> AsyncIterator[bytes]:
        """Every piece; `ended` is called behind the last one."""
        self.begun = True
        if self._judged.expects:
            await self._client.writer.write(CONTINUE)
            # Not part of the answer, whose head is still to come.
            self._client.writer.output_size = 0
        size = 0
        while piece := await self._piece():
            size += len(piece)
            if size > self._most_bytes:
                words = f"a body has at most {self._most_bytes} bytes"
                raise self._wrong(413, "body_too_large", words)
            yield piece
        ended()

    async def _piece(self) -> bytes:
        try:
            async with asyncio.timeout(self._options.idle_s):
                return await self._client.content.readany()
        except TimeoutError:
            words = f"nothing of the body came for {self._options.idle_s:g} s"
            raise self._wrong(408, "body_too_slow", words) from None
        except (PayloadEncodingError, web.RequestPayloadError) as error:
            raise self._wrong(400, "body_unreadable", "the body is not framed as HTTP") from error

    def _wrong(self, status: int, code: str, words: str) -> aiohttp.ClientPayloadError:
        self.fault = problem(status, code, words)
        return aiohttp.ClientPayloadError(code)


class Copy:
    """What went through, as long as it is not too long to be kept."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._pieces: list[bytes] | None = []
        self._size = 0

    def add(self, piece: bytes) -> None:
        """Keep a piece."""
        self._size += len(piece)
        if self._size > self._most_bytes:
            self._pieces = None
        if self._pieces is not None:
            self._pieces.append(piece)

    @property
    def body(self) -> bytes | None:
        """All of it; None when it was too long."""
        return None if self._pieces is None else b"".join(self._pieces)


class ClientGone(Exception):
    """The client does not take its answer; nobody else is to blame."""


async def download(
    client: web.BaseRequest,
    upstream: aiohttp.ClientResponse,
    headers: Headers,
    idle_s: float,
    copy: Copy | None = None,
) -> web.StreamResponse:
    """Give an upstream's answer to the client.

    Raises:
        aiohttp.ClientError, TimeoutError: it ended in the middle; the client's connection is
            closed, so that half an answer is not taken for a whole one.
        ClientGone: the client is gone, or takes nothing for too long.
    """
    answer = Streamed(status=upstream.status, reason=upstream.reason, headers=CIMultiDict(headers))
    await answer.prepare(client)
    try:
        async for piece in upstream.content.iter_any():
            if copy is not None:
                copy.add(piece)
            await _write(answer, piece, idle_s)
    except (aiohttp.ClientError, TimeoutError):
        if client.transport is not None:
            client.transport.abort()
        raise
    await answer.write_eof()
    return answer


async def _write(answer: web.StreamResponse, piece: bytes, idle_s: float) -> None:
    try:
        async with asyncio.timeout(idle_s):
            await answer.write(piece)
    except (ConnectionError, TimeoutError) as error:
        raise ClientGone from error


async def whole(upstream: aiohttp.ClientResponse, most_bytes: int) -> bytes | None:
    """The body of an answer; None when it is longer than that.

    Raises:
        aiohttp.ClientError, TimeoutError: it ended in the middle.
    """
    copy = Copy(most_bytes)
    async for piece in upstream.content.iter_any():
        copy.add(piece)
        if copy.body is None:
            return None
    return copy.body
