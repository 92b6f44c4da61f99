"""Our side of the failover benchmark: `serve`, an Envoy that it configures, and the back ends.

Everything runs as programs on loopback and ends with the context.
"""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from benchmarks.failover_front import (
    DEADLINE_S,
    ENDPOINTS,
    SERVICES,
    SHARES,
    Front,
    Place,
    front,
    until,
)
from benchmarks.free_ports import free_ports
from benchmarks.live_envoy import Child, envoy, ready
from controlplane.adapters.envoy.bootstrap import BootstrapOptions, render

NODE, GROUP = "edge-1", "edge"
ROLES = {"east": "primary", "west": "same-city", "north": "same-city"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FailoverSite:
    """The running site."""

    api: httpx.AsyncClient
    serve: Child
    front: Front

    async def declare(self, count: int, *, retries_errors: bool = False) -> None:
        """Have the first so many data centres; services may say that errors are tried again."""
        document = fleet(self.front.ports(), count, {"server_errors": retries_errors})
        document["gateways"] = [{"name": GROUP, "listen_port": self.front.listener}]
        answer = await self.api.put("/v1/fleet", json=document, params={"reason": "benchmark"})
        if not answer.is_success:
            raise RuntimeError(answer.text)


def fleet(
    ports: dict[Place, Sequence[int]], count: int, retry: dict[str, bool]
) -> dict[str, object]:
    """The fleet's document with the first so many data centres."""
    centers = list(ENDPOINTS)[:count]
    return {
        "datacenters": [{"name": name, "role": ROLES[name], "region": "r1"} for name in centers],
        "services": [
            {
                "name": service,
                "strategy": "static",
                "static_shares": SHARES[count],
                "retry": retry,
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
    api_port, ads_port = free_ports(2)
    async with (
        front() as before,
        _serve(folder, api_port, ads_port) as serve,
        _api(folder, api_port) as api,
    ):
        found = FailoverSite(api=api, serve=serve, front=before)
        await found.declare(2)
        text = render(
            BootstrapOptions(
                node=NODE,
                group=GROUP,
                control_plane=("127.0.0.1", ads_port),
                agent=None,
                token=await _gateway_token(api),
                admin=("127.0.0.1", before.admin),
            )
        )
        async with envoy(text, folder):
            await ready(before.admin)
            await before.well(2)
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
