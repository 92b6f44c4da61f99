"""The ADS server: one gRPC port, bytes in and bytes out, one session per stream.

Started by `plane`, which publishes views to it. What to send is decided by `domain.xds`; here it
is sent. A consumer that reads slowly blocks its own session only, and gets the newest version
when it reads again. Must never send anything to a caller that has not presented a token.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

import grpc
import structlog

from controlplane.adapters.envoy import load_reports
from controlplane.adapters.envoy.load_reports import LoadReports
from controlplane.adapters.envoy.nodes import NodeBook, StandingRefusal
from controlplane.adapters.envoy.offers import Asked, Offers, Refusal
from controlplane.adapters.envoy.resource_sets import View
from controlplane.adapters.envoy.session import Session, Surroundings
from controlplane.domain.errors import Retryable
from controlplane.domain.xds import (
    HEALTH_METHOD,
    HEALTH_SERVICE,
    HEALTH_SERVING,
    Event,
    ResourceType,
    Subscription,
)
from controlplane.ports.outside import PlaneNode

# (secret, node id, gateway group); raises ControlPlaneError when the caller may not subscribe.
Authorize = Callable[[str | None, str, str], Awaitable[object]]

SERVICE = "envoy.service.discovery.v3.AggregatedDiscoveryService"
METHOD = "StreamAggregatedResources"

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class AdsOptions:
    """Where to listen and how long to wait.

    Attributes:
        port: 0 takes a free one.
        authorize_timeout_s: for one check of a token.
        recheck_s: an open stream's token is checked again after this time without a push.
        first_request_timeout_s: a stream that says nothing for so long is closed.
        keepalive_s: a silent connection is probed after this time and closed without an answer.
    """

    host: str = "127.0.0.1"
    port: int = 18_000
    authorize_timeout_s: float = 2.0
    recheck_s: float = 10.0
    first_request_timeout_s: float = 10.0
    keepalive_s: float = 5.0


class AdsServer:
    """Streams and what they are to get; `loads` has what Envoys tell of their requests.

    Args:
        proven: told when an Envoy of a group is the first to run the newest version of a type.
    """

    def __init__(
        self,
        options: AdsOptions,
        authorize: Authorize,
        now: Callable[[], float],
        proven: Callable[[str, ResourceType], None] = lambda group, kind: None,
    ) -> None:
        self._options = options
        self._authorize = authorize
        self._book = NodeBook(now)
        self._offers = Offers(self._book)
        self._proven = proven
        self.loads = LoadReports(authorize, options.first_request_timeout_s)
        self._sessions: set[Session] = set()
        self._agents: dict[str, set[Session]] = {}
        self._server: grpc.aio.Server | None = None
        self.pushes = 0

    @property
    def acks(self) -> int:
        """Responses acknowledged since the start."""
        return self._book.acks

    @property
    def nacks(self) -> int:
        """Responses refused since the start."""
        return self._book.nacks

    async def start(self) -> int:
        """Open the port and return it.

        Raises:
            Retryable: it is taken.
        """
        server = grpc.aio.server(options=_channel_options(self._options))
        handler: grpc.RpcMethodHandler[bytes, bytes]
        handler = grpc.stream_stream_rpc_method_handler(self._stream)
        reporting: grpc.RpcMethodHandler[bytes, bytes]
        reporting = grpc.stream_stream_rpc_method_handler(self.loads.stream)
        alive: grpc.RpcMethodHandler[bytes, bytes]
        alive = grpc.unary_unary_rpc_method_handler(_alive)
        server.add_generic_rpc_handlers(
            (
                grpc.method_handlers_generic_handler(SERVICE, {METHOD: handler}),
                grpc.method_handlers_generic_handler(HEALTH_SERVICE, {HEALTH_METHOD: alive}),
                grpc.method_handlers_generic_handler(
                    load_reports.SERVICE, {load_reports.METHOD: reporting}
                ),
            )
        )
        host = self._options.host
        address = f"{f'[{host}]' if ':' in host else host}:{self._options.port}"
        try:
            port = server.add_insecure_port(address)
        except RuntimeError as error:
            raise Retryable(
                "ads_port_unavailable",
                f"cannot listen for Envoys on {address}: {error}; free the port or set another",
            ) from error
        await server.start()
        self._server = server
        log.info("ads.started", host=self._options.host, port=port)
        return port

    async def stop(self, grace_s: float = 0.0) -> None:
        """Close the port and every stream."""
        if self._server is not None:
            await self._server.stop(grace_s)
            self._server = None

    def publish(self, views: Mapping[str, View], revision: int) -> None:
        """Put new views in force and wake the sessions that they concern."""
        for session in self._sessions:
            session.note_revision()
        self._offers.publish(views, revision)
        for session in self._sessions:
            session.wake()

    def nodes(self) -> list[PlaneNode]:
        """Who runs what."""
        for session in self._sessions:
            session.note_revision()
        return self._book.all()

    def refusals(self) -> list[Refusal]:
        """Refusals of what is in force and runs nowhere."""
        return self._offers.quarantined()

    def standing_refusals(self, longer_s: float) -> list[StandingRefusal]:
        """What connected Envoys have refused for longer than this."""
        return self._book.standing(longer_s)

    async def _stream(
        self,
        requests: object,
        context: "grpc.aio.ServicerContext[bytes, bytes]",
    ) -> None:
        session = Session(
            context,
            Surroundings(
                options=self._options,
                authorize=self._authorize,
                book=self._book,
                offers=self._offers,
                pushed=self._pushed,
                heard=self._heard,
                entered=self._entered,
            ),
        )
        self._sessions.add(session)
        try:
            await session.run()
        finally:
            self._left(session)

    def _pushed(self) -> None:
        self.pushes += 1

    def _entered(self, session: Session) -> None:
        caller = session.caller
        if caller is not None and caller.agent:
            self._agents.setdefault(caller.node, set()).add(session)

    def _left(self, session: Session) -> None:
        self._sessions.discard(session)
        caller = session.caller
        if caller is None:
            return
        if caller.agent and (others := self._agents.get(caller.node)) is not None:
            others.discard(session)
            if not others:
                del self._agents[caller.node]
        # Without its Envoy an agent is offered what is new all the same.
        self._wake_agent(caller.node)

    def _heard(self, asked: Asked, event: Event, subscription: Subscription) -> None:
        if event is Event.NACK:
            self._offers.refused(asked, subscription.sent, subscription.message)
        elif subscription.acked and not asked.caller.agent:
            if self._offers.acknowledged(asked, subscription.acked):
                self._proven(asked.caller.group, asked.kind)
            self._wake_agent(asked.caller.node)

    def _wake_agent(self, node: str) -> None:
        """The agent beside an Envoy is offered what the Envoy has acknowledged."""
        for session in self._agents.get(node, ()):
            session.wake()


async def _alive(request: bytes, context: "grpc.aio.ServicerContext[bytes, bytes]") -> bytes:
    return HEALTH_SERVING


def _channel_options(options: AdsOptions) -> list[tuple[str, int]]:
    return [
        # Two control planes on one port would each get half of the streams.
        ("grpc.so_reuseport", 0),
        ("grpc.keepalive_time_ms", round(options.keepalive_s * 1_000)),
        ("grpc.keepalive_timeout_ms", round(options.keepalive_s * 1_000)),
        ("grpc.keepalive_permit_without_calls", 1),
        # The library waits a minute for the answer to a probe, whatever the time-out above says.
        ("grpc.http2.ping_timeout_ms", round(options.keepalive_s * 1_000)),
        # By default it gives up probing after two, and a peer that is lost later is never found.
        ("grpc.http2.max_pings_without_data", 0),
        # Envoy's own keepalive must not count as misuse.
        ("grpc.http2.min_ping_interval_without_data_ms", 1_000),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", 1_000),
        ("grpc.http2.max_ping_strikes", 0),
    ]
