"""The life of routes on real planes: gray releases, their ends, rollback, a bad one of many."""

import asyncio
import contextlib
import random
import time
import uuid
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from pathlib import Path

import httpx
import pytest

from benchmarks.free_ports import free_port
from benchmarks.live_envoy import ready
from controlplane.adapters.haproxy.render import HaproxyOptions
from controlplane.adapters.haproxy.render import render as haproxy_files
from controlplane.adapters.nginx.render import NginxOptions
from controlplane.adapters.nginx.render import render as nginx_files
from controlplane.domain.routing.matching.request import STICKY_COOKIE
from controlplane.domain.routing.route import FixedResponse, PathMatch, Route
from controlplane.domain.snapshot import Content, RoutesSection, assemble
from controlplane.domain.topology import GatewayGroup
from tests.acceptance.served import GROUP, NODE, Site, fleet, in_force, site_in, until
from tests.servers.proxies import Client, haproxy, nginx, write

USERS = 4_000
SEED = 5
POINT = 0.01
TTL_S = 2.0
# A plane that asks the clock does so in whole seconds.
LATE_S = 1.5
SCALE = 0.02


def answer_of(body: str, path: str) -> dict[str, object]:
    return {"response": {"status": 200, "body": body}, "path": {"value": path}}


async def done(answer: httpx.Response) -> dict[str, object]:
    assert answer.is_success, answer.text
    content: dict[str, object] = answer.json()
    return content


def users() -> list[str]:
    """Cookies as the gateways make them."""
    chance = random.Random(SEED)
    return [str(uuid.UUID(int=chance.getrandbits(128), version=4)) for _ in range(USERS)]


def who_gets(port: int, body: str) -> set[str]:
    """The users whose requests get an answer."""
    client = Client(port)
    found = {
        user
        for user in users()
        if client.ask("/gray", headers=[("cookie", f"{STICKY_COOKIE}={user}")]).body == body
    }
    client.close()
    return found


@contextlib.asynccontextmanager
async def with_envoy(folder: Path) -> AsyncIterator[tuple[Site, httpx.AsyncClient]]:
    site = site_in(folder)
    async with site.serving(), site.api() as api:
        await site.declare(api)
        async with site.agent(), site.envoy():
            await until(lambda: in_force(api, NODE), "the gateway runs it")
            await ready(site.ports.admin)
            yield site, api


