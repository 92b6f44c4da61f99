"""One request from its head to its end, and the proxy's life around it.

A request is judged once (`head`), gets its route by the same matcher as everywhere, is asked of the
policies, and goes to an instance of its service as the application's client would choose it.
"""

import asyncio
import ipaddress
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import replace

import structlog
from aiohttp import web

from controlplane.domain.admission.asking import Asked, Verdict
from controlplane.domain.errors import ControlPlaneError
from controlplane.domain.instances.placement import EVERY_VERSION
from controlplane.domain.routing.matching.request import Request
from gateway.admission.enforcing import Answer, Ruling
from gateway.admission.judging import without
from gateway.admission.usual_answers import usual
from gateway.application.session import Session
from gateway.proxy.actions import Forward, action
from gateway.proxy.answers import last_response, problem, response
from gateway.proxy.forwarding import Exchange, Forwarder
from gateway.proxy.head import Fault, Head, Judged, Terms, judged
from gateway.proxy.listening import Listener
from gateway.proxy.options import ProxyOptions
from gateway.proxy.relaying import ClientGone, Upload
from gateway.proxy.upstreams import Upstreams

log = structlog.get_logger()

Rule = Callable[[Asked], Awaitable[Ruling]]
BACKLOG = 1_024
# How long requests that are under way may take to end when the proxy stops.
DRAIN_S = 10.0


class Proxy:
    """One port.

    Args:
        session: who serves what; runs already.
        rule: what the policies say of a request.
        region: where this gateway's requests come from; "" is unknown.
        upstreams: connections to endpoints; with None it has its own.
    """

    def __init__(
        self,
        session: Session,
        rule: Rule,
        options: ProxyOptions,
        region: str = "",
        upstreams: Upstreams | None = None,
    ) -> None:
        self._session = session
        self._rule = rule
        self._options = options
        self._region = region
        self._terms = Terms(
            trusted=tuple(ipaddress.ip_network(network) for network in options.trusted),
            most_header_bytes=options.most_header_bytes,
            most_body_bytes=options.most_body_bytes,
        )
        self.upstreams = upstreams or Upstreams(options)
        self._forwarder = Forwarder(session, self.upstreams, options)
        # Told the status of each answer; 0 is none, because the client went away.
        self.counted: Callable[[int], None] = lambda status: None
        # Headers that policies set for services, in lower case: a client's word does not count.
        self.told: Callable[[], frozenset[str]] = frozenset
        self._listener: Listener | None = None
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> int:
        """Listen and return the port.

        Raises:
            OSError: the address cannot be had.
        """
        await self.upstreams.start()
        self._listener = Listener(self._handle, self._options)
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._listener, host, port, backlog=BACKLOG)
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Take no new connection, let requests under way end for a while, close everything."""
        if self._server is not None and self._listener is not None:
            self._server.close()
            self._listener.pre_shutdown()
            await self._listener.shutdown(DRAIN_S)
        await self.upstreams.close()

    @property
    def connections(self) -> int:
        """Of clients, now."""
        return 0 if self._listener is None else len(self._listener.connections)

    async def _handle(self, client: web.BaseRequest) -> web.StreamResponse:
        status = 0
        try:
            given = await self._given(client)
            status = given.status
            return given
        finally:
            self.counted(status)

    async def _given(self, client: web.BaseRequest) -> web.StreamResponse:
        meant = judged(_head(client), self._terms)
        if isinstance(meant, Fault):
            words = f"this request is not forwarded: {meant.reason.replace('_', ' ')}"
            return last_response(problem(meant.status, "request_refused", words))
        try:
            return await self._answered(client, meant)
        except ControlPlaneError as error:
            return last_response(problem(503, error.code, error.message))
        except ClientGone as error:
            raise ConnectionResetError("the client is gone") from error

    async def _answered(self, client: web.BaseRequest, meant: Judged) -> web.StreamResponse:
        meant = replace(meant, request=without(meant.request, self.told()))
        now_s = time.time()
        route, does = self._routed(meant.request, now_s)
        asked = Asked(
            request=meant.request,
            now_s=now_s,
            route=route,
            service=does.service if isinstance(does, Forward) else "",
            region=self._region,
        )
        ruling = await self._rule(asked)
        if ruling.decision.verdict is Verdict.ADMIT and ruling.request_headers:
            # What policies say may choose a route, a level of risk for instance, as on Envoy.
            _, does = self._routed(_told(meant.request, ruling), now_s)
        does = _by_ruling(does, ruling, meant.request)
        if isinstance(does, Answer):
            return response(does, ruling.response_headers)
        exchange = Exchange(
            client=client,
            upload=Upload(client, meant, self._options, ruling.most_body_bytes),
            judged=meant,
            ruling=ruling,
            began_s=time.monotonic(),
        )
        return await self._forwarder.forward(exchange, does)

    def _routed(self, request: Request, now_s: float) -> tuple[str, Forward | Answer]:
        """The id of a request's route, "" is none, and what it makes of it."""
        found = self._session.directory.table.match(request, now_s).route
        return "" if found is None else found.id, action(found, request)


def _told(request: Request, ruling: Ruling) -> Request:
    """The request with the headers of the policies."""
    given = {name.lower(): value for name, value in ruling.request_headers}
    return replace(request, headers={**request.headers, **given})


def _head(client: web.BaseRequest) -> Head:
    peer = client.transport.get_extra_info("peername") if client.transport is not None else None
    return Head(
        method=client.method,
        target=client.raw_path,
        version=(client.version.major, client.version.minor),
        headers=tuple(client.raw_headers),
        peer=str(peer[0]) if isinstance(peer, tuple) else "",
        request_id=str(uuid.uuid4()),
    )


def _by_ruling(does: Forward | Answer, ruling: Ruling, request: Request) -> Forward | Answer:
    """What becomes of a request when the policies were asked, too."""
    decision = ruling.decision
    if decision.verdict is Verdict.ADMIT:
        return does
    if decision.verdict is Verdict.DIVERT and isinstance(does, Forward):
        return replace(does, service=decision.service, version=EVERY_VERSION)
    return ruling.answer or usual(decision, request)
