"""A real nginx behind its courier's plane: reloads, their pace, restarts, refusals, spellings."""

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
from controlplane.adapters.nginx.program import NginxProgram, NginxProgramOptions
from controlplane.adapters.nginx.render import NginxOptions, render
from controlplane.adapters.processes import LocalProcesses
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
    """A running nginx with the backends of two data centres."""

    plane: FilePlane
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
        configuration = str(self.folder / "current" / "nginx.conf")
        with (self.folder / "output.log").open("ab") as log:
            self.process = subprocess.Popen(
                [program("nginx"), "-c", configuration, "-g", "daemon off;"],
                stdout=log,
                stderr=log,
            )

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


@pytest.fixture
async def live(tmp_path: Path) -> AsyncIterator[Live]:
    ports = [free_port() for _ in range(3)]
    plain = service("web", range(ports[1], ports[1] + 1), range(ports[2], ports[2] + 1))
    declared = replace(
        fleet(ports[0]), services=(replace(plain, load_balancing=LoadBalancing.ROUND_ROBIN),)
    )
    options = NginxProgramOptions(directory=tmp_path, interval_s=0.5)
    rendering = NginxOptions(group=GROUP, directory=str(tmp_path), workers="1")

    def rendered(made: Snapshot, left_out: Mapping[str, str]) -> Artifact:
        return render(made, rendering, left_out)

    plane = FilePlane(("nginx", GROUP), tmp_path, rendered, NginxProgram(options, LocalProcesses()))
    one = Live(plane=plane, folder=tmp_path, port=ports[0], declared=declared)
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(backend("east", [ports[1]]))
        await stack.enter_async_context(backend("west", [ports[2]]))
        await one.publish()
        one.start()
        stack.callback(one.stop)
        await one.until_runs()
        yield one


async def test_changes_are_reloads_and_a_restart_comes_back_with_the_newest(live: Live) -> None:
    live.routes.append(Route(id="again", path=PathMatch(value="/again"), service="web"))
    await live.publish(0.75)
    await live.until_runs()
    # For a moment after a reload an old worker answers with the old weights.
    async with asyncio.timeout(20):
        while not 0.70 < (await live.bodies(100, "/again"))["east"] / 100 < 0.80:
            await asyncio.sleep(0.05)
    live.stop()
    assert [node.connected for node in await live.plane.observe()] == [False]
    await live.publish(0.25)
    live.start()
    await live.until_runs()
    assert (await live.bodies(100))["west"] > 65


async def test_one_bad_route_of_many_is_left_out(live: Live) -> None:
    bad = PathMatch(type=PathMatchType.REGULAR_EXPRESSION, value="/x(?|")
    live.routes[:] = [
        *(Route(id=f"r{n:02}", service="web", path=PathMatch(value=f"/r{n}")) for n in range(99)),
        Route(id="bad", service="web", path=bad),
    ]
    await live.publish()
    await live.until_runs()
    (found,) = await live.plane.repair()
    assert (found.code, found.subject) == ("route_refused", "route/bad")
    assert "pcre" in found.message
    assert await live.bodies(1, "/r98")


async def test_paths_reach_the_service_in_normal_form(live: Live) -> None:
    assert await live.bodies(1, "/a%20b/%E4%BD%A0?x=%20")
    assert await live.bodies(1, "/a//b/%7Ec/./d")