async def test_five_percent_of_the_users_and_the_same_ones_at_twenty(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """6. Gray release of 5 % is 5 % within 1 point, the same users stay in it over changes to 20 %.

    On a real Envoy, where a TTL route vanishes on time, too.
    """
    async with with_envoy(tmp_path) as (site, api):
        port = site.ports.listener
        published = {"publish": "true"}
        await done(await api.put("/v1/routes/g", params=published, json=answer_of("old", "/gray")))
        await done(await api.put("/v1/routes/g", json=answer_of("new", "/gray")))
        steps = [{"share": 0.05}, {"share": 0.2}]
        await done(await api.post("/v1/routes/g:gray", json={"by": "user", "steps": steps}))
        await until(lambda: runs(api, '"high":500'), "the gateway runs the first step")
        first = await asyncio.to_thread(who_gets, port, "new")
        await done(await api.post("/v1/routes/g:step"))
        await until(lambda: runs(api, '"high":2000'), "the gateway runs the second step")
        second = await asyncio.to_thread(who_gets, port, "new")
        late_s = await lateness(api, port)
    small, large = len(first) / USERS, len(second) / USERS
    record_property("gray_share_at_5", small)
    record_property("gray_share_at_20", large)
    record_property("gray_users_that_left", len(first - second))
    record_property("ttl_late_s_envoy", late_s)
    assert abs(small - 0.05) <= POINT
    assert abs(large - 0.20) <= POINT
    assert first <= second
    assert 0.0 <= late_s <= LATE_S


async def runs(api: httpx.AsyncClient, words: str) -> bool:
    """Whether a table with these words is published, and the gateway has it."""
    return words in (await api.get("/v1/routes")).text and await in_force(api, NODE)


async def has_answer(port: int, path: str, body: str) -> bool:
    client = Client(port)
    try:
        return (await asyncio.to_thread(client.ask, path)).body == body
    except ConnectionError:
        return False
    finally:
        client.close()


async def lateness(api: httpx.AsyncClient, port: int) -> float:
    """How long after its end a route was gone from an Envoy, in seconds."""
    body = answer_of("here", "/brief") | {"ttl_s": TTL_S + 2.0}
    content = await done(await api.put("/v1/routes/brief", params={"publish": "true"}, json=body))
    published = content["route"]["published"]  # type: ignore[index]
    ends_s = _seconds(published["valid_until"])
    await until(lambda: has_answer(port, "/brief", "here"), "the route is there")
    return await asyncio.to_thread(gone_after, port, "/brief", "here", ends_s)


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def gone_after(port: int, path: str, body: str, ends_s: float) -> float:
    """Ask until the answer is another one; seconds since the end of the route."""
    client = Client(port)
    while client.ask(path).body == body:
        assert time.time() < ends_s + 20.0, "the route does not end"
        time.sleep(0.01)
    client.close()
    return time.time() - ends_s


@pytest.mark.parametrize("plane", ["haproxy", "nginx"])
def test_a_route_ends_on_time_on_proxies_that_nobody_tells(
    tmp_path: Path, plane: str, record_property: Callable[[str, object], None]
) -> None:
    """6. TTL routes vanish on time on all planes.

    These ask the clock themselves, to the second; nothing is written or loaded again.
    """
    port, ends_s = free_port(), time.time() + TTL_S + 2.0
    brief = Route(
        id="brief",
        path=PathMatch(value="/brief"),
        response=FixedResponse(status=200, body="here"),
        valid_until_s=ends_s,
    )
    groups = (GatewayGroup(name=GROUP, listen_port=port),)
    content = Content(routes=RoutesSection(gateways=groups, routes=(brief,)))
    if plane == "haproxy":
        options = HaproxyOptions(group=GROUP, socket=str(tmp_path / "haproxy.sock"))
        write(tmp_path, haproxy_files(assemble(content), options).parts)
        running = haproxy(tmp_path, port)
    else:
        settings = NginxOptions(group=GROUP, directory=str(tmp_path), workers="1")
        write(tmp_path, nginx_files(assemble(content), settings).parts)
        running = nginx(tmp_path, port)
    with running:
        first = Client(port)
        assert first.ask("/brief").body == "here"
        first.close()
        late_s = gone_after(port, "/brief", "here", ends_s)
    record_property(f"ttl_late_s_{plane}", late_s)
    assert 0.0 <= late_s <= LATE_S


async def test_it_holds_when_the_metrics_source_is_stopped_and_goes_back_byte_for_byte(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """6. It holds when the metrics source is stopped; rollback is byte-equal.

    While samples come it goes from step to step.
    """
    site = site_in(tmp_path)
    async with site.serving(time_scale=str(SCALE)), site.api() as api:
        await site.apply(api, fleet(site.ports))
        before = (await api.get("/v1/routes", params={"wait": "10"})).content
        draft = {"service": "tickets", "timeout_ms": 700}
        await done(await api.put("/v1/routes/all", json=draft))
        shares = (0.05, 0.1, 0.2, 0.4, 0.8)
        steps = [{"share": share, "hold_s": 0.5} for share in shares]
        await done(await api.post("/v1/routes/all:gray", json={"by": "user", "steps": steps}))
        async with samples(api):
            await until(lambda: at_step(api, 1), "the first step was taken")
        await until(lambda: holds(api), "it holds without metrics")
        step = (await gray(api))["step"]
        await asyncio.sleep(2.0)
        found = (await api.get("/v1/findings", params={"subject": "route/all"})).json()["items"]
        after = await gray(api)
        record_property("gray_held_at_step", step)
        assert after["step"] == step
        assert after["verdict"] == "hold"
        assert [one["code"] for one in found] == ["gray_held"]
        await done(await api.post("/v1/routes/all:publish"))
        await until(lambda: is_full(api), "it is published for all traffic")
        await done(await api.post("/v1/routes/all:rollback"))
        await until(lambda: has_bytes(api, before), "the table has its old bytes")
    record_property("rollback_byte_equal", True)


async def gray(api: httpx.AsyncClient) -> dict[str, object]:
    found = (await done(await api.get("/v1/routes/all")))["gray"]
    assert isinstance(found, dict)
    return found


async def at_step(api: httpx.AsyncClient, step: int) -> bool:
    return int(str((await gray(api))["step"])) >= step


async def holds(api: httpx.AsyncClient) -> bool:
    return (await gray(api))["verdict"] == "hold"


async def is_full(api: httpx.AsyncClient) -> bool:
    found = (await api.get("/v1/routes")).text
    return "gray/all" not in found and '"timeout_ms":700' in found


async def has_bytes(api: httpx.AsyncClient, body: bytes) -> bool:
    return (await api.get("/v1/routes")).content == body


@contextlib.asynccontextmanager
async def samples(api: httpx.AsyncClient) -> AsyncIterator[None]:
    """A metrics source: what both data centres report, until it is stopped."""
    task = asyncio.create_task(_send(api))
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _send(api: httpx.AsyncClient) -> None:
    chance = random.Random(SEED)
    while True:
        rows = [
            {
                "service": "tickets",
                "datacenter": center,
                "request_rate_rps": 100.0 + chance.random(),
                "response_time_ms": 20.0 + chance.random(),
                "cpu_avg": 0.3 + 0.01 * chance.random(),
                "error_ratio": 0.001,
            }
            for center in ("east", "west")
        ]
        await done(await api.post("/v1/samples", json={"samples": rows}))
        await asyncio.sleep(0.3)


async def test_of_100_routes_one_fails_its_check_and_99_are_live(tmp_path: Path) -> None:
    """7. 100 routes of which one is bad: 99 live, one finding with its place and reason."""
    site = site_in(tmp_path)
    async with site.serving(), site.api() as api:
        routes = [{"id": f"r{n}", **answer_of(str(n), f"/{n}")} for n in range(100)]
        routes[42]["checks"] = [{"path": "/43", "route": "r42"}]
        await site.apply(api, fleet(site.ports) | {"routes": routes})
        answer = await api.get("/v1/routes", params={"wait": "10"})
        assert {one["id"] for one in answer.json()["routes"]} == {
            f"r{n}" for n in range(100) if n != 42
        }
        (finding,) = (await api.get("/v1/findings", params={"subject": "route/r42"})).json()[
            "items"
        ]
    assert finding["code"] == "route_check_failed"
    assert "GET localhost/43 must get route r42, and gets route r43" in finding["message"]
