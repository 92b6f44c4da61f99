"""A small site for the Envoy tests: fleet, snapshots, a plane, and an Envoy in front of it."""

import contextlib
import random
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import httpx

from benchmarks.free_ports import free_ports
from benchmarks.live_envoy import Child, backend, envoy, ready
from controlplane.adapters.envoy.ads import AdsOptions, Authorize
from controlplane.adapters.envoy.bootstrap import BootstrapOptions, render
from controlplane.adapters.envoy.clearance import ClearanceOptions
from controlplane.adapters.envoy.plane import EnvoyPlane, PlaneOptions
from controlplane.adapters.envoy.preflight import Preflight, find_envoy
from controlplane.domain.fleet_snapshot import build
from controlplane.domain.routing.route import PathMatch, PathMatchType, Route
from controlplane.domain.services import Cluster, Endpoint, Service
from controlplane.domain.snapshot import Snapshot
from controlplane.domain.topology import Datacenter, Fleet, GatewayGroup, Role

CENTERS = {"east": Role.PRIMARY, "west": Role.SAME_CITY}
GROUP = "edge"
T = TypeVar("T")


def prefix(name: str, service: str, path: str, *hosts: str) -> Route:
    return Route(id=name, service=service, path=PathMatch(value=path), hosts=hosts or ("*",))


def exact(name: str, service: str, path: str) -> Route:
    match = PathMatch(type=PathMatchType.EXACT, value=path)
    return Route(id=name, service=service, path=match)


def service(name: str, east: Sequence[int], west: Sequence[int]) -> Service:
    return Service(
        name=name,
        clusters=tuple(
            Cluster(
                datacenter=center,
                capacity_rps=100.0,
                endpoints=tuple(Endpoint(address="127.0.0.1", port=port) for port in ports),
            )
            for center, ports in (("east", east), ("west", west))
        ),
    )


def fleet(services: Sequence[Service], routes: Sequence[Route], listen_port: int = 10_000) -> Fleet:
    return Fleet(
        datacenters=tuple(
            Datacenter(name=name, role=role, region="r1") for name, role in CENTERS.items()
        ),
        services=tuple(services),
        gateways=(GatewayGroup(name=GROUP, listen_port=listen_port),),
        routes=tuple(routes),
    )


SMALL = fleet(
    [service("web", range(9001, 9006), range(9101, 9104)), service("api", [9201], [9301])],
    [prefix("all", "web", "/"), prefix("api", "api", "/api"), exact("one", "api", "/one")],
)


def snapshot(declared: Fleet, revision: int, east: float = 0.5) -> Snapshot:
    shares = {s.name: {"east": east, "west": 1 - east} for s in declared.services}
    return replace(build(declared, shares), revision=revision)


def shuffled(declared: Fleet, seed: int) -> Fleet:
    """The same fleet in another order."""
    rng = random.Random(seed)

    def mixed(items: tuple[T, ...]) -> tuple[T, ...]:
        return tuple(rng.sample(items, len(items)))

    services = [
        replace(
            s,
            clusters=mixed(tuple(replace(c, endpoints=mixed(c.endpoints)) for c in s.clusters)),
        )
        for s in declared.services
    ]
    return Fleet(
        datacenters=mixed(declared.datacenters),
        services=mixed(tuple(services)),
        gateways=mixed(declared.gateways),
        routes=mixed(declared.routes),
    )


async def anybody(secret: str | None, node: str, caller_group: str) -> None:
    """Let everybody subscribe."""


def plane(authorize: Authorize = anybody, recheck_s: float = 10.0) -> EnvoyPlane:
    options = PlaneOptions(
        ads=AdsOptions(port=0, recheck_s=recheck_s),
        clearance=ClearanceOptions(preflight=Preflight(binary=find_envoy())),
    )
    return EnvoyPlane(options, authorize, time.time)


@dataclass(slots=True, kw_only=True)
class Live:
    """A running Envoy with the backends of two data centres."""

    plane: EnvoyPlane
    admin: int
    listener: int
    ports: dict[str, list[int]]
    backends: dict[str, Child]
    client: httpx.AsyncClient
    revision: int = 0
    routes: list[Route] = field(default_factory=list)
    services: list[Service] = field(default_factory=list)

    def service(self, name: str) -> Service:
        return service(name, self.ports["east"], self.ports["west"])

    async def publish(self, east: float) -> None:
        self.revision += 1
        declared = fleet(self.services, self.routes, self.listener)
        await self.plane.apply(self.plane.render(snapshot(declared, self.revision, east)))

    async def get(self, path: str = "/", **headers: str) -> httpx.Response:
        # The whole address: `//api` alone would be taken for a host.
        url = f"http://127.0.0.1:{self.listener}{path}"
        answer = await self.client.get(url, headers=headers)
        self.client.cookies.clear()
        return answer


@contextlib.asynccontextmanager
async def running(
    folder: Path, bootstrapped: Callable[[str], str] = lambda text: text
) -> AsyncIterator[Live]:
    """Two data centres (5 and 3 endpoints) at half and half behind one Envoy.

    Args:
        bootstrapped: changes the text that the Envoy starts with.
    """
    numbers = free_ports(10)
    listener, admin = numbers[:2]
    ports = {"east": numbers[2:7], "west": numbers[7:10]}
    one = plane()
    async with contextlib.AsyncExitStack() as stack:
        backends = {
            name: await stack.enter_async_context(backend(name, ports[name])) for name in CENTERS
        }
        client = await stack.enter_async_context(
            httpx.AsyncClient(base_url=f"http://127.0.0.1:{listener}", trust_env=False)
        )
        live = Live(
            plane=one,
            admin=admin,
            listener=listener,
            ports=ports,
            backends=backends,
            client=client,
        )
        live.services, live.routes = [live.service("web")], [prefix("all", "web", "/")]
        await live.publish(0.5)
        ads = await one.start()
        stack.push_async_callback(one.stop)
        options = BootstrapOptions(
            node="edge-1",
            group=GROUP,
            control_plane=("127.0.0.1", ads),
            agent=None,
            admin=("127.0.0.1", admin),
        )
        await stack.enter_async_context(envoy(bootstrapped(render(options)), folder))
        await ready(admin)
        yield live
