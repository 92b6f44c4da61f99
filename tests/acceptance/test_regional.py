"""The strategy `regional` through the real service and two real Envoys, at a small time scale."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import httpx
import pytest

from benchmarks.free_ports import free_ports
from benchmarks.live_envoy import backend, envoy, ready
from controlplane.adapters.envoy.bootstrap import BootstrapOptions, render
from tests.acceptance.served import site_in, until

Record = Callable[[str, object], None]

REGIONS = ("north", "south")
TIME_SCALE = 1 / 300
PERIOD_S, CYCLE_S = 60.0 * TIME_SCALE, 300.0 * TIME_SCALE
# Messages per second at which a regional server's load B is 1.
FULL_RPS = 100.0
CRITICAL = 0.85
NOISE = 0.01
REQUESTS = 300


@dataclass(slots=True)
class Servers:
    """Two regional servers without machines: they read the weights and report their load."""

    api: httpx.AsyncClient
    demand: dict[str, float]
    weights: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    north: list[float] = field(default_factory=list)
    highest: dict[str, float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    noise: random.Random = field(default_factory=lambda: random.Random(3))

    def loads(self) -> dict[str, float]:
        """B of each data centre by the weights in force."""
        rates = {
            center: sum(self.demand[name] * self.weights[name][center] for name in REGIONS)
            for center in REGIONS
        }
        return {center: rate / FULL_RPS for center, rate in rates.items()}

    async def live(self) -> None:
        """Each period the weights take effect and are measured; until cancelled."""
        while True:
            await self._read()
            if self.weights:
                await self._send()
            await asyncio.sleep(PERIOD_S)

    async def _read(self) -> None:
        answer = await self.api.get("/v1/weights")
        if not answer.is_success:
            return
        self.weights = {
            one["source_region"]: {name: part / 10_000 for name, part in one["weights"].items()}
            for one in answer.json()["weights"]
        }
        home = self.weights["north"]["north"]
        if not self.north or self.north[-1] != home:
            self.north.append(home)

    async def _send(self) -> None:
        samples = []
        for center, load in self.loads().items():
            seen = load * (1.0 + NOISE * self.noise.uniform(-1.0, 1.0))
            samples.append(
                {
                    "service": "stations",
                    "datacenter": center,
                    "request_rate_rps": load * FULL_RPS * (1 + NOISE * self.noise.random()),
                    "response_time_ms": 10.0 + self.noise.random(),
                    "connections": seen * 16_000,
                    "connection_limit": 16_000,
                    "pool_use": min(seen, 1.0),
                }
            )
        answer = await self.api.post("/v1/samples", json={"samples": samples})
        if not answer.is_success or answer.json()["findings"]:
            self.failures.append(answer.text[:500])


def fleet(backends: Mapping[str, int], listeners: Mapping[str, int]) -> dict[str, object]:
    return {
        "datacenters": [
            {"name": "north", "role": "primary", "region": "north"},
            {"name": "south", "role": "same-city", "region": "south"},
        ],
        "services": [
            {
                "name": "stations",
                "strategy": "regional",
                "regional": {"critical_load": CRITICAL},
                "clusters": [
                    {
                        "datacenter": name,
                        "capacity_rps": 2 * FULL_RPS,
                        "endpoints": [{"address": "127.0.0.1", "port": port}],
                    }
                    for name, port in backends.items()
                ],
            }
        ],
        "gateways": [
            {"name": f"edge-{region}", "listen_port": port, "region": region}
            for region, port in listeners.items()
        ],
        "routes": [{"id": "all", "service": "stations", "path": {"value": "/"}}],
    }


@contextlib.asynccontextmanager
async def gateway(
    api: httpx.AsyncClient, folder: Path, region: str, ports: tuple[int, int, int]
) -> AsyncIterator[None]:
    """A real Envoy of one region's group; ports of ADS, of an agent that is not there, of admin."""
    node = group = f"edge-{region}"
    wish = {"name": node, "role": "gateway", "node": node, "group": group, "reason": "test"}
    token = (await api.post("/v1/tokens", json=wish)).json()["secret"]
    ads, agent, admin = ports
    text = render(
        BootstrapOptions(
            node=node,
            group=group,
            control_plane=("127.0.0.1", ads),
            agent=("127.0.0.1", agent),
            token=token,
            admin=("127.0.0.1", admin),
        )
    )
    own = folder / region
    own.mkdir()
    async with envoy(text, own):
        await ready(admin)
        yield


