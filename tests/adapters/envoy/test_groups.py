"""Two groups of gateways, a real Envoy each: their own listeners, the same services and weights."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import pytest

from benchmarks.free_ports import free_port, free_ports
from benchmarks.live_envoy import backend, envoy, ready
from controlplane.adapters.envoy.bootstrap import BootstrapOptions, render
from controlplane.adapters.envoy.plane import EnvoyPlane
from controlplane.domain.services import Service
from controlplane.domain.topology import GatewayGroup
from tests.adapters.envoy.site import CENTERS, fleet, plane, prefix, service, snapshot

GROUPS = ("edge", "partners")


@dataclass(slots=True)
class Groups:
    """One plane and an Envoy for each group, which listens on the group's port."""

    plane: EnvoyPlane
    listeners: dict[str, int]
    services: list[Service]
    client: httpx.AsyncClient
    revision: int = 0

    async def publish(self, east: float) -> None:
        self.revision += 1
        routes = [prefix(one.name, one.name, f"/{one.name}") for one in self.services]
        declared = replace(
            fleet(self.services, routes),
            gateways=tuple(
                GatewayGroup(name=name, listen_port=port) for name, port in self.listeners.items()
            ),
        )
        await self.plane.apply(self.plane.render(snapshot(declared, self.revision, east)))

    async def until(self, group: str, path: str, answer: str) -> None:
        """Wait until eight requests to a group's gateway are all answered like this."""
        url = f"http://127.0.0.1:{self.listeners[group]}{path}"
        async with asyncio.timeout(10):
            while True:
                with contextlib.suppress(httpx.TransportError):
                    answers = [await self.client.get(url) for _ in range(8)]
                    if {one.text if one.is_success else "" for one in answers} == {answer}:
                        return
                await asyncio.sleep(0.02)


@pytest.fixture
async def groups(tmp_path: Path) -> AsyncIterator[Groups]:
    numbers = free_ports(6)
    async with contextlib.AsyncExitStack() as stack:
        for name, port in zip(CENTERS, numbers[:2], strict=True):
            await stack.enter_async_context(backend(name, [port]))
        one = Groups(
            plane=plane(),
            listeners=dict(zip(GROUPS, numbers[2:4], strict=True)),
            services=[service("web", numbers[:1], numbers[1:2])],
            client=await stack.enter_async_context(httpx.AsyncClient(trust_env=False)),
        )
        await one.publish(1.0)
        ads = await one.plane.start()
        stack.push_async_callback(one.plane.stop)
        for group, admin in zip(GROUPS, numbers[4:], strict=True):
            options = BootstrapOptions(
                node=f"{group}-1",
                group=group,
                control_plane=("127.0.0.1", ads),
                agent=None,
                admin=("127.0.0.1", admin),
            )
            folder = tmp_path / group
            folder.mkdir()
            await stack.enter_async_context(envoy(render(options), folder))
            await ready(admin)
        yield one


async def test_each_group_has_its_listener_and_all_services(groups: Groups) -> None:
    for group in GROUPS:
        await groups.until(group, "/web", "east")
    # One Envoy more on a port would share it with the first and hide that it is there.
    listening = {node.name: node.group for node in await groups.plane.observe() if node.connected}
    assert listening == {"edge-1": "edge", "partners-1": "partners"}


async def test_weights_and_new_services_reach_every_group(groups: Groups) -> None:
    await groups.publish(0.0)
    for group in GROUPS:
        await groups.until(group, "/web", "west")
    groups.services.append(replace(groups.services[0], name="api"))
    await groups.publish(1.0)
    for group in GROUPS:
        await groups.until(group, "/api", "east")


async def test_a_group_that_moves_its_port_leaves_the_other_alone(groups: Groups) -> None:
    moved = free_port()
    groups.listeners["partners"] = moved
    await groups.publish(1.0)
    await groups.until("partners", "/web", "east")
    await groups.until("edge", "/web", "east")
