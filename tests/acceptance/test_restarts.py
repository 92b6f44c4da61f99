"""The control plane is killed and started again and again, on a slow database, under load."""

import asyncio
import contextlib
import random
import signal
import statistics
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from benchmarks.live_envoy import Child, backend, ready
from tests.acceptance.faulty_disk import FaultyDisk, faulty_disk, serving_on
from tests.acceptance.served import GROUP, NODE, Site, fleet, in_force, site_in, until
from tests.acceptance.steady_load import SteadyLoad
from tests.acceptance.watchers import (
    AdsCaller,
    Watcher,
    long_poll,
    poll,
    readiness,
    running,
    stream,
    subscribe,
)

RESTARTS = 20
RATE_RPS = 200.0
FSYNC_MS = 60
# Another process holds the lock for so long, and leaves it for so long.
LOCKED_S, FREE_S = 0.4, 0.3
WITHIN_S = 20.0
SEED = 3


@dataclass(slots=True, kw_only=True)
class Declared:
    """What was written: an acknowledged change stays, an unanswered one may be there or not."""

    site: Site
    acknowledged_ms: int = 1000
    tried_ms: int = 1000
    writes: int = 0

    async def change(self, api: httpx.AsyncClient) -> None:
        """Change the fleet once; a store that is busy is asked again."""
        self.tried_ms += 1
        document = fleet(self.site.ports)
        (service,) = document["services"]  # type: ignore[misc]
        service["timeout_ms"] = self.tried_ms  # type: ignore[index]
        async with asyncio.timeout(WITHIN_S):
            while True:
                answer = await api.put("/v1/fleet", json=document, params={"reason": "test"})
                if answer.is_success:
                    break
                assert answer.status_code == 503, answer.text
                await asyncio.sleep(0.1)
        self.acknowledged_ms = self.tried_ms
        self.writes += 1

    async def intact(self, api: httpx.AsyncClient) -> None:
        """The newest acknowledged change, or the one that nobody answered, is declared."""
        found = (await api.get("/v1/fleet")).json()["services"][0]["timeout_ms"]
        assert self.acknowledged_ms <= found <= self.tried_ms


@dataclass(slots=True, kw_only=True)
class Restarts:
    """The service's processes, one after another; `starts_s` until /readyz says yes."""

    site: Site
    disk: FaultyDisk
    stack: contextlib.AsyncExitStack
    child: Child | None = None
    starts_s: list[float] = field(default_factory=list)

    async def start(self) -> None:
        """Start a process; it is not waited for."""
        settings = {
            "SIGNALBOX_HTTP_PORT": str(self.site.ports.api),
            "SIGNALBOX_ADS_PORT": str(self.site.ports.ads),
        }
        log = self.site.folder / "serve.log"
        self.child = await self.stack.enter_async_context(serving_on(self.disk, settings, log))

    async def until_ready(self, api: httpx.AsyncClient) -> None:
        """Wait until it serves a full snapshot."""
        began = time.monotonic()
        await until(lambda: _ready(api), "ready again")
        self.starts_s.append(time.monotonic() - began)

    async def end(self, number: signal.Signals) -> None:
        """End the process by a signal."""
        assert self.child is not None
        self.child.process.send_signal(number)
        await asyncio.wait_for(self.child.process.wait(), WITHIN_S)


async def _ready(api: httpx.AsyncClient) -> bool:
    return (await api.get("/readyz")).is_success


# Run beside the service, where its files are.
BURSTS = """
import sqlite3, sys, time
path, locked_s, free_s = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
other = sqlite3.connect(path, timeout=5, isolation_level=None)
while True:
    try:
        other.execute("BEGIN IMMEDIATE")
        time.sleep(locked_s)
        other.execute("ROLLBACK")
        print("burst", flush=True)
    except sqlite3.OperationalError:
        pass
    time.sleep(free_s)
"""


@contextlib.asynccontextmanager
async def _slow_database(disk: FaultyDisk) -> AsyncIterator[list[str]]:
    """Each fsync takes longer, and another process takes SQLite's lock in bursts."""
    seen: list[str] = []
    process = await asyncio.create_subprocess_exec(
        *disk.entering,
        sys.executable,
        "-c",
        BURSTS,
        str(disk.folder / "data" / "signalbox.db"),
        str(LOCKED_S),
        str(FREE_S),
        stdout=asyncio.subprocess.PIPE,
    )
    disk.set_mode(f"slow {FSYNC_MS}")
    try:
        async with running(_count(process, seen)):
            yield seen
    finally:
        await Child(process=process).kill()
        disk.set_mode("")


