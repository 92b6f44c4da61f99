"""What the station benchmark runs: six regional servers, the diverter, HAProxy, and their fleet."""

import asyncio
import contextlib
import shutil
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from benchmarks.free_ports import free_ports
from benchmarks.live_envoy import Child
from controlplane.domain import canonical
from controlplane.domain.admission.policy import Attachment, Policy
from controlplane.domain.admission.regional_overflow.policy import (
    RegionalOverflowPolicy,
    StationGroup,
)
from controlplane.domain.admission.section import received
from controlplane.domain.fleet_snapshot import build
from controlplane.domain.services import Cluster, Endpoint, Service, StrategyName
from controlplane.domain.snapshot import Section, Snapshot
from controlplane.domain.topology import Datacenter, Fleet, GatewayGroup, Role
from gateway.diverter.diverter import FILE_NAME, MAGIC, services_of
from gateway.last_good.policy_file import policy_file
from gateway.last_good.polling import Fetched
from gateway.last_good.section_file import SectionFile

STATIONS = 3_111
# Shares of the six regions in a morning: two send most of it.
SHARES = (0.30, 0.25, 0.15, 0.12, 0.10, 0.08)
LOOPBACK = "127.0.0.1"
SERVICE = "stations"
READY_S = 20.0
POLL_S = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What runs: servers by number, and ports of everything."""

    servers: Sequence[Child]
    server_ports: Sequence[int]
    diverter: int
    loads: int
    status: int
    haproxy: int | None


def policy() -> RegionalOverflowPolicy:
    """Stations by number; the pool counts more than connections, because it is what is told."""
    ends = [round(STATIONS * sum(SHARES[: at + 1])) for at in range(len(SHARES))]
    starts = [0, *ends[:-1]]
    return RegionalOverflowPolicy(
        alpha=0.3,
        connection_limit=1_000,
        critical_load=0.6,
        return_load=0.5,
        reply_s=0.5,
        stations=tuple(
            StationGroup(region=f"region-{at}", first=first, last=end - 1)
            for at, (first, end) in enumerate(zip(starts, ends, strict=True))
        ),
    )


def fleet(ports: Sequence[int]) -> Fleet:
    """A data centre for each region, each with one server."""
    return Fleet(
        datacenters=tuple(
            Datacenter(
                name=f"dc-{at}", role=Role.SAME_CITY if at else Role.PRIMARY, region=f"region-{at}"
            )
            for at in range(len(ports))
        ),
        services=(
            Service(
                name=SERVICE,
                strategy=StrategyName.STATIC,
                clusters=tuple(
                    Cluster(
                        datacenter=f"dc-{at}",
                        capacity_rps=1_000.0,
                        endpoints=(Endpoint(address=LOOPBACK, port=port),),
                        servers=1,
                    )
                    for at, port in enumerate(ports)
                ),
            ),
        ),
        gateways=(GatewayGroup(name="edge"),),
        policies=(
            Policy(
                name="home", attachment=Attachment(services=(SERVICE,)), regional_overflow=policy()
            ),
        ),
    )


@contextlib.asynccontextmanager
async def site(folder: Path) -> AsyncIterator[Site]:
    """Six servers, the diverter, and HAProxy where it is installed."""
    ports = free_ports(len(SHARES) + 4)
    server_ports, (diverter, loads, status, haproxy) = ports[:-4], ports[-4:]
    snapshot = build(fleet(server_ports), {SERVICE: {f"dc-{at}": 1 / 6 for at in range(6)}})
    _kept(snapshot, folder)
    async with contextlib.AsyncExitStack() as stack:
        servers = [
            await stack.enter_async_context(_program("benchmarks.stations_site", "servers", port))
            for port in server_ports
        ]
        await stack.enter_async_context(
            _program(
                *("gateway", "divert", "--service", SERVICE, "--group", "edge"),
                *("--folder", folder, "--listen", f"{LOOPBACK}:{diverter}"),
                *("--loads", f"{LOOPBACK}:{loads}", "--status", f"{LOOPBACK}:{status}"),
            )
        )
        await _ready(status)
        binary = shutil.which("haproxy")
        if binary is not None:
            config = folder / "haproxy.cfg"
            config.write_text(_haproxy(haproxy, server_ports))
            await stack.enter_async_context(_child([binary, "-f", str(config)]))
        made = Site(
            servers=servers,
            server_ports=server_ports,
            diverter=diverter,
            loads=loads,
            status=status,
            haproxy=None if binary is None else haproxy,
        )
        yield made


def _kept(snapshot: Snapshot, folder: Path) -> None:
    """What a control plane would have served, as an agent keeps it."""
    admission = snapshot.sections[Section.ADMISSION]
    if received(admission).unreadable:
        raise SystemExit("the policy cannot be read")
    policy_file(folder).store(Fetched(body=admission, tag="a", revision=1))
    whole = canonical.encode(snapshot.content)
    SectionFile(folder / FILE_NAME, MAGIC, services_of).store(
        Fetched(body=whole, tag="a", revision=1)
    )


def _program(module: str, *arguments: object) -> contextlib.AbstractAsyncContextManager[Child]:
    return _child([sys.executable, "-m", module, *map(str, arguments)])


@contextlib.asynccontextmanager
async def _child(command: Sequence[str]) -> AsyncIterator[Child]:
    process = await asyncio.create_subprocess_exec(
        *command,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=None,
    )
    child = Child(process=process)
    try:
        yield child
    finally:
        await child.kill()


async def _ready(status: int) -> None:
    async with httpx.AsyncClient(trust_env=False) as client, asyncio.timeout(READY_S):
        while True:
            with contextlib.suppress(httpx.TransportError):
                if (await client.get(f"http://{LOOPBACK}:{status}/readyz")).status_code == 200:
                    return
            await asyncio.sleep(POLL_S)


def _haproxy(port: int, servers: Sequence[int]) -> str:
    lines = [f"  server s{at} {LOOPBACK}:{one}" for at, one in enumerate(servers)]
    return "\n".join(
        [
            "global",
            "  nbthread 1",
            "  maxconn 4000",
            "defaults",
            "  mode tcp",
            "  timeout connect 1s",
            "  timeout client 10s",
            "  timeout server 10s",
            "listen stations",
            f"  bind {LOOPBACK}:{port}",
            "  balance roundrobin",
            *lines,
            "",
        ]
    )
