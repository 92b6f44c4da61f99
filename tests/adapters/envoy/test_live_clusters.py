"""A real Envoy before several clusters of one service: weights, the standby, versions."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from benchmarks.free_ports import free_ports
from benchmarks.live_envoy import Child, backend, stats
from controlplane.adapters.envoy.clusters import cluster_name
from controlplane.domain.services import Cluster, Endpoint, LoadBalancing, Service
from tests.adapters.envoy.site import Live, running
from tests.adapters.envoy.test_live import Load, until_healthy

# Of the first data centre a quarter goes to its second cluster.
EAST = 0.8
USUAL = {"main": 0.6, "side": 0.2, "west": 0.2}
ENOUGH = 250


@dataclass(frozen=True, slots=True, kw_only=True)
class Clusters:
    live: Live
    ports: dict[str, list[int]]
    backends: dict[str, Child]
    stack: contextlib.AsyncExitStack

    async def revive(self, name: str) -> None:
        self.backends[name] = await self.stack.enter_async_context(backend(name, self.ports[name]))

    async def until(self, load: Load, wanted: Mapping[str, float]) -> None:
        """Wait until these and nobody else serve, each with its share."""
        found: dict[str, float] = {}
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(50):
                while found != pytest.approx(dict(wanted), abs=0.06):
                    load.answers.clear()
                    # Enough to tell shares, however slow the machine is.
                    while load.answers.total() < ENOUGH:
                        await asyncio.sleep(0.1)
                    total = load.answers.total()
                    found = {name: count / total for name, count in load.answers.items()}
        assert found == pytest.approx(dict(wanted), abs=0.06)


def named(name: str, ports: list[int], **more: object) -> Cluster:
    return Cluster(
        datacenter="east",
        name=name,
        capacity_rps=100.0,
        endpoints=tuple(Endpoint(address="127.0.0.1", port=port) for port in ports),
        **more,  # type: ignore[arg-type]
    )


def split(live: Live, ports: Mapping[str, list[int]]) -> Service:
    web = live.service("web")
    return replace(
        web,
        clusters=(
            named("main", ports["main"], weight=300),
            named("side", ports["side"]),
            named("spare", ports["spare"], standby=True),
            web.clusters[1],
        ),
    )


@pytest.fixture
async def clusters(tmp_path: Path) -> AsyncIterator[Clusters]:
    numbers = free_ports(10)
    ports = {"main": numbers[:5], "side": numbers[5:7], "spare": numbers[7:]}
    async with running(tmp_path) as live, contextlib.AsyncExitStack() as stack:
        backends = {
            name: await stack.enter_async_context(backend(name, own)) for name, own in ports.items()
        }
        live.services = [split(live, ports)]
        await live.publish(EAST)
        await until_healthy(live)
        yield Clusters(live=live, ports=ports, backends=backends, stack=stack)


async def test_clusters_share_and_a_standby_takes_over_and_goes_back(clusters: Clusters) -> None:
    load = Load(clusters.live)
    async with load.on():
        await clusters.until(load, USUAL)
        await clusters.backends["main"].kill()
        # What is missing goes to the standby; the others keep what they have.
        await clusters.until(load, {"spare": 0.6, "side": 0.2, "west": 0.2})
        await clusters.revive("main")
        await clusters.until(load, USUAL)
    assert load.failed == []


async def test_a_version_has_a_cluster_of_its_own(clusters: Clusters) -> None:
    live = clusters.live
    web = split(live, clusters.ports)
    marked = tuple(
        replace(
            each,
            endpoints=tuple(
                replace(one, version="v2" if each.name == "side" else "v1")
                for one in each.endpoints
            ),
        )
        for each in web.clusters
    )
    live.services = [replace(web, clusters=marked, load_balancing=LoadBalancing.BOUNDED_HASH)]
    await live.publish(EAST)
    members = {cluster_name("web"): 13, cluster_name("web", "v1"): 11, cluster_name("web", "v2"): 2}
    async with asyncio.timeout(10):
        while await healthy(live) != members:
            await asyncio.sleep(0.05)
    load = Load(live)
    async with load.on():
        await clusters.until(load, USUAL)
    assert load.failed == []


async def healthy(live: Live) -> dict[str, int]:
    """Cluster -> endpoints that passed their checks."""
    # Envoy writes a colon in a statistic's name as an underscore.
    found = await stats(live.admin, r"^cluster\.web.*\.membership_healthy$")
    return {name.split(".")[1].replace("_", ":"): count for name, count in found.items()}
