"""Fencing: a control plane that was stopped and goes on brings nothing old to anybody."""

import asyncio
import contextlib
import json
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from benchmarks.free_ports import free_ports
from benchmarks.live_envoy import Child, backend, envoy, ready
from controlplane.adapters.envoy.bootstrap import BootstrapOptions, render
from controlplane.adapters.haproxy.socket import RuntimeSocket
from tests.acceptance.served import GROUP, NODE, Site, fleet, site_in, until
from tests.servers.proxies import program

FILES = "files"
# Longer than an Envoy waits for a control plane that hangs.
AWAY_S, WATCHED_S, REPAIRED_S = 20.0, 2.0, 1.0
EAST = {"kind": "failover", "target": {"datacenter": "east"}, "reason": "test", "return_s": 0}


@dataclass(slots=True, kw_only=True)
class Replicas:
    """Two control planes on one database, an Envoy that knows both, one HAProxy by files."""

    first: Child
    second: Child
    apis: tuple[httpx.AsyncClient, httpx.AsyncClient]
    document: dict[str, Any]
    folder: Path
    envoy_port: int
    proxy_port: int
    changes: int = 0
    went_back: list[str] = field(default_factory=list)

    async def change(self, api: httpx.AsyncClient) -> None:
        """Publish another revision."""
        self.changes += 1
        before = await revision(api)
        (service,) = self.document["services"]
        changed = {**self.document, "services": [{**service, "timeout_ms": 9_000 + self.changes}]}
        answer = await api.put("/v1/fleet", json=changed, params={"reason": "test"})
        assert answer.is_success, answer.text
        await until(lambda: newer(api, before), "the change is published")

    def in_place(self) -> int:
        """Revision of the files."""
        state = json.loads((self.folder / "current" / "signalbox.json").read_bytes())
        return int(state["revision"])

    async def runs(self) -> int:
        """Revision that HAProxy runs."""
        found = await RuntimeSocket(self.folder / "haproxy.sock").revision()
        return int((found or "0").partition(":")[0])

    async def watch(self, newest: int, center: str, seconds: float) -> None:
        """Look again and again whether anybody has something older."""
        end_s = time.monotonic() + seconds
        async with httpx.AsyncClient(trust_env=False) as client:
            while time.monotonic() < end_s:
                if (found := self.in_place()) < newest:
                    self.went_back.append(f"files have {found}")
                for port in (self.envoy_port, self.proxy_port):
                    answer = await client.get(f"http://127.0.0.1:{port}/")
                    client.cookies.clear()
                    if answer.text != center:
                        self.went_back.append(f"{port} answers {answer.status_code} {answer.text}")
                await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def replicas(folder: Path) -> AsyncIterator[Replicas]:
    site = site_in(folder)
    proxy_port, second_api, second_ads = free_ports(3)
    document: dict[str, Any] = fleet(site.ports)
    document["gateways"].append({"name": FILES, "listen_port": proxy_port})
    async with contextlib.AsyncExitStack() as stack:
        for name in ("east", "west"):
            await stack.enter_async_context(backend(name, getattr(site.ports, name)))
        first = await stack.enter_async_context(serving(site, "first"))
        api = await stack.enter_async_context(site.api())
        await site.apply(api, document)
        gateway = {"name": NODE, "role": "gateway", "node": NODE, "group": GROUP, "reason": "test"}
        token = (await api.post("/v1/tokens", json=gateway)).json()["secret"]
        second = await stack.enter_async_context(
            serving(site, "second", HTTP_PORT=second_api, ADS_PORT=second_ads)
        )
        other = await stack.enter_async_context(
            httpx.AsyncClient(
                base_url=f"http://127.0.0.1:{second_api}", headers=api.headers, trust_env=False
            )
        )
        found = Replicas(
            first=first,
            second=second,
            apis=(api, other),
            document=document,
            folder=folder / "haproxy",
            envoy_port=site.ports.listener,
            proxy_port=proxy_port,
        )
        await until((found.folder / "current").exists, "files are in place")
        await stack.enter_async_context(haproxy(found.folder))
        options = BootstrapOptions(
            node=NODE,
            group=GROUP,
            control_plane=("127.0.0.1", site.ports.ads),
            agent=("127.0.0.1", second_ads),
            token=token,
            admin=("127.0.0.1", site.ports.admin),
        )
        await stack.enter_async_context(envoy(render(options), folder))
        await ready(site.ports.admin)
        await until(lambda: reached(other), "the second answers")
        yield found


