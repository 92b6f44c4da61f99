"""A request on its way to an instance of its service, and its answer on the way back."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

import aiohttp
from aiohttp import web

from controlplane.domain.instances.placement import EVERY_VERSION
from controlplane.domain.routing.matching.request import REQUEST_ID, STICKY_COOKIE
from gateway.admission.enforcing import Answer, Headers, Outcome, Ruling
from gateway.application.lease import Lease
from gateway.application.retrying import Tries
from gateway.application.session import Session
from gateway.proxy.actions import Forward, changed_lines
from gateway.proxy.answers import SERVER, last_response, problem, response
from gateway.proxy.head import Judged
from gateway.proxy.options import ProxyOptions
from gateway.proxy.relaying import ClientGone, Copy, Upload, download
from gateway.proxy.upstreams import Upstreams, headers_of

STICKY_ATTRIBUTES = "Path=/; HttpOnly; SameSite=Lax"
# Who may be asked again elsewhere after a failure (RFC 9110, section 9.2.2), without a body.
REPEATABLE = frozenset({"GET", "HEAD", "OPTIONS"})
# What counts against an instance.
FAILURES: tuple[type[Exception], ...] = (OSError, aiohttp.ClientError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request of a client.

    Attributes:
        began_s: monotonic, when it was admitted: waiting for that is no time of the service.
    """

    client: web.BaseRequest
    upload: Upload
    judged: Judged
    ruling: Ruling
    began_s: float


class _BadBody(Exception):
    """The client's body is to blame; see `Upload.fault`."""


class Forwarder:
    """Asks instances for clients."""

    def __init__(self, session: Session, upstreams: Upstreams, options: ProxyOptions) -> None:
        self._session = session
        self._upstreams = upstreams
        self._options = options

    async def forward(self, exchange: Exchange, to: Forward) -> web.StreamResponse:
        """The service's answer, or why there is none.

        Raises:
            ClientGone: nobody takes it.
            ControlPlaneError: nobody is known who could be asked.
        """
        status = 0
        try:
            answer = await self._tried(exchange, to)
            status = answer.status
            return answer
        finally:
            if exchange.ruling.ended is not None:
                took_s = time.monotonic() - exchange.began_s
                exchange.ruling.ended(Outcome(status=status, took_s=took_s))

    async def _tried(self, exchange: Exchange, to: Forward) -> web.StreamResponse:
        tries = Tries(key=_sticky_key(to), version=to.version, began_s=time.monotonic())
        repeatable = to.request.method in REPEATABLE and exchange.judged.length == 0
        while True:
            try:
                with self._session.instance(to.service, tries.wish) as lease:
                    again = tries if repeatable else None
                    answer = await self._once(exchange, to, lease, again)
                if answer is not None:
                    return answer
            except _BadBody:
                # Nobody knows where the next request on this connection begins.
                wrong = exchange.upload.fault or problem(400, "body_unreadable", "it broke off")
                return last_response(wrong)
            except FAILURES as error:
                transport = exchange.client.transport
                if transport is None or transport.is_closing():
                    # Half of an answer is out: there is nobody left to be told anything.
                    raise ClientGone from error
                unsent = isinstance(error, aiohttp.ClientConnectorError)
                may_repeat = repeatable or (unsent and not exchange.upload.begun)
                if not (may_repeat and tries.again(lease, time.monotonic())):
                    return response(_failure(error, to.service), exchange.ruling.response_headers)

    async def _once(
        self, exchange: Exchange, to: Forward, lease: Lease, tries: Tries | None
    ) -> web.StreamResponse | None:
        """One try; None is an answer that another instance may better."""
        upload = exchange.upload
        async with asyncio.timeout(None) as clock:
            start = _starter(clock, _limit_s(to, lease, tries))
            pieces = None
            if exchange.judged.length == 0:
                start()
            else:
                pieces = upload.pieces(start)
            try:
                async with self._upstreams.asked(lease, to.request, pieces) as upstream:
                    clock.reschedule(None)
                    lease.answered(upstream.status)
                    if tries is not None and tries.again(lease, time.monotonic()):
                        return None
                    return await self._given(exchange, to, lease, upstream)
            except FAILURES as error:
                if upload.fault is not None:
                    raise _BadBody from error
                raise

    async def _given(
        self, exchange: Exchange, to: Forward, lease: Lease, upstream: aiohttp.ClientResponse
    ) -> web.StreamResponse:
        """The answer to the client, and a copy of it to whoever wants one."""
        copying = exchange.ruling.copied
        copy = None if copying is None else Copy(copying.most_bytes)
        headers = self._headers(exchange, to, lease, upstream)
        given = await download(exchange.client, upstream, headers, self._options.idle_s, copy)
        if copying is not None and copy is not None and copy.body is not None:
            lines = changed_lines(headers_of(upstream), to.response_headers)
            copying.take(Answer(status=upstream.status, headers=lines, body=copy.body))
        return given

    def _headers(
        self, exchange: Exchange, to: Forward, lease: Lease, upstream: aiohttp.ClientResponse
    ) -> Headers:
        lines = changed_lines(headers_of(upstream), to.response_headers)
        lines += exchange.ruling.response_headers
        if "server" not in upstream.headers:
            lines += (SERVER,)
        sticky = lease.service.load_balancing.sticky or to.version != EVERY_VERSION
        if sticky and STICKY_COOKIE not in to.request.cookies:
            value = f"{STICKY_COOKIE}={to.request.headers[REQUEST_ID]}; {STICKY_ATTRIBUTES}"
            lines += (("set-cookie", value),)
        return lines


def _sticky_key(to: Forward) -> str:
    return to.request.cookies.get(STICKY_COOKIE, "") or to.request.headers.get(REQUEST_ID, "")


def _starter(clock: asyncio.Timeout, limit_s: float) -> Callable[[], None]:
    """What starts the clock: at once, or when the client has sent all."""
    loop = asyncio.get_running_loop()

    def start() -> None:
        if not clock.expired():
            clock.reschedule(loop.time() + limit_s)

    return start


def _limit_s(to: Forward, lease: Lease, tries: Tries | None) -> float:
    """Until an answer begins: of one try where there may be another, else of all."""
    total_s = lease.total_s if to.timeout_s is None else to.timeout_s
    if tries is None:
        return total_s
    left_s = total_s - (time.monotonic() - tries.began_s)
    last = len(tries.tried) >= lease.service.retry.attempts
    return left_s if last else min(lease.timeout_s, left_s)


def _failure(error: Exception, service: str) -> Answer:
    if isinstance(error, TimeoutError):
        return problem(504, "upstream_timeout", f"service {service} did not answer in time")
    return problem(502, "upstream_failed", f"service {service} could not be asked")
