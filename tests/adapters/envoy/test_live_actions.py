"""A real Envoy does what a route says: answers, rewrites, versions, queues, for its own group."""

import asyncio
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import httpx

from benchmarks.free_ports import free_ports
from controlplane.domain.routing.route import (
    FixedResponse,
    HeaderChanges,
    PathMatch,
    PathMatchType,
    Redirect,
    Rewrite,
    Route,
    SlowQueue,
    VersionWeight,
)
from controlplane.domain.services import RetryPolicy
from controlplane.domain.topology import GatewayGroup
from tests.adapters.envoy.echoes import Echo, at, listening, publish, served, site
from tests.adapters.envoy.site import GROUP

WAIT_MS = 300


def route(name: str, value: str, **changes: object) -> Route:
    return Route(id=name, service="web", path=PathMatch(value=value), **changes)  # type: ignore[arg-type]


def answering(name: str, value: str, **changes: object) -> Route:
    return Route(id=name, path=PathMatch(value=value), **changes)  # type: ignore[arg-type]


ROUTES = (
    route("all", "/"),
    answering("moved", "/moved", redirect=Redirect(status=308, scheme="https", host="new.example")),
    answering("other", "/other", redirect=Redirect(path="/there")),
    answering("denied", "/denied", response=FixedResponse(status=403)),
    answering(
        "page",
        "/page",
        response=FixedResponse(status=200, body='{"a": "100 %"}', content_type="application/json"),
    ),
    answering("long", "/long", response=FixedResponse(status=200, body="x" * 9_000)),
    route("prefix", "/old/api", rewrite=Rewrite(prefix="/api/v2", host="inner.example")),
    route("stripped", "/strip", rewrite=Rewrite(prefix="/")),
    route("whole", "/whole", rewrite=Rewrite(path="/one/\\1")),
    route(
        "headers",
        "/headers",
        request_headers=HeaderChanges(set=(("x-plan", "50%"), ("x-empty", "")), remove=("x-gone",)),
        response_headers=HeaderChanges(set=(("x-served", "yes"),), remove=("x-secret",)),
    ),
    route("hurried", "/hurried", timeout_ms=100),
    route("once", "/once", retries=0),
    Route(id="brisk", service="brisk", path=PathMatch(value="/brisk")),
    Route(
        id="user",
        service="web",
        path=PathMatch(type=PathMatchType.PATH_TEMPLATE, value="/users/{id}"),
        rewrite=Rewrite(path="/user"),
    ),
    Route(
        id="impossible",
        service="web",
        path=PathMatch(type=PathMatchType.EXACT, value="/impossible"),
        transform="xml",
    ),
)


@dataclass(slots=True, kw_only=True)
class Asking:
    """A client that reads what an echo tells."""

    client: httpx.AsyncClient

    async def get(self, path: str, **headers: str) -> httpx.Response:
        answer = await self.client.get(path, headers=headers)
        self.client.cookies.clear()
        return answer

    async def told(self, path: str, **headers: str) -> dict[str, str]:
        answer = await self.get(path, **headers)
        assert answer.status_code == 200, (path, answer.status_code)
        told: dict[str, str] = answer.json()
        return told


def asking(port: int) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=30)


async def test_actions(tmp_path: Path) -> None:
    web = Echo(name="web")
    (port,) = free_ports(1)
    group = GatewayGroup(name=GROUP, listen_port=port)
    async with listening(web):
        brisk = at("brisk", (web.port, ""), retry=RetryPolicy(attempts=1, per_try_timeout_ms=100))
        services = [at("web", (web.port, "")), brisk]
        declared = site(services, gateways=(group,), routes=ROUTES)
        async with served(declared, tmp_path) as plane, asking(port) as client:
            found = await plane.repair()
            assert [(one.code, one.subject) for one in found] == [
                ("route_action_refused", "route/impossible")
            ]
            ask = Asking(client=client)
            await _answers(ask)
            await _rewrites(ask)
            await _headers(ask)
            await _limits(ask, web)