def serving(site: Site, name: str, **ports: int) -> contextlib.AbstractAsyncContextManager[Child]:
    # What is tested is who may write; probes of a process that was stopped are not.
    proxy = {"group": FILES, "directory": str(site.folder / "haproxy")}
    return site.serving(
        data_dir=str(site.folder / name),
        database_url=f"sqlite+aiosqlite:///{site.folder / 'shared.db'}",
        health_checks="off",
        haproxy=json.dumps(proxy),
        **{key.lower(): str(value) for key, value in ports.items()},
    )


@contextlib.asynccontextmanager
async def haproxy(folder: Path) -> AsyncIterator[None]:
    process = await asyncio.create_subprocess_exec(
        *(program("haproxy"), "-W", "-p", str(folder / "haproxy.pid")),
        *("-f", str(folder / "current" / "haproxy.cfg")),
        env=dict(os.environ),
    )
    try:
        yield
    finally:
        process.terminate()
        await process.wait()


async def revision(api: httpx.AsyncClient) -> int:
    return int((await api.get("/v1/gateways")).json()["revision"])


async def newer(api: httpx.AsyncClient, before: int) -> bool:
    return await revision(api) > before


async def reached(api: httpx.AsyncClient) -> bool:
    return (await api.get("/readyz")).is_success


async def only(replicas: Replicas, center: str) -> bool:
    """Whether both planes answer from one data centre."""
    replicas.went_back.clear()
    await replicas.watch(0, center, 0.1)
    return not replicas.went_back


async def test_a_replica_that_was_stopped_takes_nobody_back(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """4. A replica is stopped (SIGSTOP), the other publishes three revisions, it continues.

    Files and Envoy never go back; it and whoever it serves have the newest within 1 s.
    """
    async with replicas(tmp_path) as both:
        first, second = both.apis
        both.first.process.send_signal(signal.SIGSTOP)
        try:
            for _ in range(2):
                await both.change(second)
            assert (await second.post("/v1/intents", json=EAST)).is_success
            await until(lambda: only(both, "west"), "Envoy and HAProxy run the newest")
            newest = await revision(second)
            assert both.in_place() == newest
        finally:
            both.first.process.send_signal(signal.SIGCONT)
        began_s = time.monotonic()
        watching = asyncio.create_task(both.watch(newest, "west", WATCHED_S))
        await until(lambda: newer(first, newest - 1), "the first has caught up")
        record_property("caught_up_ms", round((time.monotonic() - began_s) * 1_000))
        await watching
        assert both.went_back == []
        assert await both.runs() == newest

        # Envoy listens to the second now, and is served by it again when it goes on.
        both.second.process.send_signal(signal.SIGSTOP)
        try:
            for _ in range(2):
                await both.change(first)
            (intent,) = (await first.get("/v1/intents", params={"standing": "true"})).json()[
                "items"
            ]
            undone = await first.post(f"/v1/intents/{intent['id']}:undo", json={"reason": "test"})
            assert undone.is_success, undone.text
            newest = await revision(first)
        finally:
            both.second.process.send_signal(signal.SIGCONT)
        began_s = time.monotonic()
        await until(lambda: newer(second, newest - 1), "the second has caught up")
        await until(lambda: served(both), "Envoy has what the first published")
        repaired_s = time.monotonic() - began_s
        record_property("repaired_ms", round(repaired_s * 1_000))
        assert repaired_s < REPAIRED_S
        assert both.in_place() == newest


async def served(replicas: Replicas) -> bool:
    """Whether Envoy sends requests east again."""
    async with httpx.AsyncClient(trust_env=False) as client:
        for _ in range(10):
            answer = await client.get(f"http://127.0.0.1:{replicas.envoy_port}/")
            client.cookies.clear()
            if answer.text == "east":
                return True
    return False
