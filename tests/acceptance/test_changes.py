"""A planned change on a real control plane and a real Envoy under load."""

import asyncio
import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from benchmarks.live_envoy import backend, ready
from tests.acceptance.served import NODE, in_force, site_in, until
from tests.acceptance.steady_load import SteadyLoad

RATE_RPS = 400.0
MIGRATION: dict[str, Any] = {
    "title": "east moves to west",
    "migration": {
        "from_datacenter": "east",
        "to_datacenter": "west",
        "steps": [0.25, 0.5, 0.75, 1.0],
    },
}
# Half way there must be time to abort, also on a busy machine.
SLOW_S, FAST_S = 2.0, 0.6


async def test_a_migration_loses_nothing_and_an_abort_is_exactly_back(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """8. A staged migration of a data centre under 400 requests/s: 0 failed requests; aborted half
    way: exactly back."""
    site = site_in(tmp_path)
    load = SteadyLoad(port=site.ports.listener, rate_rps=RATE_RPS)
    async with contextlib.AsyncExitStack() as stack:
        enter = stack.enter_async_context
        await enter(backend("east", site.ports.east))
        await enter(backend("west", site.ports.west))
        await enter(site.serving())
        api = await enter(site.api())
        await site.declare(api)
        await enter(site.agent())
        await enter(site.envoy())
        await until(lambda: in_force(api, NODE), "the gateway runs it")
        await ready(site.ports.admin)
        await enter(load.running())
        before = await rendered(api)
        await begun(api, "half", SLOW_S)
        await until(lambda: at_stage(api, "half", 1), "it is half way")
        assert await rendered(api) != before
        aborted = await steer(api, "half", "abort")
        assert aborted["state"] in ("aborting", "aborted")
        await until(lambda: in_state(api, "half", "aborted"), "it is aborted")
        await until(lambda: same(api, before), "what is rendered is what it was")
        await asyncio.sleep(1.0)
        assert await rendered(api) == before
        await begun(api, "whole", FAST_S)
        await until(lambda: in_state(api, "whole", "done"), "it is done")
        await asyncio.sleep(0.5)
        assert await weights(api) == {"east": 0, "west": 10_000}
        assert {await answer_of(site.ports.listener) for _ in range(50)} == {"west"}
    record_property("migration_requests", load.sent)
    record_property("migration_failed_requests", len(load.failed))
    assert load.sent > RATE_RPS * 4
    assert load.failed == []


async def begun(api: httpx.AsyncClient, name: str, hold_s: float) -> None:
    wanted = {**MIGRATION, "pace": {"hold_s": hold_s}}
    planned = await api.put(f"/v1/changes/{name}", json=wanted)
    assert planned.is_success, planned.text
    await steer(api, name, "start")


async def steer(api: httpx.AsyncClient, name: str, event: str) -> dict[str, Any]:
    answer = await api.post(f"/v1/changes/{name}:{event}", json={"reason": "test"})
    assert answer.is_success, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def change(api: httpx.AsyncClient, name: str) -> dict[str, Any]:
    found: dict[str, Any] = (await api.get(f"/v1/changes/{name}")).json()
    return found


async def at_stage(api: httpx.AsyncClient, name: str, stage: int) -> bool:
    return bool((await change(api, name))["stage"] >= stage)


async def in_state(api: httpx.AsyncClient, name: str, state: str) -> bool:
    return bool((await change(api, name))["state"] == state)


async def rendered(api: httpx.AsyncClient) -> bytes:
    """What is published, and Envoy's configuration made from it, without its revision."""
    config = (await api.get("/v1/config")).content
    answer = await api.get("/v1/config/rendered", params={"plane": "envoy", "group": "edge"})
    assert answer.is_success, answer.text
    parts = answer.json()
    parts.pop("revision", None)
    return config + json.dumps(parts, sort_keys=True).encode()


async def same(api: httpx.AsyncClient, content: bytes) -> bool:
    return await rendered(api) == content


async def weights(api: httpx.AsyncClient) -> dict[str, int]:
    (row,) = (await api.get("/v1/weights")).json()["weights"]
    found: dict[str, int] = row["weights"]
    return found


async def answer_of(port: int) -> str:
    async with httpx.AsyncClient(trust_env=False) as user:
        return (await user.get(f"http://127.0.0.1:{port}/")).text
