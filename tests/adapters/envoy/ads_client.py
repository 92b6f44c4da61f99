"""An ADS stream of our own for the tests: asks, reads, answers, and knows nothing better."""

import contextlib
from collections.abc import AsyncIterator

import grpc
from envoy.service.discovery.v3 import discovery_pb2

from controlplane.domain.xds import TYPE_URLS, ResourceType

METHOD = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"


class AdsClient:
    def __init__(self, call: grpc.aio.StreamStreamCall, node: str, group: str) -> None:
        self.call = call
        self._node, self._group = node, group
        self.program = "envoy"

    async def ask(
        self, kind: ResourceType, *names: str, version: str = "", nonce: str = ""
    ) -> None:
        message = discovery_pb2.DiscoveryRequest(
            type_url=TYPE_URLS[kind],
            resource_names=names,
            version_info=version,
            response_nonce=nonce,
        )
        message.node.id, message.node.cluster = self._node, self._group
        message.node.user_agent_name = self.program
        await self.call.write(message.SerializeToString())

    async def response(self) -> discovery_pb2.DiscoveryResponse:
        raw = await self.call.read()
        assert isinstance(raw, bytes), "the stream has ended"
        return discovery_pb2.DiscoveryResponse.FromString(raw)

    async def ack(self, response: discovery_pb2.DiscoveryResponse, *names: str) -> None:
        message = discovery_pb2.DiscoveryRequest(
            type_url=response.type_url,
            resource_names=names,
            version_info=response.version_info,
            response_nonce=response.nonce,
        )
        await self.call.write(message.SerializeToString())

    async def nack(
        self, response: discovery_pb2.DiscoveryResponse, words: str, *names: str
    ) -> None:
        message = discovery_pb2.DiscoveryRequest(
            type_url=response.type_url, resource_names=names, response_nonce=response.nonce
        )
        message.error_detail.message = words
        await self.call.write(message.SerializeToString())


@contextlib.asynccontextmanager
async def connected(
    port: int, *, node: str = "n1", group: str = "edge", token: str | None = "good"
) -> AsyncIterator[AdsClient]:
    options = [("grpc.use_local_subchannel_pool", 1)]
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
        metadata = () if token is None else (("authorization", f"Bearer {token}"),)
        call = channel.stream_stream(METHOD)(metadata=metadata)
        yield AdsClient(call, node, group)
        call.cancel()
