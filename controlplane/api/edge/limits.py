"""Limits and headers of every exchange, as plain ASGI so that streams pass through.

Installed by `app` around everything else.
"""

import asyncio

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from controlplane.domain.errors import Invalid

MOST_BODY_BYTES = 5_000_000
# For the whole of it: 5 MB at 0.7 Mbit/s.
BODY_WITHIN_S = 60.0

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Edge:
    """Refuses bodies over the limit while they arrive; adds the usual safety headers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one exchange on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        await self._app(scope, _limited(scope, receive), _with_headers(send))


def _limited(scope: Scope, receive: Receive) -> Receive:
    declared = Headers(scope=scope).get("content-length", "0")
    announced = int(declared) if declared.isascii() and declared.isdigit() else 0
    arrived = 0
    late_s: float | None = asyncio.get_running_loop().time() + BODY_WITHIN_S

    async def limited() -> Message:
        nonlocal arrived, late_s
        if announced > MOST_BODY_BYTES:
            raise _too_large()
        try:
            async with asyncio.timeout_at(late_s):
                message = await receive()
        except TimeoutError as error:
            raise _too_slow() from error
        if not message.get("more_body"):
            # From now on it is waited for the caller to leave.
            late_s = None
        arrived += len(message.get("body", b""))
        if arrived > MOST_BODY_BYTES:
            raise _too_large()
        return message

    return limited


def _too_large() -> Invalid:
    return Invalid(
        "body_too_large", f"the body has more than {MOST_BODY_BYTES} bytes; send it in parts"
    )


def _too_slow() -> Invalid:
    return Invalid(
        "body_too_slow",
        f"the body did not come to its end within {BODY_WITHIN_S:g} s; send it in smaller parts",
    )


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("Cache-Control", "no-store")
        await send(message)

    return sending
