"""The agent between a control plane and an Envoy of our own making."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest

from benchmarks.free_ports import free_ports
from controlplane.adapters.envoy.ads import AdsOptions, Authorize
from controlplane.adapters.envoy.plane import EnvoyPlane, PlaneOptions
from controlplane.domain.errors import Refused
from controlplane.domain.xds import ResourceType
from gateway.options import AgentOptions
from gateway.xds_cache.agent import Agent
from tests.adapters.envoy.ads_client import connected
from tests.adapters.envoy.site import SMALL, anybody, snapshot

CDS, EDS = ResourceType.CLUSTER, ResourceType.ENDPOINT
KINDS = ("cluster", "endpoint", "extension_config", "listener", "route")
FILES = {f"{kind}.response" for kind in KINDS}
AWAY = grpc.StatusCode.UNAVAILABLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    folder: Path
    control_plane: int
    agent: int

    @contextlib.asynccontextmanager
    async def plane(
        self, revision: int = 1, east: float = 0.5, authorize: Authorize = anybody
    ) -> AsyncIterator[EnvoyPlane]:
        options = PlaneOptions(ads=AdsOptions(port=self.control_plane))
        one = EnvoyPlane(options, authorize, lambda: 0.0)
        await one.apply(one.render(snapshot(SMALL, revision, east)))
        await one.start()
        try:
            yield one
        finally:
            await one.stop()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        options = AgentOptions(
            cache=self.folder / "cache",
            control_plane=("127.0.0.1", self.control_plane),
            listen=("127.0.0.1", self.agent),
            node="n1",
            group="edge",
            token_file=self.folder / "token",
            back_off_max_s=0.2,
            refused_pause_s=0.2,
        )
        task = asyncio.create_task(Agent(options).run())
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def files(self) -> set[str]:
        folder = self.folder / "cache"
        return {path.name for path in folder.iterdir()} if folder.exists() else set()

    async def version(self) -> str:
        """Version of the clusters that the agent serves now, or why it does not."""
        try:
            async with connected(self.agent) as client:
                await client.ask(CDS)
                return (await client.response()).version_info
        except grpc.aio.AioRpcError as error:
            return error.code().name


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    (tmp_path / "token").write_text("good\n")
    control_plane, agent = free_ports(2)
    return Ground(folder=tmp_path, control_plane=control_plane, agent=agent)


async def until(holds: Callable[[], Awaitable[object] | object]) -> None:
    async with asyncio.timeout(10):
        while True:
            found = holds()
            if await found if isinstance(found, Awaitable) else found:
                return
            await asyncio.sleep(0.02)


async def agent_of(plane: EnvoyPlane) -> bool:
    return any(node.name == "n1 (agent)" and node.connected for node in await plane.observe())


async def test_it_serves_what_was_last_said_while_the_control_plane_is_away(
    ground: Ground,
) -> None:
    async with ground.running():
        async with ground.plane() as plane:
            await until(lambda: ground.files() == FILES)
            assert await ground.version() == AWAY.name
            await plane.apply(plane.render(snapshot(SMALL, 2, 0.7)))
            await until(lambda: plane.acks == len(KINDS) + 1)
            acked = dict((await plane.observe())[0].acked)
        await until(lambda: _is(ground.version, acked["cluster"]))
        async with connected(ground.agent) as client:
            await client.ask(CDS)
            await client.ack(await client.response())
            await client.ask(EDS, "api", "web")
            assert (await client.response()).version_info == acked["endpoint"]
            async with ground.plane(2, 0.7) as plane:
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await asyncio.wait_for(client.response(), 5)
                assert caught.value.code() is AWAY
                await until(lambda: agent_of(plane))
                assert plane.pushes == 0


async def _is(value: Callable[[], Awaitable[str]], wanted: str) -> bool:
    return await value() == wanted


async def test_an_agent_started_without_control_plane_serves_from_disk(ground: Ground) -> None:
    async with ground.plane(), ground.running():
        await until(lambda: ground.files() == FILES)
    path = ground.folder / "cache" / "endpoint.response"
    path.write_bytes(path.read_bytes()[:-1])
    async with ground.running():
        await until(lambda: _serves(ground))
        async with ground.plane() as plane:
            # Only what was damaged is sent again.
            await until(lambda: plane.acks == 1)
            assert plane.pushes == 1


async def _serves(ground: Ground) -> bool:
    return await ground.version() != AWAY.name


async def test_a_control_plane_that_refuses_is_there(ground: Ground) -> None:
    asked = []

    async def refuse(secret: str | None, node: str, group: str) -> None:
        asked.append((secret, node, group))
        raise Refused("unauthenticated", "no such token")

    async with ground.plane(authorize=refuse), ground.running():
        await until(lambda: len(asked) > 1)
        assert asked[0] == ("good", "n1", "edge")
        assert await ground.version() == AWAY.name


@pytest.mark.parametrize("text", [b"", b"a\nb", "schlüssel".encode(), b"\xff\xfe"])
async def test_a_token_that_is_none_is_read_again(ground: Ground, text: bytes) -> None:
    (ground.folder / "token").write_bytes(text)
    async with ground.plane(), ground.running():
        await asyncio.sleep(0.2)
        (ground.folder / "token").write_text("good\n")
        await until(lambda: ground.files() == FILES)


async def test_a_refused_configuration_is_logged_and_not_repeated(ground: Ground) -> None:
    async with ground.plane(), ground.running():
        await until(lambda: ground.files() == FILES)
    async with ground.running():
        await until(lambda: _serves(ground))
        async with connected(ground.agent) as client:
            await client.ask(CDS)
            await client.nack(await client.response(), "no")
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.response(), 0.2)


async def test_what_its_envoy_refuses_gives_way_and_is_told_upstream(ground: Ground) -> None:
    async with ground.plane() as plane, ground.running():
        await until(lambda: ground.files() == FILES)
        first = dict((await plane.observe())[0].acked)["endpoint"]
        # No Envoy is connected, so nobody knows whether one takes this.
        await plane.apply(plane.render(snapshot(SMALL, 2, 0.7)))
        await until(lambda: plane.acks == len(KINDS) + 1)
    async with ground.running():
        await until(lambda: _serves(ground))
        async with connected(ground.agent) as client:
            await client.ask(CDS)
            await client.ack(await client.response())
            await client.ask(EDS, "api", "web")
            await client.nack(await client.response(), "malformed IP address", "api", "web")
            assert (await client.response()).version_info == first
        async with ground.plane(2, 0.7) as plane:
            await until(lambda: _refused(plane, "malformed IP address"))
        await until(lambda: _serves(ground))
        async with connected(ground.agent) as client:
            await client.ask(EDS, "api", "web")
            assert (await client.response()).version_info == first


async def _refused(plane: EnvoyPlane, words: str) -> bool:
    return any(("endpoint", words) in node.refused for node in await plane.observe())


async def test_the_program_ends_with_sigterm_and_says_wrong_options(ground: Ground) -> None:
    arguments = ["--xds-cache", str(ground.folder / "cache"), "--node", "n1", "--group", "edge"]
    arguments += ["--control-plane", f"127.0.0.1:{ground.control_plane}"]
    arguments += ["--token-file", str(ground.folder / "token"), "--listen"]
    process = await _program(*arguments, f"127.0.0.1:{ground.agent}")
    assert process.stderr is not None
    assert b"agent.started" in await asyncio.wait_for(process.stderr.readline(), 20)
    process.terminate()
    _, words = await asyncio.wait_for(process.communicate(), 10)
    assert process.returncode == 0, words
    assert b"agent.stopped" in words
    refused = await _program(*arguments, f"0.0.0.0:{ground.agent}")
    _, words = await asyncio.wait_for(refused.communicate(), 20)
    assert refused.returncode == 2
    assert b"--force-listen" in words


async def _program(*arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "gateway", *arguments, stderr=asyncio.subprocess.PIPE, env=os.environ
    )
