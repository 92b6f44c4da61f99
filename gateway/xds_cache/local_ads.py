"""ADS on loopback from the cache, while the control plane is away and never beside it.

Run by `agent`, which opens and closes it. Envoy does not go back to the control plane by itself
while a stream here is open, so closing ends the streams.
"""

import asyncio
import contextlib

import grpc
import structlog
from envoy.service.discovery.v3 import discovery_pb2
from google.protobuf.message import DecodeError

from controlplane.domain import xds
from controlplane.domain.errors import Retryable
from controlplane.domain.xds import (
    HEALTH_METHOD,
    HEALTH_SERVICE,
    HEALTH_SERVING,
    Event,
    Request,
    ResourceType,
)
from gateway.options import Place
from gateway.xds_cache.cache import DiskCache

SERVICE = "envoy.service.discovery.v3.AggregatedDiscoveryService"
METHOD = "StreamAggregatedResources"
NOT_NOW = "the control plane is there: ask it"

log = structlog.get_logger()


class LocalAds:
    """The cache as an ADS server with a door."""

    def __init__(self, cache: DiskCache) -> None:
        self._cache = cache
        self._open = False
        self._streams: set[_LocalStream] = set()
        self._server: grpc.aio.Server | None = None

    async def start(self, listen: Place) -> int:
        """Take the port, with the door closed, and return it.

        Raises:
            Retryable: it is taken.
        """
        server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
        handler: grpc.RpcMethodHandler[bytes, bytes]
        handler = grpc.stream_stream_rpc_method_handler(self._serve)
        alive: grpc.RpcMethodHandler[bytes, bytes]
        alive = grpc.unary_unary_rpc_method_handler(_alive)
        server.add_generic_rpc_handlers(
            (
                grpc.method_handlers_generic_handler(SERVICE, {METHOD: handler}),
                grpc.method_handlers_generic_handler(HEALTH_SERVICE, {HEALTH_METHOD: alive}),
            )
        )
        host, wanted = listen
        address = f"[{host}]:{wanted}" if ":" in host else f"{host}:{wanted}"
        try:
            port = server.add_insecure_port(address)
        except RuntimeError as error:
            raise Retryable(
                "agent_port_unavailable", f"cannot listen on {address}: {error}; free the port"
            ) from error
        await server.start()
        self._server = server
        return port

    async def stop(self) -> None:
        """Give the port back and end every stream."""
        if self._server is not None:
            await self._server.stop(0)
            self._server = None

    def open(self) -> None:
        """The control plane is away: serve."""
        if not self._open:
            log.info("cache.serving", types=sorted(kind.value for kind in self._cache.responses))
        self._open = True

    def close(self) -> None:
        """The control plane is there: send everybody to it."""
        if self._open:
            log.info("cache.closed", streams=len(self._streams))
        self._open = False
        for stream in self._streams:
            stream.end()

    async def _serve(
        self, requests: object, context: "grpc.aio.ServicerContext[bytes, bytes]"
    ) -> None:
        if not self._open:
            await context.abort(grpc.StatusCode.UNAVAILABLE, NOT_NOW)
        stream = _LocalStream(context, self._cache)
        self._streams.add(stream)
        try:
            await stream.run()
        finally:
            self._streams.discard(stream)
        if stream.ended:
            await context.abort(grpc.StatusCode.UNAVAILABLE, NOT_NOW)


async def _alive(request: bytes, context: "grpc.aio.ServicerContext[bytes, bytes]") -> bytes:
    return HEALTH_SERVING


class _LocalStream:
    """One Envoy. No response comes while it is served; what it refuses is replaced."""

    def __init__(
        self,
        context: "grpc.aio.ServicerContext[bytes, bytes]",
        cache: DiskCache,
    ) -> None:
        self._context = context
        self._cache = cache
        self._stream = xds.Stream()
        self._ending = asyncio.Event()

    @property
    def ended(self) -> bool:
        return self._ending.is_set()

    def end(self) -> None:
        self._ending.set()

    async def run(self) -> None:
        serving = asyncio.create_task(self._answer())
        ended = asyncio.create_task(self._ending.wait())
        try:
            await asyncio.wait({serving, ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (serving, ended):
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    async def _answer(self) -> None:
        while isinstance(raw := await self._context.read(), bytes):
            try:
                await self._take(discovery_pb2.DiscoveryRequest.FromString(raw))
            except DecodeError:
                log.warning("cache.unreadable_request")
                return
            await self._send()

    async def _send(self) -> None:
        held = self._cache.responses
        versions = {kind: cached.version for kind, cached in held.items()}
        while (kind := xds.due(self._stream, versions)) is not None:
            self._stream = xds.send(self._stream, kind, versions[kind])
            nonce = self._stream.subscriptions[kind].nonce
            await self._context.write(held[kind].with_nonce(nonce))

    async def _take(self, message: discovery_pb2.DiscoveryRequest) -> None:
        kind = xds.TYPES.get(message.type_url)
        if kind is None:
            return
        request = Request(
            type=kind,
            names=frozenset(message.resource_names),
            version=message.version_info,
            nonce=message.response_nonce,
            error=message.error_detail.message if message.HasField("error_detail") else None,
        )
        self._stream, event = xds.receive(self._stream, request)
        sent = self._stream.subscriptions[kind].sent
        if event is Event.ACK:
            self._cache.acknowledged(kind, sent)
        if event is Event.NACK:
            log.warning("cache.nack", type=kind.value, words=request.error)
            if self._cache.refuse(kind, sent, request.error or ""):
                log.warning("cache.earlier_one_served", type=kind.value)
                await self._store(kind)

    async def _store(self, kind: ResourceType) -> None:
        try:
            await asyncio.to_thread(self._cache.store, kind)
        except OSError as error:
            log.error("cache.not_stored", type=kind.value, why=str(error))  # noqa: TRY400
