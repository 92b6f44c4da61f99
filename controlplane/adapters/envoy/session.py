"""One ADS stream: who calls, what it subscribes to, what it is sent.

Run by `ads`, one per stream, in that stream's task.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

import grpc
import structlog
from envoy.service.discovery.v3 import discovery_pb2
from google.protobuf.message import DecodeError

from controlplane.adapters.envoy.nodes import NodeBook, NodeRecord
from controlplane.adapters.envoy.offers import Asked, Caller, Offers
from controlplane.adapters.envoy.resource_sets import Response
from controlplane.domain import xds
from controlplane.domain.errors import ControlPlaneError, Retryable
from controlplane.domain.xds import Event, Request, ResourceType, Subscription

BEARER = "bearer "
# Names of callers stand in tables, logs and messages.
LONGEST_NAME = 200
# Envoy names each cluster that it refuses, so its words may be many.
LONGEST_REFUSAL = 20_000

log = structlog.get_logger()


class Waits(Protocol):
    """The deadlines of a session, in seconds."""

    @property
    def authorize_timeout_s(self) -> float: ...
    @property
    def recheck_s(self) -> float: ...
    @property
    def first_request_timeout_s(self) -> float: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the server lends to its sessions."""

    options: Waits
    authorize: Callable[[str | None, str, str], Awaitable[object]]
    book: NodeBook
    offers: Offers
    pushed: Callable[[], None]
    heard: Callable[[Asked, Event, Subscription], None]
    entered: Callable[["Session"], None]


