"""A small fleet for clients: configurations without a control plane, and instances that answer."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from controlplane.domain.fleet_snapshot import build
from controlplane.domain.routing.route import (
    FixedResponse,
    PathMatch,
    Redirect,
    Route,
    VersionWeight,
)
from controlplane.domain.services import (
    Cluster,
    Endpoint,
    HealthCheck,
    LoadBalancing,
    RetryPolicy,
    Service,
)
from controlplane.domain.snapshot import encode
from controlplane.domain.topology import Datacenter, Fleet, GatewayGroup, Role
from gateway.application.last_good import Configuration, LastGood, configuration
from gateway.application.options import ClientOptions

GROUP = "edge"
SHARES = {"east": 0.8, "west": 0.2}
USUAL_PORTS = {"main": (1, 2, 3), "side": (4, 5), "spare": (6, 7), "": (8, 9)}
Ports = Mapping[str, Sequence[int]]


def cluster(center: str, name: str, ports: Ports, **more: object) -> Cluster:
    return Cluster(
        datacenter=center,
        name=name,
        capacity_rps=100.0,
        endpoints=tuple(
            Endpoint(address="127.0.0.1", port=port, version="v2" if name == "side" else "v1")
            for port in ports[name]
        ),
        **more,  # type: ignore[arg-type]
    )


def service(
    ports: Ports = USUAL_PORTS, balancing: LoadBalancing = LoadBalancing.ROUND_ROBIN
) -> Service:
    return Service(
        name="gates",
        load_balancing=balancing,
        health_check=HealthCheck(interval_ms=20, timeout_ms=200),
        retry=RetryPolicy(attempts=6, per_try_timeout_ms=200),
        clusters=(
            cluster("east", "main", ports, weight=300),
            cluster("east", "side", ports),
            cluster("east", "spare", ports, standby=True),
            cluster("west", "", ports),
        ),
    )


ROUTES = (
    Route(id="all", service="gates", path=PathMatch(value="/gates")),
    Route(
        id="split",
        service="gates",
        path=PathMatch(value="/split"),
        versions=(
            VersionWeight(version="v1", weight=9_000),
            VersionWeight(version="v2", weight=1_000),
        ),
    ),
    Route(id="moved", path=PathMatch(value="/old"), redirect=Redirect(status=308, path="/gates")),
    Route(
        id="away",
        path=PathMatch(value="/away"),
        redirect=Redirect(scheme="https", host="a.example", path="/x"),
    ),
    Route(id="closed", path=PathMatch(value="/closed"), response=FixedResponse(status=403)),
    Route(id="elsewhere", service="gates", path=PathMatch(value="/elsewhere"), gateways=("other",)),
)


def fleet(*services: Service) -> Fleet:
    return Fleet(
        datacenters=(
            Datacenter(name="east", role=Role.PRIMARY, region="r1"),
            Datacenter(name="west", role=Role.SAME_CITY, region="r2"),
        ),
        services=services or (service(),),
        gateways=(GatewayGroup(name=GROUP), GatewayGroup(name="south", region="south")),
        routes=ROUTES,
    )


def body(declared: Fleet, east: float = SHARES["east"]) -> bytes:
    split = {"east": east, "west": 1 - east}
    shares = {each.name: split for each in declared.services}
    south = {each.name: {"south": {"east": 0.25, "west": 0.75}} for each in declared.services}
    return encode(build(declared, shares, south))


def configured(declared: Fleet, east: float = SHARES["east"], revision: int = 1) -> Configuration:
    return configuration(body(declared, east), f'"{revision}"', revision, GROUP)


def options(folder: Path, url: str = "http://127.0.0.1:9", **more: object) -> ClientOptions:
    token = folder / "token"
    if not token.exists():
        token.write_text("sbx_test\n")
    return ClientOptions(
        urls=(url,),
        token_file=token,
        name="orders-1",
        group=GROUP,
        folder=folder / "kept",
        start_s=0.3,
        back_off_s=0.01,
        back_off_max_s=0.05,
        report_s=0.05,
        **more,  # type: ignore[arg-type]
    )


def keep(folder: Path, declared: Fleet) -> None:
    """As an earlier run would have left it."""
    (folder / "kept").mkdir(exist_ok=True)
    LastGood(folder / "kept").store(body(declared), '"1"', 1)


@dataclass(slots=True)
class Instances:
    """Servers on loopback by cluster; each answers with its cluster's name, or fails."""

    ports: dict[str, list[int]] = field(default_factory=dict)
    down: set[str] = field(default_factory=set)
    broken: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)

    async def answer(
        self, name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            request = await reader.readuntil(b"\r\n\r\n")
            probe = b" /healthz " in request
            if not probe:
                self.asked.append(name)
            if name not in self.down:
                status = b"503 No" if name in self.broken and not probe else b"200 OK"
                text = name.encode()
                head = b"HTTP/1.1 %b\r\nconnection: close\r\ncontent-length: %d\r\n\r\n"
                writer.write(head % (status, len(text)) + text)
                await writer.drain()
        writer.close()


@contextlib.asynccontextmanager
async def instances(counts: Mapping[str, int]) -> AsyncIterator[Instances]:
    """So many for each cluster, on free ports."""
    made = Instances()
    async with contextlib.AsyncExitStack() as stack:
        for name, count in counts.items():
            for _ in range(count):
                server = await asyncio.start_server(
                    lambda r, w, name=name: made.answer(name, r, w), "127.0.0.1", 0
                )
                await stack.enter_async_context(server)
                made.ports.setdefault(name, []).append(server.sockets[0].getsockname()[1])
        yield made
