"""A real HAProxy behind its courier's plane: weights, maps, reloads, restarts, refusals."""

import asyncio
import contextlib
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from benchmarks.free_ports import free_port
from benchmarks.live_envoy import backend
from controlplane.adapters.file_plane import FilePlane
from controlplane.adapters.haproxy.program import HaproxyProgram, HaproxyProgramOptions
from controlplane.adapters.haproxy.render import HaproxyOptions, render
from controlplane.adapters.haproxy.socket import RuntimeSocket
from controlplane.adapters.processes import LocalProcesses
from controlplane.domain.errors import Rejected
from controlplane.domain.routing.route import PathMatch, PathMatchType, Route
from controlplane.domain.services import LoadBalancing
from controlplane.domain.snapshot import Snapshot
from controlplane.domain.topology import Fleet
from controlplane.ports.outside import Artifact
from tests.servers.proxies import Client, program
from tests.sites.proxied import GROUP, fleet, service, snapshot

ALL = Route(id="all", service="web")


@dataclass(slots=True, kw_only=True)
class Live:
    """A running HAProxy with the backends of two data centres."""

    plane: FilePlane
    socket: RuntimeSocket
    folder: Path
    port: int
    declared: Fleet
    process: "subprocess.Popen[bytes] | None" = None
    revision: int = 0
    routes: list[Route] = field(default_factory=lambda: [ALL])

    async def publish(self, east: float = 0.5) -> None:
        self.revision += 1
        declared = replace(self.declared, routes=tuple(self.routes), whitelists=())
        await self.plane.apply(self.plane.render(snapshot(declared, self.revision, east)))

    def start(self) -> None:
        command = ["-W", "-p", str(self.folder / "haproxy.pid"), "-db"]
        configuration = ["-f", str(self.folder / "current" / "haproxy.cfg")]
        log = (self.folder / "output.log").open("ab")
        self.process = subprocess.Popen(
            [program("haproxy"), *command, *configuration], stdout=log, stderr=log
        )
        log.close()

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(10)

    async def until_runs(self) -> None:
        async with asyncio.timeout(20):
            while (await self.plane.observe())[0].revision != self.revision:
                await asyncio.sleep(0.02)

    async def bodies(self, count: int, path: str = "/") -> Counter[str]:
        def ask() -> Counter[str]:
            client = Client(self.port)
            try:
                answers = (client.ask(path) for _ in range(count))
                return Counter(answer.body for answer in answers if answer.status == 200)
            finally:
                client.close()

        return await asyncio.to_thread(ask)

    async def until_serves(self) -> None:
        async with asyncio.timeout(20):
            while not await self.bodies(1):
                await asyncio.sleep(0.05)


@pytest.fixture
async def live(tmp_path: Path) -> AsyncIterator[Live]:
    ports = [free_port() for _ in range(5)]
    plain = service("web", range(ports[1], ports[1] + 1), range(ports[2], ports[2] + 1))
    declared = replace(
        fleet(ports[0]), services=(replace(plain, load_balancing=LoadBalancing.ROUND_ROBIN),)
    )
    socket = tmp_path / "haproxy.sock"
    options = HaproxyProgramOptions(directory=tmp_path, socket=socket)
    rendering = HaproxyOptions(group=GROUP, socket=str(socket))

    def rendered(made: Snapshot, left_out: Mapping[str, str]) -> Artifact:
        return render(made, rendering, left_out)

    plane = FilePlane(
        ("haproxy", GROUP), tmp_path, rendered, HaproxyProgram(options, LocalProcesses())
    )
    one = Live(
        plane=plane, socket=RuntimeSocket(socket), folder=tmp_path, port=ports[0], declared=declared
    )
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(backend("east", [ports[1]]))
        await stack.enter_async_context(backend("west", [ports[2]]))
        await one.publish()
        one.start()
        stack.callback(one.stop)
        await one.until_runs()
        await one.until_serves()
        yield one


async def test_weights_and_rules_change_without_a_reload(live: Live) -> None:
    before = await live.socket.ask("show info")
    await live.publish(0.75)
    await live.until_runs()
    seen = await live.bodies(200)
    assert 0.70 < seen["east"] / 200 < 0.80
    # A rule to a section that is there changes the map only.
    live.routes.append(Route(id="web-again", service="web", path=PathMatch(value="/again")))
    live.routes[0] = replace(ALL, path=PathMatch(value="/again/and"))
    await live.publish(0.75)
    await live.until_runs()
    assert await live.bodies(1, "/again")
    assert not await live.bodies(1, "/other")
    assert _pid(await live.socket.ask("show info")) == _pid(before)


async def test_a_new_section_is_a_reload_and_fails_no_request(live: Live) -> None:
    stop = asyncio.Event()

    async def load() -> Counter[int]:
        client, seen = Client(live.port), Counter[int]()
        while not stop.is_set():
            seen[(await asyncio.to_thread(client.ask, "/")).status] += 1
        client.close()
        return seen

    task = asyncio.create_task(load())
    live.routes.append(
        Route(id="slow", service="web", path=PathMatch(value="/slow"), timeout_ms=900)
    )
    await live.publish()
    await live.until_runs()
    assert await live.bodies(1, "/slow")
    stop.set()
    assert set(await task) == {200}


async def test_what_somebody_changed_by_hand_comes_back(live: Live) -> None:
    await live.publish(0.75)
    await live.socket.set_weights({("s.web", "east.1"): 1})
    await live.plane.repair()
    assert (await live.socket.weights())["s.web", "east.1"] == 256


async def test_a_restart_without_us_comes_back_with_the_newest(live: Live) -> None:
    await live.publish(0.25)
    live.stop()
    assert [node.connected for node in await live.plane.observe()] == [False]
    live.start()
    await live.until_runs()
    await live.until_serves()
    assert (await live.bodies(200))["west"] > 130


async def test_one_bad_route_of_many_is_left_out(live: Live) -> None:
    bad = PathMatch(type=PathMatchType.REGULAR_EXPRESSION, value="/x{1}{2}(?|")
    live.routes += [
        *(Route(id=f"r{n:02}", service="web", path=PathMatch(value=f"/r{n}")) for n in range(98)),
        Route(id="bad", service="web", path=bad),
    ]
    await live.publish()
    await live.until_runs()
    (found,) = await live.plane.repair()
    assert (found.code, found.subject) == ("route_refused", "route/bad")
    assert "quantifier does not follow" in found.message
    assert str(live.folder) not in found.message
    assert await live.bodies(1, "/r97")


async def test_an_older_revision_is_refused_also_after_a_restart(live: Live) -> None:
    await live.publish()
    live.revision = 0
    with pytest.raises(Rejected, match="not newer"):
        await live.publish(0.9)


def _pid(info: str) -> str:
    return next(line for line in info.splitlines() if line.startswith("Pid:"))
