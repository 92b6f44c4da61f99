"""Many ADS streams that acknowledge everything, each on a connection of its own.

Started by `benchmarks.push` as a child; no benchmark of its own.
"""

import asyncio
import sys

import grpc
from envoy.service.discovery.v3 import discovery_pb2

from controlplane.domain.xds import TYPE_URLS, ResourceType

METHOD = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"
GROUP = "edge"
CONNECTING_AT_ONCE = 20


class Client:
    """One stream: subscribe to everything, acknowledge what comes."""

    def __init__(self, address: str, node: str, services: list[str]) -> None:
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1)]
        self._channel = grpc.aio.insecure_channel(address, options=options)
        self._node = node
        self._names = {ResourceType.ENDPOINT: services, ResourceType.ROUTE: ["rules"]}
        self._missing = {
            TYPE_URLS[kind]
            for kind in (
                ResourceType.CLUSTER,
                ResourceType.ENDPOINT,
                ResourceType.LISTENER,
                ResourceType.ROUTE,
            )
        }
        self.complete = asyncio.Event()

    async def run(self) -> None:
        """Acknowledge until cancelled."""
        call: grpc.aio.StreamStreamCall[bytes, bytes]
        call = self._channel.stream_stream(METHOD)()
        names = {TYPE_URLS[kind]: given for kind, given in self._names.items()}
        for url in sorted(self._missing):
            request = discovery_pb2.DiscoveryRequest(type_url=url, resource_names=names.get(url))
            request.node.id, request.node.cluster = self._node, GROUP
            await call.write(request.SerializeToString())
        while isinstance(raw := await call.read(), bytes):
            response = discovery_pb2.DiscoveryResponse.FromString(raw)
            answer = discovery_pb2.DiscoveryRequest(
                type_url=response.type_url,
                resource_names=names.get(response.type_url),
                version_info=response.version_info,
                response_nonce=response.nonce,
            )
            await call.write(answer.SerializeToString())
            self._missing.discard(response.type_url)
            if not self._missing:
                self.complete.set()


async def main(address: str, first: int, count: int, services: list[str]) -> None:
    """Connect them a few at a time, say so, and hold them until the process is ended."""
    clients = [Client(address, f"fake-{first + i}", services) for i in range(count)]
    gate = asyncio.Semaphore(CONNECTING_AT_ONCE)
    async with asyncio.TaskGroup() as running:
        connected = [running.create_task(_connect(client, gate, running)) for client in clients]
        await asyncio.gather(*connected)
        print("ready", flush=True)


async def _connect(client: Client, gate: asyncio.Semaphore, running: asyncio.TaskGroup) -> None:
    async with gate:
        running.create_task(client.run())
        await client.complete.wait()


def run() -> None:
    """Connect as the command line says: HOST:PORT, first number, count, services."""
    _, place, start, number, *services = sys.argv
    asyncio.run(main(place, int(start), int(number), services))