class Session:
    """The life of one stream."""

    def __init__(
        self, context: "grpc.aio.ServicerContext[bytes, bytes]", around: Surroundings
    ) -> None:
        self._context = context
        self._around = around
        self._stream = xds.Stream()
        self._wake = asyncio.Event()
        self._closed = False
        self._caller: Caller | None = None
        self._record: NodeRecord | None = None

    async def run(self) -> None:
        """Serve the stream until one side ends it."""
        first = await self._first_request()
        if first is None:
            return
        caller = _caller(first, self._context)
        misnamed = _misnamed(caller)
        if misnamed is not None:
            log.warning("ads.misnamed", why=misnamed)
            await self._context.abort(grpc.StatusCode.INVALID_ARGUMENT, misnamed)
        refusal = await self._refusal(caller)
        if refusal is not None:
            log.warning("ads.refused", node=caller.name, group=caller.group, why=refusal[1])
            await self._context.abort(*refusal)
        self._caller = caller
        # Tells a waiting agent that it is connected, even when nothing is to be sent.
        await self._context.send_initial_metadata(())
        await self._serve(caller, first)

    def wake(self) -> None:
        """Look again at what is due."""
        self._wake.set()

    @property
    def caller(self) -> Caller | None:
        """Who called, once it is known."""
        return self._caller

    def note_revision(self) -> None:
        """Record that this consumer runs the revision in force, if it does."""
        newest = {kind: r.version for kind, r in self._each(self._around.offers.newest).items()}
        if self._record is not None and xds.settled(self._stream, newest):
            self._record.revision = self._around.offers.revision

    async def _first_request(self) -> discovery_pb2.DiscoveryRequest | None:
        wait_s = self._around.options.first_request_timeout_s
        try:
            raw: object = await asyncio.wait_for(self._context.read(), wait_s)
        except TimeoutError:
            await self._context.abort(
                grpc.StatusCode.DEADLINE_EXCEEDED, f"no discovery request within {wait_s:g} s"
            )
        if not isinstance(raw, bytes):
            return None
        try:
            return discovery_pb2.DiscoveryRequest.FromString(raw)
        except DecodeError:
            await self._context.abort(grpc.StatusCode.INVALID_ARGUMENT, "not a DiscoveryRequest")

    async def _refusal(self, caller: Caller) -> tuple[grpc.StatusCode, str] | None:
        try:
            async with asyncio.timeout(self._around.options.authorize_timeout_s):
                await self._around.authorize(caller.secret, caller.node, caller.group)
        except TimeoutError:
            return grpc.StatusCode.UNAVAILABLE, "the token could not be checked in time"
        except Retryable as error:
            return grpc.StatusCode.UNAVAILABLE, error.message
        except ControlPlaneError as error:
            known = error.code != "unauthenticated"
            code = grpc.StatusCode.PERMISSION_DENIED if known else grpc.StatusCode.UNAUTHENTICATED
            return code, error.message
        return None

    async def _serve(self, caller: Caller, first: discovery_pb2.DiscoveryRequest) -> None:
        record = self._record = self._around.book.joined(caller)
        self._stream = xds.Stream(quarantine=dict(record.quarantine))
        self._around.entered(self)
        log.info("ads.joined", node=caller.name, group=caller.group)
        self._take(first)
        reader = asyncio.create_task(self._read())
        try:
            await self._write(caller)
        finally:
            reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reader
            self.note_revision()
            self._around.book.left(record)
            log.info("ads.left", node=caller.name, group=caller.group)

    async def _read(self) -> None:
        try:
            while isinstance(raw := await self._context.read(), bytes):
                self._take(discovery_pb2.DiscoveryRequest.FromString(raw))
        except DecodeError:
            log.warning("ads.unreadable_request", node=self._caller and self._caller.name)
        finally:
            self._closed = True
            self._wake.set()

    async def _write(self, caller: Caller) -> None:
        while not self._closed:
            self._wake.clear()
            while (response := self._next()) is not None:
                self._around.pushed()
                await self._context.write(response)
            try:
                # Python 3.11's `wait_for` loses a stop that comes with the news.
                async with asyncio.timeout(self._around.options.recheck_s):
                    await self._wake.wait()
            except TimeoutError:
                await self._check_again(caller)

    async def _check_again(self, caller: Caller) -> None:
        # A database that is away must not end streams; a revoked token must.
        refusal = await self._refusal(caller)
        if refusal is not None and refusal[0] is not grpc.StatusCode.UNAVAILABLE:
            log.warning("ads.ended", node=caller.name, group=caller.group, why=refusal[1])
            await self._context.abort(*refusal)

    def _next(self) -> bytes | None:
        responses = self._each(self._around.offers.offer)
        kind = xds.due(self._stream, {k: r.version for k, r in responses.items()})
        if kind is None or self._caller is None:
            return None
        self._stream = xds.send(self._stream, kind, responses[kind].version)
        subscription = self._stream.subscriptions[kind]
        identifier = self._around.offers.identifier(
            Asked(caller=self._caller, kind=kind, names=subscription.names), subscription.sent
        )
        return responses[kind].with_nonce(subscription.nonce, identifier)

    def _each(
        self, response_of: Callable[[Asked], Response | None]
    ) -> dict[ResourceType, Response]:
        if self._caller is None:
            return {}
        found = {
            kind: response_of(Asked(caller=self._caller, kind=kind, names=subscription.names))
            for kind, subscription in self._stream.subscriptions.items()
        }
        return {kind: response for kind, response in found.items() if response is not None}

    def _take(self, message: discovery_pb2.DiscoveryRequest) -> None:
        kind = xds.TYPES.get(message.type_url)
        if kind is None or self._record is None or self._caller is None:
            return
        self._stream, event = xds.receive(self._stream, _request(kind, message))
        self._around.book.saw(self._record, kind, event, self._stream)
        subscription = self._stream.subscriptions[kind]
        asked = Asked(caller=self._caller, kind=kind, names=subscription.names)
        self._around.heard(asked, event, subscription)
        if event is Event.NACK:
            words = subscription.message
            log.warning("ads.nack", node=self._record.name, type=kind.value, words=words)
        if event is Event.ACK:
            self.note_revision()
        self._wake.set()


def _request(kind: ResourceType, message: discovery_pb2.DiscoveryRequest) -> Request:
    refused = message.HasField("error_detail")
    return Request(
        type=kind,
        names=frozenset(message.resource_names),
        version=message.version_info,
        nonce=message.response_nonce,
        error=message.error_detail.message[:LONGEST_REFUSAL] if refused else None,
    )


def _caller(
    first: discovery_pb2.DiscoveryRequest, context: "grpc.aio.ServicerContext[bytes, bytes]"
) -> Caller:
    metadata = dict(context.invocation_metadata() or ())
    given = metadata.get("authorization", "")
    text = given if isinstance(given, str) else ""
    bearer = text[len(BEARER) :] if text[: len(BEARER)].lower() == BEARER else None
    return Caller(
        secret=bearer,
        node=first.node.id,
        group=first.node.cluster,
        agent=first.node.user_agent_name == xds.AGENT_NAME,
    )


def _misnamed(caller: Caller) -> str | None:
    """What is wrong with the names of a caller."""
    for what, name in (("id", caller.node), ("cluster", caller.group)):
        if not (0 < len(name) <= LONGEST_NAME and name.isprintable()):
            return (
                f"node.{what} is {name[:80]!r}; give 1 to {LONGEST_NAME} printable characters: id "
                "names this Envoy, cluster its gateway group"
            )
    return None
