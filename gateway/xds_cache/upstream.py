"""One stream to the control plane: subscribe as the Envoy, hand on every response, acknowledge.

Run by `agent`, once per connection; a stream that ends is not opened again here.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import grpc
from envoy.service.discovery.v3 import discovery_pb2

from controlplane.domain.errors import Refused, Retryable
from controlplane.domain.xds import AGENT_NAME, TYPE_URLS, WILDCARD, ResourceType
from gateway.options import AgentOptions
from gateway.xds_cache.cache import CachedResponse, response
from gateway.xds_cache.names import NAMED_BY, wanted

METHOD = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"
REFUSALS = frozenset({grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED})
# In the order of the control plane's answers, so that the gate for warm clusters finds them.
SUBSCRIBED = (
    ResourceType.CLUSTER,
    ResourceType.ENDPOINT,
    ResourceType.LISTENER,
    ResourceType.ROUTE,
    ResourceType.EXTENSION,
    ResourceType.SECRET,
)

if TYPE_CHECKING:
    Call = grpc.aio.StreamStreamCall[bytes, bytes]
    Method = grpc.aio.StreamStreamMultiCallable[bytes, bytes]
Responses = Mapping[ResourceType, CachedResponse]


@dataclass(slots=True, kw_only=True)
class _Asked:
    """What was last said about one type on this stream."""

    names: frozenset[str]
    nonce: str = ""


class Upstream:
    """A connection to the control plane."""

    def __init__(self, options: AgentOptions, cached: Responses) -> None:
        self._options = options
        self._cached = cached
        self._asked: dict[ResourceType, _Asked] = {}
        self._channel = grpc.aio.insecure_channel(
            _address(options), options=_channel_options(options)
        )
        self._call: Call | None = None

    async def connect(self, secret: str) -> None:
        """Open the stream and subscribe; what the cache holds is not sent again.

        Raises:
            Refused: the control plane is there and does not want this agent.
            Retryable: it is away.
        """
        stream: Method = self._channel.stream_stream(METHOD)
        call = self._call = stream(metadata=(("authorization", f"Bearer {secret}"),))
        try:
            async with asyncio.timeout(self._options.connect_timeout_s):
                for kind in SUBSCRIBED:
                    await self._ask(call, kind)
                await call.initial_metadata()
                # Initial metadata comes with a refusal too; only an open stream is a yes.
                if call.done():
                    await call.read()
        except TimeoutError as error:
            raise Retryable(
                "control_plane_silent",
                f"no answer from {_address(self._options)} within "
                f"{self._options.connect_timeout_s:g} s",
            ) from error
        except grpc.aio.AioRpcError as error:
            raise _translated(error) from error

    async def responses(self) -> AsyncIterator[tuple[CachedResponse, str]]:
        """Each response with its nonce, until the stream ends.

        Raises:
            Refused, Retryable: why it ended.
        """
        call = self._call
        if call is None:
            return
        try:
            while isinstance(raw := await call.read(), bytes):
                yield response(raw)
        except grpc.aio.AioRpcError as error:
            raise _translated(error) from error
        raise Retryable("control_plane_ended", "the control plane ended the stream")

    async def acknowledge(self, new: CachedResponse, nonce: str) -> None:
        """Tell that a response is kept, and ask for the resources that it names.

        Raises:
            Retryable: the stream is gone.
        """
        if self._call is None:
            return
        self._asked[new.type].nonce = nonce
        try:
            await self._ask(self._call, new.type)
            for named in NAMED_BY.get(new.type, ()):
                if wanted(named, self._cached) != self._asked[named].names:
                    await self._ask(self._call, named)
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError) as error:
            raise Retryable("control_plane_away", f"the stream broke: {error}") from error

    async def refuse(self, new: CachedResponse, nonce: str, words: str) -> None:
        """Tell that the Envoy has refused a response; what is kept stays.

        Raises:
            Retryable: the stream is gone.
        """
        if self._call is None:
            return
        self._asked[new.type].nonce = nonce
        try:
            await self._ask(self._call, new.type, words)
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError) as error:
            raise Retryable("control_plane_away", f"the stream broke: {error}") from error

    async def close(self) -> None:
        """End the connection."""
        await self._channel.close()

    async def _ask(self, call: "Call", kind: ResourceType, refused: str = "") -> None:
        names = wanted(kind, self._cached)
        first = not self._asked
        asked = self._asked.setdefault(kind, _Asked(names=names))
        asked.names = names
        if not names and kind not in WILDCARD:
            return
        held = self._cached.get(kind)
        message = discovery_pb2.DiscoveryRequest(
            type_url=TYPE_URLS[kind],
            resource_names=sorted(names),
            version_info=held.version if held else "",
            response_nonce=asked.nonce,
        )
        if refused:
            message.error_detail.message = refused
        if first:
            message.node.id = self._options.node
            message.node.cluster = self._options.group
            message.node.user_agent_name = AGENT_NAME
        await call.write(message.SerializeToString())


def _translated(error: grpc.aio.AioRpcError) -> Refused | Retryable:
    words = error.details() or error.code().name
    if error.code() in REFUSALS:
        return Refused("control_plane_refuses", words)
    return Retryable("control_plane_away", f"{error.code().name}: {words}")


def _address(options: AgentOptions) -> str:
    host, port = options.control_plane
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _channel_options(options: AgentOptions) -> list[tuple[str, int]]:
    return [
        ("grpc.max_receive_message_length", -1),
        # A channel of its own for each connection, or the library's back-off would add to ours.
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.enable_http_proxy", 0),
        ("grpc.keepalive_time_ms", round(options.keepalive_s * 1_000)),
        ("grpc.keepalive_timeout_ms", 2_000),
        # The library waits a minute for the answer to a probe, whatever the time-out above says.
        ("grpc.http2.ping_timeout_ms", 2_000),
        # By default it gives up probing after two, and a process that hangs later is never found.
        ("grpc.http2.max_pings_without_data", 0),
    ]
