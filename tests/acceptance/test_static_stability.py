"""Envoy without us: the control plane dies, Envoys serve on, start anew and come back."""

import asyncio
import contextlib
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.live_envoy import backend, ready, stats
from tests.acceptance.served import (
    NODE,
    UPDATES,
    Load,
    Site,
    in_force,
    site_in,
    until,
    version_of,
)

# From the start of an Envoy to its first configuration, while the control plane hangs.
WITHIN_S = 10.0


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return site_in(tmp_path)


async def test_envoy_serves_without_the_control_plane_and_returns_to_it(
    site: Site, record_property: Callable[[str, object], None]
) -> None:
    """3. Envoy outlives kill -9 of the control plane, starts without it, returns without a push.

    Before the kill, while an Envoy starts from the agent's cache, and after the return, requests
    go on; the version is the same all the time.
    """
    ports = site.ports
    load = Load(f"http://127.0.0.1:{ports.listener}")
    clock = asyncio.get_running_loop().time
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(backend("east", ports.east))
        await stack.enter_async_context(backend("west", ports.west))
        control_plane = await stack.enter_async_context(site.serving())
        api = await stack.enter_async_context(site.api())
        await site.declare(api)
        await stack.enter_async_context(site.agent())
        first = await stack.enter_async_context(site.envoy())
        await ready(ports.admin)
        await until(lambda: in_force(api, NODE, f"{NODE} (agent)"), "Envoy and agent are current")
        before = await stats(ports.admin, UPDATES)
        version = await version_of(api)

        async with load.running():
            await asyncio.sleep(0.5)
            await control_plane.kill()
            await asyncio.sleep(1.5)
        assert load.sent > 50
        assert load.failed == []

        await first.stop()
        began = clock()
        await stack.enter_async_context(site.envoy())
        await ready(ports.admin)
        record_property("start_without_control_plane_s", round(clock() - began, 2))
        async with load.running():
            await asyncio.sleep(0.5)
            started = await stats(ports.admin, UPDATES)
            assert started == before, "an Envoy from the cache has the same resources"
            began = clock()
            await stack.enter_async_context(site.serving())
            await until(lambda: in_force(api, NODE, f"{NODE} (agent)"), "both are back")
            record_property("back_at_control_plane_s", round(clock() - began, 2))
            await asyncio.sleep(1.0)
        assert await version_of(api) == version
        assert await stats(ports.admin, UPDATES) == started, "nothing was pushed"
        assert load.failed == []
        record_property("requests", load.sent)
        record_property("failed_requests", len(load.failed))


async def test_a_control_plane_that_hangs_keeps_no_envoy_waiting(
    site: Site, record_property: Callable[[str, object], None]
) -> None:
    """2. Beside a control plane that hangs (SIGSTOP) an Envoy starts from the agent's cache.

    The running Envoy serves on; when the control plane goes on, both are its own again.
    """
    ports = site.ports
    load = Load(f"http://127.0.0.1:{ports.listener}")
    clock = asyncio.get_running_loop().time
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(backend("east", ports.east))
        await stack.enter_async_context(backend("west", ports.west))
        control_plane = await stack.enter_async_context(site.serving())
        api = await stack.enter_async_context(site.api())
        await site.declare(api)
        await stack.enter_async_context(site.agent())
        first = await stack.enter_async_context(site.envoy())
        await ready(ports.admin)
        await until(lambda: in_force(api, NODE, f"{NODE} (agent)"), "Envoy and agent are current")
        control_plane.process.send_signal(signal.SIGSTOP)
        try:
            await first.kill()
            began = clock()
            await stack.enter_async_context(site.envoy())
            await ready(ports.admin)
            seconds = clock() - began
            record_property("start_beside_hanging_control_plane_s", round(seconds, 2))
            assert seconds < WITHIN_S
            async with load.running():
                await asyncio.sleep(1.0)
        finally:
            control_plane.process.send_signal(signal.SIGCONT)
        async with load.running():
            await asyncio.sleep(2.0)
            await until(lambda: in_force(api, NODE, f"{NODE} (agent)"), "both are back")
        record_property("failed_requests", len(load.failed))
        assert load.failed == []
