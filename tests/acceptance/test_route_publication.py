"""100 routes of which one is bad: 99 live, one finding with its place and reason; 10,000 routes published to Envoy without a failed request at 500 requests/s."""  # noqa: E501

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from benchmarks.live_envoy import ready, stats
from tests.acceptance.served import NODE, fleet, in_force, site_in, until
from tests.acceptance.steady_load import SteadyLoad
from tests.acceptance.test_refused_push import BAD, REJECTED, Served, served

MANY = 10_000
RATE_RPS = 500
# Some seconds when nothing else runs.
LIVE_S = 60.0
WORDS = ("otn", "login", "tickets", "orders", "stations", "v1")


@pytest.mark.parametrize("sort", BAD)
async def test_one_bad_route_of_100(
    sort: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """7. 100 routes of which one is bad: 99 live, one finding with its place and reason."""
    site = site_in(tmp_path)
    async with served(site, {}) as it, site.envoy():
        await ready(site.ports.admin)
        began = time.monotonic()
        answer = await it.declared(sort, {"id": "bad"} | BAD[sort])
        assert answer.is_success, answer.text
        await until(lambda: it.live(sort), "99 routes are live")
        record_property("seconds_until_99_live", round(time.monotonic() - began, 2))
        await until(lambda: it.found("route/bad"), "the bad one is a finding")
        (finding,) = await it.found("")
        assert (finding["code"], finding["subject"]) == ("item_refused", "route/bad")
        assert "RE2 program size" in finding["message"]
        assert finding["held"].startswith("the route is left out")
        assert not await it.answers("/bad")
        assert sum((await stats(site.ports.admin, REJECTED)).values()) == 0


async def test_ten_thousand_routes_under_load(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """7. 10,000 routes published to Envoy without a failed request at 500 requests/s."""
    site = site_in(tmp_path)
    async with served(site, {}) as it, site.envoy():
        await ready(site.ports.admin)
        await until(lambda: in_force(it.api, NODE), "Envoy runs the first routes")
        load = SteadyLoad(port=site.ports.listener, rate_rps=RATE_RPS)
        async with load.running():
            for part in (MANY, MANY - 1):
                seconds = await _published(it, part)
                record_property(f"seconds_until_{part}_live", round(seconds, 1))
        record_property("requests", load.sent)
        record_property("failed", len(load.failed))
        assert load.failed == []
        assert sum((await stats(site.ports.admin, REJECTED)).values()) == 0


async def _published(it: Served, count: int) -> float:
    """Declare so many routes, the last of them answering by itself; seconds until it does."""
    began = time.monotonic()
    routes: list[dict[str, object]] = [
        {"id": f"r{n:05}", "service": "tickets", "path": {"value": _path(n)}}
        for n in range(count - 1)
    ]
    last = {
        "id": "last",
        "path": {"type": "Exact", "value": "/last"},
        "response": {"status": 418, "body": str(count)},
    }
    everything = {"id": "all", "service": "tickets", "path": {"value": "/"}}
    document = fleet(it.site.ports) | {"routes": [*routes, last, everything]}
    params = {"reason": "test", "force": "true"}
    answer = await it.api.put("/v1/fleet", json=document, params=params, timeout=60)
    assert answer.is_success, answer.text
    url = f"http://127.0.0.1:{it.site.ports.listener}"
    async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
        async with asyncio.timeout(LIVE_S):
            while (await client.get("/last")).text != str(count):
                await asyncio.sleep(0.1)
        seconds = time.monotonic() - began
        for n in range(0, count - 1, 97):
            assert (await client.get(f"{_path(n)}/x")).status_code == httpx.codes.OK
    return seconds


def _path(number: int) -> str:
    """Six segments, another path for each number."""
    words = [WORDS[number // len(WORDS) ** at % len(WORDS)] for at in range(5)]
    return f"/{'/'.join(words)}/{number}"