async def _answers(ask: Asking) -> None:
    moved = await ask.get("/moved/x?y=1")
    assert (moved.status_code, moved.headers["location"]) == (
        308,
        "https://new.example/moved/x?y=1",
    )
    other = await ask.get("/other/x?y=1")
    assert other.status_code == 302
    assert other.headers["location"].endswith("/there?y=1")
    denied = await ask.get("/denied/x")
    assert (denied.status_code, denied.content) == (403, b"")
    page = await ask.get("/page")
    assert (page.json(), page.headers["content-type"]) == ({"a": "100 %"}, "application/json")
    assert len((await ask.get("/long")).content) == 9_000
    assert (await ask.get("/impossible")).status_code == 501


async def _rewrites(ask: Asking) -> None:
    told = await ask.told("/old/api/x?y=/old/api")
    assert told["path"] == "/api/v2/x?y=/old/api"
    assert told["headers"]["host"] == "inner.example"  # type: ignore[index]
    for path, seen in {
        "/old/api": "/api/v2",
        "/strip": "/",
        "/strip/": "/",
        "/strip/a/b": "/a/b",
        "/whole/x/y?z": "/one/\\1?z",
        "/users/7?z": "/user?z",
        "/other%41//./x/..": "/otherA/",
    }.items():
        assert (await ask.told(path))["path"] == seen, path


async def _headers(ask: Asking) -> None:
    answer = await ask.get("/headers", **{"x-gone": "1", "x-plan": "other"})
    seen = json.loads(answer.content)["headers"]
    assert (seen["x-plan"], seen["x-empty"]) == ("50%", "")
    assert "x-gone" not in seen
    assert answer.headers["x-served"] == "yes"
    assert "x-secret" not in answer.headers
    # What tables and Envoy's router tell each other stays between them.
    ours = {"x-signalbox-path-read", "x-envoy-retry-on", "x-envoy-upstream-rq-per-try-timeout-ms"}
    assert not ours & (await ask.told("/%61//b"))["headers"].keys()  # type: ignore[attr-defined]
    posted = await ask.client.post("/%61//b")
    assert not ours & posted.json()["headers"].keys()
    ask.client.cookies.clear()


async def _limits(ask: Asking, web: Echo) -> None:
    assert (await ask.get("/hurried", **{"x-wait-ms": str(WAIT_MS)})).status_code == 504
    web.seen.clear()
    assert (await ask.get("/once", **{"x-status": "503"})).status_code == 503
    assert web.seen == ["/once"]
    # Reads only have the service's own retries; callers cannot ask for more.
    web.seen.clear()
    headers = {"x-status": "503", "x-envoy-retry-on": "5xx"}
    assert (await ask.client.post("/written", headers=headers)).status_code == 503
    assert web.seen == ["/written"]
    # A write may take longer than one attempt of a read.
    slow = {"x-wait-ms": str(WAIT_MS)}
    assert (await ask.client.post("/brisk", headers=slow)).status_code == 200
    assert (await ask.get("/brisk", **slow)).status_code == 504
    # An endpoint that fails three times in a row is left alone for a while.
    await ask.told("/")
    web.seen.clear()
    await ask.get("/read", **{"x-status": "503", "x-envoy-max-retries": "50"})
    assert 2 <= len(web.seen) <= 13


async def test_errors_are_read_again_where_the_service_says_so(tmp_path: Path) -> None:
    web = Echo(name="web")
    (port,) = free_ports(1)
    group = GatewayGroup(name=GROUP, listen_port=port)
    async with listening(web):
        sure = RetryPolicy(attempts=2, per_try_timeout_ms=5_000, server_errors=True)
        services = [at("web", (web.port, "")), at("sure", (web.port, ""), retry=sure)]
        routes = (
            route("all", "/"),
            Route(id="sure", service="sure", path=PathMatch(value="/sure")),
            Route(id="once", service="sure", path=PathMatch(value="/once"), retries=1),
        )
        declared = site(services, gateways=(group,), routes=routes)
        async with served(declared, tmp_path), asking(port) as client:
            for method, path, tries in (
                ("GET", "/", 1),
                ("GET", "/sure", 3),
                ("HEAD", "/once", 2),
                ("POST", "/sure", 1),
            ):
                web.seen.clear()
                answer = await client.request(method, path, headers={"x-status": "500"})
                assert answer.status_code == 500
                assert len(web.seen) == tries, (method, path)