@dataclass(frozen=True, slots=True, kw_only=True)
class Stations:
    """Stations of each region, which talk to their own gateway."""

    listeners: Mapping[str, int]

    async def home(self, region: str, requests: int) -> float:
        """Part of a region's messages that its own data centre answers; a failure is none."""
        url = f"http://127.0.0.1:{self.listeners[region]}/"
        async with httpx.AsyncClient(trust_env=False) as client:
            answers = []
            for _ in range(requests):
                # Each message is from another station.
                client.cookies.clear()
                answers.append(await client.get(url))
        assert all(answer.is_success for answer in answers)
        return sum(answer.text == region for answer in answers) / requests


@contextlib.asynccontextmanager
async def regions(folder: Path) -> AsyncIterator[tuple[Servers, Stations]]:
    site = site_in(folder)
    numbers = free_ports(7)
    backends = dict(zip(REGIONS, numbers[:2], strict=True))
    listeners = dict(zip(REGIONS, numbers[2:4], strict=True))
    admins = dict(zip(REGIONS, numbers[4:6], strict=True))
    async with contextlib.AsyncExitStack() as stack:
        for name, port in backends.items():
            await stack.enter_async_context(backend(name, [port]))
        await stack.enter_async_context(site.serving(time_scale=str(TIME_SCALE)))
        api = await stack.enter_async_context(site.api())
        await site.apply(api, fleet(backends, listeners))
        for region, admin in admins.items():
            ports = (site.ports.ads, numbers[6], admin)
            await stack.enter_async_context(gateway(api, folder, region, ports))
        servers = Servers(api=api, demand={"north": 60.0, "south": 40.0})
        living = asyncio.create_task(servers.live())
        try:
            yield servers, Stations(listeners=listeners)
        finally:
            living.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await living
    assert servers.failures == []


async def test_each_region_goes_home_and_only_the_hot_one_overflows(
    tmp_path: Path, record_property: Record
) -> None:
    """S2. Home region with overflow at the critical load, and back below it without flapping."""
    async with regions(tmp_path) as (servers, stations):
        await until(lambda: servers.weights, "weights are published")
        for region in REGIONS:
            assert await stations.home(region, 40) == 1.0
        servers.demand["north"] = 100.0
        await until(lambda: max(servers.loads().values()) < CRITICAL, "north is relieved")
        await asyncio.sleep(2 * CYCLE_S)
        north, south = [await stations.home(region, REQUESTS) for region in REGIONS]
        published = servers.weights["north"]["north"]
        record_property("published_home_share_of_the_hot_region", published)
        record_property("measured_home_share_of_the_hot_region", north)
        record_property("measured_home_share_of_the_other_region", south)
        assert north == pytest.approx(published, abs=0.09)
        assert published < 0.9
        assert south == 1.0
        # Held there: noise of a percent moves nothing.
        moves = len(servers.north)
        await asyncio.sleep(4 * CYCLE_S)
        assert len(servers.north) == moves
        servers.demand["north"] = 60.0
        await until(lambda: servers.weights["north"]["north"] == 1.0, "all are home again")
        assert await stations.home("north", 40) == 1.0
        turns = [after > before for before, after in pairwise(servers.north)]
        record_property("home_shares_of_the_hot_region", servers.north)
        assert sum(a != b for a, b in pairwise(turns)) == 1
        await _same_again(servers.api, record_property)


async def _same_again(api: httpx.AsyncClient, record_property: Record) -> None:
    """Each decision is made again bit for bit, rows included."""
    decisions = (await api.get("/v1/decisions", params={"limit": 1000})).json()["items"]
    ids = [one["id"] for one in decisions][:30]
    answers = [(await api.get(f"/v1/decisions/{each}/replay")).json() for each in ids]
    same = sum(answer["identical"] for answer in answers)
    record_property("decisions_replayed_identically", f"{same} of {len(ids)}")
    assert same == len(ids), [a for a in answers if not a["identical"]][:1]
