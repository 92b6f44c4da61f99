"""A whole site for the failover benchmark: `serve`, an Envoy, and the back ends of three centres.

Everything runs as programs on loopback and ends with the context. Each service has a process for
each data centre, with an endpoint on each of its ports.
"""

import asyncio
import contextlib
import multiprocessing
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

import httpx

from benchmarks.failover_backend import Behavior, run
from benchmarks.live_envoy import Child, envoy, free_ports, ready, stats
from controlplane.adapters.envoy.bootstrap import BootstrapOptions, render

NODE, GROUP = "edge-1", "edge"
SERVICES = ("tickets", "orders")
# The larger side first; it is the one that fails.
ENDPOINTS = {"east": 5, "west": 3, "north": 3}
ROLES = {"east": "primary", "west": "same-city", "north": "same-city"}
SHARES = {2: {"east": 0.6, "west": 0.4}, 3: {"east": 0.5, "west": 0.25, "north": 0.25}}
LARGER = "east"
DEADLINE_S = 60.0

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["benchmarks.failover_backend"])

Place = tuple[str, str]


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(DEADLINE_S):
        while True:
            if await holds():
                return
            await asyncio.sleep(0.05)


@dataclass(slots=True, kw_only=True)
class Back:
    """The process of one service in one data centre, started again after it was killed.

    It is forked from a process that has everything loaded: a new interpreter would take the
    processor from those that are measured.
    """

    center: str
    ports: Sequence[int]
    _process: BaseProcess | None = None
    _orders: Connection | None = None

    async def start(self) -> None:
        """Start it and wait until it listens."""
        self._orders, theirs = FORKS.Pipe()
        process = FORKS.Process(target=run, args=(self.center, list(self.ports), theirs))
        await asyncio.to_thread(process.start)
        self._process = process
        theirs.close()
        await self.told()

    def signal(self, number: int) -> None:
        """Send it a signal."""
        assert self._process is not None
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def tell(self, behavior: Behavior) -> None:
        """Have it behave like this; it does at once, though it says so later."""
        assert self._orders is not None
        self._orders.send(behavior.value)

    async def told(self) -> None:
        """Wait until it does."""
        assert self._orders is not None
        await asyncio.wait_for(asyncio.to_thread(self._orders.recv), DEADLINE_S)

    async def revive(self) -> None:
        """Start it again when it has ended."""
        await self.stop()
        await self.start()

    async def stop(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.kill()
            await asyncio.to_thread(self._process.join)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailoverSite:
    """The running site."""

    api: httpx.AsyncClient
    serve: Child
    listener: int
    admin: int
    backs: dict[Place, Back]

    def at(self, center: str, services: Sequence[str]) -> list[Back]:
        """The processes of some services in a data centre."""
        return [self.backs[service, center] for service in services]

    async def declare(self, count: int) -> None:
        """Have the first so many data centres."""
        document = fleet({place: back.ports for place, back in self.backs.items()}, count)
        document["gateways"] = [{"name": GROUP, "listen_port": self.listener}]
        answer = await self.api.put("/v1/fleet", json=document, params={"reason": "benchmark"})
        if not answer.is_success:
            raise RuntimeError(answer.text)

    async def well(self, count: int) -> None:
        """Wait until every endpoint of the first so many data centres is in use."""
        wanted = sum(list(ENDPOINTS.values())[:count])

        async def is_well() -> bool:
            return await self.healthy() == dict.fromkeys(SERVICES, wanted)

        await until(is_well)

    async def healthy(self) -> dict[str, int]:
        """Endpoints of each service that this Envoy uses."""
        found = await stats(self.admin, r"^cluster\.(tickets|orders)\.membership_healthy$")
        return {name.split(".")[1]: value for name, value in found.items()}


def fleet(ports: dict[Place, Sequence[int]], count: int) -> dict[str, object]:
    """The fleet's document with the first so many data centres."""
    centers = list(ENDPOINTS)[:count]
    return {
        "datacenters": [{"name": name, "role": ROLES[name], "region": "r1"} for name in centers],
        "services": [
            {
                "name": service,
                "strategy": "static",
                "static_shares": SHARES[count],
                "clusters": [
                    {
                        "datacenter": name,
                        "capacity_rps": 1_000,
                        "endpoints": [
                            {"address": "127.0.0.1", "port": port} for port in ports[service, name]
                        ],
                    }
                    for name in centers
                ],
            }
            for service in SERVICES
        ],
        "routes": [
            {"id": service, "service": service, "path": {"value": f"/{service}"}}
            for service in SERVICES
        ],
    }


@contextlib.asynccontextmanager
async def site(folder: Path) -> AsyncIterator[FailoverSite]:
    """Everything running, with two data centres declared and in use."""
    numbers = free_ports(4 + len(SERVICES) * sum(ENDPOINTS.values()))
    api_port, ads_port, listener, admin, *rest = numbers
    left = iter(rest)
    backs = {
        (service, center): Back(center=center, ports=[next(left) for _ in range(count)])
        for service in SERVICES
        for center, count in ENDPOINTS.items()
    }
    async with contextlib.AsyncExitStack() as stack:
        for back in backs.values():
            stack.push_async_callback(back.stop)
        await asyncio.gather(*(back.start() for back in backs.values()))
        serve = await stack.enter_async_context(_serve(folder, api_port, ads_port))
        api = await stack.enter_async_context(_api(folder, api_port))
        found = FailoverSite(api=api, serve=serve, listener=listener, admin=admin, backs=backs)
        await found.declare(2)
        text = render(
            BootstrapOptions(
                node=NODE,
                group=GROUP,
                control_plane=("127.0.0.1", ads_port),
                agent=None,
                token=await _gateway_token(api),
                admin=("127.0.0.1", admin),
            )
        )
        await stack.enter_async_context(envoy(text, folder))
        await ready(admin)
        await found.well(2)
        yield found


@contextlib.asynccontextmanager
async def _serve(folder: Path, api_port: int, ads_port: int) -> AsyncIterator[Child]:
    environment = {
        **os.environ,
        "SIGNALBOX_DATA_DIR": str(folder / "data"),
        "SIGNALBOX_HTTP_PORT": str(api_port),
        "SIGNALBOX_ADS_PORT": str(ads_port),
    }
    with (folder / "serve.log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "controlplane", "serve"),
            env=environment,
            stdout=log,
            stderr=log,
        )
    child = Child(process=process)
    try:
        yield child
    finally:
        await child.stop()


@contextlib.asynccontextmanager
async def _api(folder: Path, port: int) -> AsyncIterator[httpx.AsyncClient]:
    """A client with the first token, once the API answers."""
    log = folder / "serve.log"
    url = f"http://127.0.0.1:{port}"
    # A connection that was idle for seconds may be closed at the moment at which it is used again.
    limits = httpx.Limits(max_keepalive_connections=0)
    async with httpx.AsyncClient(
        base_url=url, trust_env=False, timeout=DEADLINE_S, limits=limits
    ) as client:

        async def answers() -> bool:
            return await _answers(client) and "sbx_" in log.read_text()

        await until(answers)
        token = next(word for word in log.read_text().split() if word.startswith("sbx_"))
        client.headers["authorization"] = f"Bearer {token}"
        yield client


async def _answers(client: httpx.AsyncClient) -> bool:
    try:
        return (await client.get("/healthz")).is_success
    except httpx.TransportError:
        return False


async def _gateway_token(api: httpx.AsyncClient) -> str:
    wish = {"name": NODE, "role": "gateway", "node": NODE, "group": GROUP, "reason": "benchmark"}
    answer = await api.post("/v1/tokens", json=wish)
    return str(answer.json()["secret"])