async def test_versions_share_a_route_and_keep_their_users(tmp_path: Path) -> None:
    one, two = Echo(name="v1"), Echo(name="v2")
    (port,) = free_ports(1)
    group = GatewayGroup(name=GROUP, listen_port=port)
    split = (VersionWeight(version="v1", weight=7_000), VersionWeight(version="v2", weight=3_000))
    unknown = (VersionWeight(version="v9", weight=5_000), VersionWeight(version="v2", weight=5_000))
    async with listening(one, two):
        web = at("web", (one.port, "v1"), (two.port, "v2"))
        routes = (route("all", "/", versions=split), route("new", "/new", versions=unknown))
        declared = site([web], gateways=(group,), routes=routes)
        async with served(declared, tmp_path) as plane, asking(port) as client:
            (note,) = await plane.repair()
            assert (note.code, note.subject) == ("route_version_unknown", "route/new")
            ask = Asking(client=client)
            assert {(await ask.told("/new"))["name"] for _ in range(20)} == {"v2"}
            seen: Counter[str] = Counter()
            for _ in range(400):
                first = await ask.get("/")
                cookie = first.headers["set-cookie"].partition(";")[0]
                name = first.json()["name"]
                seen[name] += 1
                assert (await ask.told("/", cookie=cookie))["name"] == name
            assert 0.22 < seen["v2"] / 400 < 0.38


async def test_a_slow_queue_lets_few_through_and_some_wait(tmp_path: Path) -> None:
    web = Echo(name="web")
    (port,) = free_ports(1)
    group = GatewayGroup(name=GROUP, listen_port=port)
    queue = SlowQueue(concurrent=2, waiting=3)
    async with listening(web):
        routes = (route("all", "/"), route("slow", "/slow", queue=queue))
        declared = site([at("web", (web.port, ""))], gateways=(group,), routes=routes)
        async with served(declared, tmp_path), asking(port) as client:
            # Whoever opens a connection waits for it; then it is there.
            warm = {"x-wait-ms": "100"}
            await asyncio.gather(*(client.post("/slow", headers=warm) for _ in range(2)))
            slow = {"x-wait-ms": str(5 * WAIT_MS)}
            asked = [client.post("/slow", headers=slow) for _ in range(9)]
            # Other routes of the service are not held up.
            free = asyncio.gather(*(client.post("/free", headers=slow) for _ in range(9)))
            answers = await asyncio.gather(*asked)
            assert {answer.status_code for answer in await free} == {200}
    assert Counter(answer.status_code for answer in answers) == {200: 5, 503: 4}
    assert web.most >= 9


async def test_a_group_has_the_routes_for_all_and_its_own(tmp_path: Path) -> None:
    web = Echo(name="web")
    ports = free_ports(2)
    groups = tuple(
        GatewayGroup(name=name, listen_port=port)
        for name, port in zip((GROUP, "other"), ports, strict=True)
    )
    routes = [
        answering("all", "/", response=FixedResponse(status=200, body="all")),
        answering("mine", "/a", response=FixedResponse(status=200, body="mine"), gateways=(GROUP,)),
        answering(
            "theirs", "/b", response=FixedResponse(status=200, body="theirs"), gateways=("other",)
        ),
    ]
    async with listening(web):
        declared = site([at("web", (web.port, ""))], gateways=groups, routes=tuple(routes))
        async with served(declared, tmp_path) as plane, asking(ports[0]) as client:
            ask = Asking(client=client)
            assert (await ask.get("/a")).text == "mine"
            assert (await ask.get("/b")).text == "all"
            changed = (routes[0], answering("gone", "/a", response=FixedResponse(status=410)))
            await publish(
                plane, site([at("web", (web.port, ""))], gateways=groups, routes=changed), 2
            )
            async with asyncio.timeout(10):
                while (await ask.get("/a")).status_code != 410:
                    await asyncio.sleep(0.02)
