"""A served site for acceptance: `serve`, the agent and an Envoy as programs, on free ports."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from benchmarks.free_ports import free_ports
from benchmarks.live_envoy import Child, envoy
from controlplane.adapters.envoy.bootstrap import BootstrapOptions, render

NODE, GROUP = "edge-1", "edge"
DEADLINE_S = 60.0
UPDATES = r"(cds|lds|rds\.routes|cluster\.tickets)\.(update_success|update_rejected)$"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    api: int
    ads: int
    agent: int
    listener: int
    admin: int
    east: list[int]
    west: list[int]


def fleet(ports: Ports) -> dict[str, object]:
    def cluster(name: str, endpoints: list[int]) -> dict[str, object]:
        return {
            "datacenter": name,
            "capacity_rps": 500,
            "endpoints": [{"address": "127.0.0.1", "port": port} for port in endpoints],
        }

    return {
        "datacenters": [
            {"name": "east", "role": "primary", "region": "r1"},
            {"name": "west", "role": "same-city", "region": "r1"},
        ],
        "services": [
            {
                "name": "tickets",
                "strategy": "static",
                "static_shares": {"east": 0.6, "west": 0.4},
                "clusters": [cluster("east", ports.east), cluster("west", ports.west)],
            }
        ],
        "gateways": [{"name": GROUP, "listen_address": "127.0.0.1", "listen_port": ports.listener}],
        "routes": [{"id": "all", "service": "tickets", "path": {"value": "/"}}],
    }


@contextlib.asynccontextmanager
async def program(
    arguments: list[str], environment: dict[str, str], output: Path
) -> AsyncIterator[Child]:
    with output.open("ab") as file:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", *arguments, env=environment, stdout=file, stderr=file
        )
    child = Child(process=process)
    try:
        yield child
    finally:
        await child.stop()


async def until(holds: Callable[[], object], what: str) -> None:
    """Poll an (async) condition; an answer that does not come yet counts as no."""
    try:
        async with asyncio.timeout(DEADLINE_S):
            while True:
                with contextlib.suppress(httpx.TransportError):
                    found = holds()
                    if await found if asyncio.iscoroutine(found) else found:
                        return
                await asyncio.sleep(0.05)
    except TimeoutError:
        pytest.fail(f"not within {DEADLINE_S:g} s: {what}")


@dataclass(slots=True)
class Load:
    """GET requests one after another until it is stopped."""

    url: str
    sent: int = 0
    failed: list[str] = field(default_factory=list)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._run())
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _run(self) -> None:
        async with httpx.AsyncClient(base_url=self.url, trust_env=False) as client:
            while True:
                await asyncio.sleep(0.01)
                self.sent += 1
                try:
                    answer = await client.get("/")
                except httpx.TransportError as error:
                    self.failed.append(repr(error))
                    continue
                if answer.status_code != httpx.codes.OK:
                    self.failed.append(f"{answer.status_code} {answer.text[:80]}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """One machine: folder, ports, and the control plane's own environment."""

    folder: Path
    ports: Ports

    def serving(self, **settings: str) -> contextlib.AbstractAsyncContextManager[Child]:
        environment = {
            **os.environ,
            "SIGNALBOX_DATA_DIR": str(self.folder / "data"),
            "SIGNALBOX_HTTP_PORT": str(self.ports.api),
            "SIGNALBOX_ADS_PORT": str(self.ports.ads),
            **{f"SIGNALBOX_{name.upper()}": value for name, value in settings.items()},
        }
        return program(["controlplane", "serve"], environment, self.folder / "serve.log")

    def agent(self) -> contextlib.AbstractAsyncContextManager[Child]:
        arguments = ["gateway", "--xds-cache", str(self.folder / "cache")]
        arguments += ["--control-plane", f"127.0.0.1:{self.ports.ads}"]
        arguments += ["--listen", f"127.0.0.1:{self.ports.agent}"]
        arguments += ["--node", NODE, "--group", GROUP]
        arguments += ["--token-file", str(self.folder / "token")]
        return program(arguments, dict(os.environ), self.folder / "agent.log")

    def envoy(self) -> contextlib.AbstractAsyncContextManager[Child]:
        text = render(
            BootstrapOptions(
                node=NODE,
                group=GROUP,
                control_plane=("127.0.0.1", self.ports.ads),
                agent=("127.0.0.1", self.ports.agent),
                token=(self.folder / "token").read_text(),
                admin=("127.0.0.1", self.ports.admin),
            )
        )
        return envoy(text, self.folder)

    @contextlib.asynccontextmanager
    async def api(self) -> AsyncIterator[httpx.AsyncClient]:
        """A client with the first token, once the API answers."""
        url = f"http://127.0.0.1:{self.ports.api}"
        async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
            client.headers["authorization"] = f"Bearer {await self.admin_token()}"
            await until(lambda: reachable(client), "the API answers")
            yield client

    async def admin_token(self) -> str:
        log = self.folder / "serve.log"
        await until(lambda: log.exists() and "sbx_" in log.read_text(), "first token is printed")
        return next(word for word in log.read_text().split() if word.startswith("sbx_"))

    async def apply(self, api: httpx.AsyncClient, document: dict[str, object]) -> None:
        """Declare a fleet."""
        answer = await api.put("/v1/fleet", json=document, params={"reason": "test"})
        assert answer.is_success, answer.text

    async def declare(self, api: httpx.AsyncClient) -> None:
        """Declare the usual fleet and make the gateway's token."""
        await self.apply(api, fleet(self.ports))
        await self.gateway_token(api)

    async def gateway_token(self, api: httpx.AsyncClient) -> None:
        """Make the gateway's token and keep it where the gateway looks for it."""
        wish = {"name": NODE, "role": "gateway", "node": NODE, "group": GROUP, "reason": "test"}
        answer = await api.post("/v1/tokens", json=wish)
        assert answer.is_success, answer.text
        (self.folder / "token").write_text(answer.json()["secret"])


async def in_force(api: httpx.AsyncClient, *names: str) -> bool:
    """Whether these consumers are connected and run the newest revision."""
    answer = await api.get("/v1/gateways")
    if not answer.is_success:
        return False
    nodes = {node["name"]: node for node in answer.json()["items"]}
    return all(
        name in nodes and nodes[name]["connected"] and nodes[name]["up_to_date"] for name in names
    )


async def version_of(api: httpx.AsyncClient) -> str:
    return str((await api.get("/v1/gateways")).json()["version"])


async def reachable(api: httpx.AsyncClient) -> bool:
    return (await api.get("/healthz")).is_success


def site_in(folder: Path) -> Site:
    """A site with five endpoints east and three west."""
    numbers = free_ports(13)
    ports = Ports(
        api=numbers[0],
        ads=numbers[1],
        agent=numbers[2],
        listener=numbers[3],
        admin=numbers[4],
        east=numbers[5:10],
        west=numbers[10:13],
    )
    return Site(folder=folder, ports=ports)
