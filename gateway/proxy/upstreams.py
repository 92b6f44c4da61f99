"""Connections to endpoints: reused, bounded, and each request exactly as it was judged."""

import contextlib
from collections.abc import AsyncIterator

import aiohttp
from yarl import URL

from controlplane.domain.routing.matching.request import Request
from gateway.admission.enforcing import Headers
from gateway.application.lease import Lease
from gateway.proxy.head import HOP_BY_HOP
from gateway.proxy.options import ProxyOptions

# Of an answer: its framing is said anew.
OF_A_CONNECTION = HOP_BY_HOP | {"transfer-encoding"}
# What the library would add of its own.
NOTHING_ADDED = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")


class Upstreams:
    """All connections to endpoints; `start` inside a running loop, `close` at the end."""

    def __init__(self, options: ProxyOptions) -> None:
        self._options = options
        self._session: aiohttp.ClientSession | None = None

    async def start(self) -> None:
        """Be ready."""
        options = self._options
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=options.most_upstream,
                keepalive_timeout=options.upstream_keep_s,
                use_dns_cache=False,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            skip_auto_headers=NOTHING_ADDED,
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=options.connect_s, sock_read=options.idle_s
            ),
            trust_env=False,
        )

    async def close(self) -> None:
        """End all connections."""
        if self._session is not None:
            await self._session.close()

    @contextlib.asynccontextmanager
    async def asked(
        self, lease: Lease, request: Request, pieces: AsyncIterator[bytes] | None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer of an endpoint as it begins; leaving the block before its end closes the
        connection.

        Args:
            pieces: of the request's body, framed as its headers say; None is no body.

        Raises:
            aiohttp.ClientError, OSError, TimeoutError: there is none.
        """
        if self._session is None:
            raise RuntimeError("ask after start")
        query = f"?{request.query}" if request.query else ""
        # Not spelled anew by the library: what was judged is what is sent.
        url = URL(f"{lease.url}{request.path}{query}", encoded=True)
        # Chunks are announced by whoever cuts them.
        headers = {n: v for n, v in request.headers.items() if n != "transfer-encoding"}
        async with self._session.request(
            request.method, url, headers=headers, data=pieces, allow_redirects=False
        ) as response:
            yield response


def headers_of(response: aiohttp.ClientResponse) -> Headers:
    """The headers of an answer that go on to the client, as they came."""
    named = {name.strip() for name in response.headers.get("connection", "").lower().split(",")}
    gone = OF_A_CONNECTION | named
    return tuple(
        (name.decode("latin-1"), value.decode("utf-8", "surrogateescape"))
        for name, value in response.raw_headers
        if name.decode("latin-1").lower() not in gone
    )
