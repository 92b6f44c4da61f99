"""Issue 7, build: policies served by the control plane, enforced by an agent, also without it."""

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from benchmarks.live_agent import LiveAgent, live_agent
from tests.acceptance.served import NODE, site_in, until

EDGE = {"services": ["tickets"], "protection": {"blocked_paths": [{"value": "/admin"}]}}


async def test_a_policy_is_observed_enforced_and_outlives_its_control_plane(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    site = site_in(tmp_path)
    kept = tmp_path / "kept"
    kept.mkdir()
    options = ["--api", f"http://127.0.0.1:{site.ports.api}", "--name", NODE]
    options += ["--token-file", str(tmp_path / "token")]
    with contextlib.ExitStack() as running:
        async with site.serving(), site.api() as api:
            await site.declare(api)
            await put(api, {**EDGE, "mode": "observe"})
            agent = running.enter_context(live_agent(kept, *options))
            await until(lambda: up_to_date(api), "the agent reports what it runs")
            assert asked(agent, "/admin") == 200
            assert agent.metric("signalbox_agent_decisions_total") == 1
            wish = {"mode": "enforce", "reason": "one was seen"}
            assert (await api.post("/v1/policies/edge:mode", json=wish)).is_success
            began_s = time.monotonic()
            await until(lambda: asked(agent, "/admin") == 403, "the agent enforces")
            record_property("enforced_after_s", round(time.monotonic() - began_s, 2))
            dry_run = await api.post("/v1/policies:decide", json={"path": "/admin"})
            assert dry_run.json()["decision"]["reason"] == "path_blocked"
        assert [asked(agent, path) for path in ("/admin", "/seats")] == [403, 200]


async def put(api: httpx.AsyncClient, document: dict[str, object]) -> None:
    answer = await api.put("/v1/policies/edge", json=document)
    assert answer.is_success, answer.text


async def up_to_date(api: httpx.AsyncClient) -> bool:
    items = (await api.get("/v1/policies:reports")).json()["items"]
    return [(one["gateway"], one["up_to_date"]) for one in items] == [(NODE, True)]


def asked(agent: LiveAgent, path: str) -> int:
    return httpx.get(f"http://127.0.0.1:{agent.door}/envoy{path}", trust_env=False).status_code