async def _count(process: asyncio.subprocess.Process, seen: list[str]) -> None:
    assert process.stdout is not None
    while line := await process.stdout.readline():
        seen.append(line.decode())


async def _rounds(restarts: Restarts, declared: Declared, api: httpx.AsyncClient) -> None:
    """Kill at any moment: idle, just after a write, or in the middle of one."""
    rng = random.Random(SEED)
    for number in range(RESTARTS):
        await declared.change(api)
        writing = asyncio.create_task(_write_until_killed(declared, api))
        await asyncio.sleep(rng.uniform(0.0, 0.3))
        await restarts.end((signal.SIGKILL, signal.SIGTERM)[number % 2])
        await writing
        await asyncio.sleep(rng.choice((0.0, 0.3)))
        await restarts.start()
        await restarts.until_ready(api)
        await declared.intact(api)


async def _write_until_killed(declared: Declared, api: httpx.AsyncClient) -> None:
    with contextlib.suppress(httpx.TransportError):
        await declared.change(api)


def _watch(
    site: Site, token: str
) -> tuple[list[Watcher], contextlib.AbstractAsyncContextManager[None]]:
    url = f"http://127.0.0.1:{site.ports.api}"
    watchers = [
        Watcher(name=one.__name__) for one in (poll, long_poll, stream, readiness, subscribe)
    ]
    works = [
        start(watcher, url, token)
        for start, watcher in zip((poll, long_poll, stream, readiness), watchers, strict=False)
    ]
    ads = AdsCaller(ads=("127.0.0.1", site.ports.ads), node="watcher", group=GROUP, token=token)
    return watchers, running(*works, subscribe(watchers[-1], ads))


@contextlib.asynccontextmanager
async def _served(restarts: Restarts) -> AsyncIterator[httpx.AsyncClient]:
    """The first start, honest about having nothing, then backends, agent and Envoy in front."""
    site = restarts.site
    stack = restarts.stack
    await stack.enter_async_context(backend("east", site.ports.east))
    await stack.enter_async_context(backend("west", site.ports.west))
    await restarts.start()
    async with site.api() as api:
        answer = await api.get("/readyz")
        assert answer.status_code == 503, answer.text
        await site.declare(api)
        await restarts.until_ready(api)
        await stack.enter_async_context(site.agent())
        await stack.enter_async_context(site.envoy())
        await ready(site.ports.admin)
        await until(lambda: in_force(api, NODE, f"{NODE} (agent)"), "Envoy and agent are current")
        yield api


@pytest.mark.timeout(240)
async def test_restarts_are_not_seen(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """6. 20 restarts under 200 requests/s with a slow database: no failed request, never empty.

    Half of them by kill -9, half by SIGTERM, in the middle of writes; whenever /readyz says yes
    the whole configuration is there, and no caller ever sees an older revision.
    """
    site = site_in(tmp_path)
    load = SteadyLoad(port=site.ports.listener, rate_rps=RATE_RPS)
    declared = Declared(site=site)
    async with faulty_disk(tmp_path / "disk", "64m") as disk, contextlib.AsyncExitStack() as stack:
        restarts = Restarts(site=site, disk=disk, stack=stack)
        async with _served(restarts) as api:
            token = api.headers["authorization"].removeprefix("Bearer ")
            watchers, watching = _watch(site, token)
            began = time.monotonic()
            async with load.running(), _slow_database(disk) as bursts, watching:
                await _rounds(restarts, declared, api)
                await until(
                    lambda: in_force(api, NODE, f"{NODE} (agent)"), "Envoy and agent are back"
                )
            took_s = time.monotonic() - began
    assert load.failed == []
    assert [problem for watcher in watchers for problem in watcher.problems] == []
    assert all(watcher.answers for watcher in watchers)
    assert len(bursts) > RESTARTS
    assert load.sent / took_s > 0.95 * RATE_RPS
    record_property("restarts", RESTARTS)
    record_property("requests", load.sent)
    record_property("failed_requests", len(load.failed))
    record_property("requests_per_s", round(load.sent / took_s))
    record_property("median_start_s", round(statistics.median(restarts.starts_s[1:]), 2))
    record_property("acknowledged_writes", declared.writes)
    record_property("lock_bursts", len(bursts))
    record_property("watched_answers", sum(watcher.answers for watcher in watchers))
