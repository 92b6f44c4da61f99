"""An application with its client and nothing else between it and its services."""

import asyncio
import contextlib
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from benchmarks.free_ports import free_ports
from benchmarks.live_envoy import Child, backend
from gateway.application.lease import Lease
from gateway.application.options import ClientOptions
from gateway.client import AsyncClient
from gateway.routing import Question
from tests.acceptance.served import GROUP, Site, site_in, until

SERVICE = "gates"
WORKERS, PAUSE_S = 6, 0.03
# Of the first data centre a quarter goes to its second cluster.
USUAL = {"main": 0.6, "side": 0.2, "west": 0.2}
WITHOUT_MAIN = {"spare": 0.6, "side": 0.2, "west": 0.2}
TAKEOVER_S = 1.0
# Requests that tell shares.
ENOUGH = 150


@dataclass(slots=True)
class Application:
    """Up to 200 requests a second through a client."""

    client: AsyncClient
    http: httpx.AsyncClient
    answers: Counter[str] = field(default_factory=Counter)
    tries: list[tuple[float, str]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    @contextlib.asynccontextmanager
    async def busy(self) -> AsyncIterator[None]:
        stop = asyncio.Event()
        tasks = [asyncio.create_task(self._worker(stop)) for _ in range(WORKERS)]
        try:
            yield
        finally:
            stop.set()
            await asyncio.gather(*tasks)

    async def until(self, wanted: Mapping[str, float]) -> None:
        """Wait until these and nobody else answer, each with its share."""
        found: dict[str, float] = {}
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(30):
                while found != pytest.approx(dict(wanted), abs=0.06):
                    self.answers.clear()
                    while self.answers.total() < ENOUGH:
                        await asyncio.sleep(0.1)
                    total = self.answers.total()
                    found = {who: count / total for who, count in self.answers.items()}
        assert found == pytest.approx(dict(wanted), abs=0.06)

    async def ask(self, lease: Lease) -> str:
        self.tries.append((time.monotonic(), lease.instance.cluster))
        answer = await self.http.get(lease.url, timeout=lease.timeout_s)
        lease.answered(answer.status_code)
        return answer.text

    async def _worker(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            try:
                self.answers[await self.client.call(SERVICE, self.ask)] += 1
            except (OSError, httpx.TransportError) as error:
                self.failed.append(repr(error))
            await asyncio.sleep(PAUSE_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    site: Site
    ports: Mapping[str, list[int]]
    backends: Mapping[str, Child]
    control_plane: Child
    api: httpx.AsyncClient

    @contextlib.asynccontextmanager
    async def application(self) -> AsyncIterator[Application]:
        options = ClientOptions(
            urls=(f"http://127.0.0.1:{self.site.ports.api}",),
            token_file=self.site.folder / "token",
            name="orders-1",
            group=GROUP,
            folder=self.site.folder / "orders",
            report_s=0.5,
            back_off_max_s=0.5,
        )
        async with AsyncClient(options) as client, httpx.AsyncClient(trust_env=False) as http:
            yield Application(client=client, http=http)

    def signal(self, name: str, number: signal.Signals) -> None:
        self.backends[name].process.send_signal(number)

    async def told(self) -> dict[str, int]:
        """What was told about the cluster that fails."""
        rows = (await self.api.get("/v1/outcomes")).json()["items"]
        return next((row for row in rows if row["cluster"] == "main"), {})

    async def is_told(self) -> bool:
        told, count = await self.told(), len(self.ports["main"])
        went_and_came = min(told.get("ejected", 0), told.get("returned", 0))
        return told.get("timeout", 0) > 0 and went_and_came >= count


@contextlib.asynccontextmanager
async def prepared(folder: Path) -> AsyncIterator[Ground]:
    """A control plane, the backends of four clusters, and a token for the application."""
    site = site_in(folder)
    numbers = free_ports(10)
    ports = {
        "main": numbers[:3],
        "side": numbers[3:5],
        "spare": numbers[5:8],
        "west": numbers[8:],
    }
    async with contextlib.AsyncExitStack() as stack:
        backends = {
            name: await stack.enter_async_context(backend(name, own)) for name, own in ports.items()
        }
        control_plane = await stack.enter_async_context(site.serving())
        api = await stack.enter_async_context(site.api())
        await site.apply(api, fleet(ports))
        wish = {"name": "orders", "role": "gateway", "group": GROUP, "reason": "test"}
        answer = await api.post("/v1/tokens", json=wish)
        assert answer.is_success, answer.text
        (folder / "token").write_text(answer.json()["secret"])
        yield Ground(
            site=site, ports=ports, backends=backends, control_plane=control_plane, api=api
        )


def fleet(ports: Mapping[str, list[int]]) -> dict[str, object]:
    def cluster(center: str, name: str, **more: object) -> dict[str, object]:
        addresses = [{"address": "127.0.0.1", "port": port} for port in ports[name or center]]
        named = {"name": name} if name else {}
        return {"datacenter": center, "endpoints": addresses, **named, **more}

    return {
        "datacenters": [
            {"name": "east", "role": "primary", "region": "r1"},
            {"name": "west", "role": "same-city", "region": "r1"},
        ],
        "services": [
            {
                "name": SERVICE,
                "strategy": "static",
                "load_balancing": "round_robin",
                "static_shares": {"east": 0.8, "west": 0.2},
                "clusters": [
                    cluster("east", "main", weight=300, capacity_rps=300),
                    cluster("east", "side", capacity_rps=100),
                    cluster("east", "spare", standby=True),
                    cluster("west", "", capacity_rps=200),
                ],
            }
        ],
        "gateways": [{"name": GROUP}],
        "routes": [{"id": "gates", "service": SERVICE, "path": {"value": "/gates"}}],
    }


async def test_a_standby_cluster_takes_over_without_the_control_plane(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """An application drops failed instances and takes the standby cluster within 1 s by itself.

    It needs no control plane for that, for the way back, or for a start; when there is one again,
    it is told of timeouts and ejections.
    """
    async with prepared(tmp_path) as ground, ground.application() as one:
        async with one.busy():
            await one.until(USUAL)
            await ground.control_plane.kill()
            # A cluster that hangs is worse than one that refuses.
            ground.signal("main", signal.SIGSTOP)
            stopped_s = time.monotonic()
            await one.until(WITHOUT_MAIN)
            last_s = max(at_s for at_s, cluster in one.tries if cluster == "main")
            record_property("takeover_s", round(last_s - stopped_s, 3))
            assert last_s - stopped_s < TAKEOVER_S
            ground.signal("main", signal.SIGCONT)
            await one.until(USUAL)
        assert one.failed == []
        async with ground.application() as again:
            assert again.client.revision == one.client.revision > 0
            found = again.client.find(Question(url="https://www.example.org/gates//x/../7?y=1"))
            assert (found.route, found.service) == ("gates", SERVICE)
            assert {await again.client.call(SERVICE, again.ask) for _ in range(40)} == set(USUAL)
        async with ground.site.serving():
            await until(ground.is_told, "timeouts, ejections and returns are told")
            record_property("timeouts", (await ground.told())["timeout"])
