"""A snapshot that Envoy refuses in part: the bad item is found, the rest goes live and stays."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from benchmarks.live_envoy import backend, ready, stats
from tests.acceptance.served import NODE, Site, fleet, in_force, reachable, site_in, until

ROUTES = 100
WITHIN_S = 5.0
# What the file cannot know and Envoy refuses, by what is wrong with it.
# An expression fits by itself; what asks Envoy for a cookie does not.
BAD: dict[str, dict[str, object]] = {
    sort: {
        "path": {"value": "/bad"},
        "conditions": [
            {"part": "cookie", "name": "plan", "type": "RegularExpression", "value": value}
        ],
    }
    for sort, value in {
        "repetitions": "[a-z]{1000}" * 4 + "[a-z]{990}",
        "branches": "(?:[0-9]|[a-z]x){990}" + "[a-z]{1000}" * 2,
    }.items()
}
MODES = {
    "preflight": {},
    "preflight-off": {"envoy_preflight": "off"},
    "no-binary": {"envoy_binary": "/nowhere/envoy"},
}
REJECTED = r"(cds|lds|rds\.\w+)\.update_rejected$"


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A running site and its API."""

    site: Site
    api: httpx.AsyncClient

    async def declared(self, sort: str, bad: dict[str, object]) -> httpx.Response:
        """Apply 99 good routes under `/sort` and a bad one."""
        good = [
            {"id": f"r{n:02}", "service": "tickets", "path": {"value": f"/{sort}/{n}"}}
            for n in range(ROUTES - 1)
        ]
        document = fleet(self.site.ports) | {"routes": [*good, {"service": "tickets", **bad}]}
        return await self.api.put(
            "/v1/fleet", json=document, params={"reason": "test", "force": "true"}
        )

    async def live(self, sort: str) -> bool:
        """Whether the 99 routes answer through Envoy."""
        url = f"http://127.0.0.1:{self.site.ports.listener}"
        async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
            for n in range(ROUTES - 1):
                if (await client.get(f"/{sort}/{n}")).status_code != httpx.codes.OK:
                    return False
        return True

    async def answers(self, path: str) -> bool:
        """Whether a path is routed through Envoy."""
        url = f"http://127.0.0.1:{self.site.ports.listener}{path}"
        async with httpx.AsyncClient(trust_env=False) as client:
            return (await client.get(url)).status_code == httpx.codes.OK

    async def cleared(self, subject: str) -> bool:
        return not await self.found(subject)

    async def found(self, subject: str) -> list[dict[str, str]]:
        answer = await self.api.get("/v1/findings", params={"subject": subject})
        items: list[dict[str, str]] = answer.json()["items"] if answer.is_success else []
        return items


@contextlib.asynccontextmanager
async def served(site: Site, settings: dict[str, str]) -> AsyncIterator[Served]:
    """Backends, a control plane, and its API with the usual fleet."""
    async with contextlib.AsyncExitStack() as stack:
        for name in ("east", "west"):
            await stack.enter_async_context(backend(name, getattr(site.ports, name)))
        await stack.enter_async_context(site.serving(**settings))
        api = await stack.enter_async_context(site.api())
        await site.declare(api)
        yield Served(site=site, api=api)


@pytest.mark.parametrize("mode", MODES)
async def test_the_other_99_go_live(
    mode: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """2. A snapshot that Envoy refuses: the bad route is a finding, the other 99 go live.

    With the check before the push, without it, and with a binary that is not there; an Envoy
    that is killed and started again serves the 99, and so does one after the control plane was
    killed and started again, without refusing anything.
    """
    site = site_in(tmp_path)
    async with served(site, MODES[mode]) as it, contextlib.AsyncExitStack() as stack:
        first = await stack.enter_async_context(site.envoy())
        await ready(site.ports.admin)
        for sort, bad in BAD.items():
            await _round(it, sort, bad, record_property)
        refusals = sum((await stats(site.ports.admin, REJECTED)).values())
        record_property("refused_by_envoy", refusals)
        assert (refusals == 0) == (mode == "preflight")

        await first.kill()
        await stack.enter_async_context(site.envoy())
        await ready(site.ports.admin)
        await until(lambda: it.live(sort), "an Envoy that starts anew serves the 99")
        assert sum((await stats(site.ports.admin, REJECTED)).values()) == 0
        (finding,) = await it.found("route/bad")
        assert finding["code"] == "item_refused"


async def _round(
    it: Served, sort: str, bad: dict[str, object], record_property: Callable[[str, object], None]
) -> None:
    before = {finding["message"] for finding in await it.found("route/bad")}
    began = time.monotonic()
    answer = await it.declared(sort, {"id": "bad"} | bad)
    assert answer.is_success, answer.text
    times: dict[str, float] = {}

    async def told() -> bool:
        return any(f["message"] not in before for f in await it.found("route/bad"))

    async def timed(what: str, holds: Callable[[], object]) -> None:
        await until(holds, f"{sort}: {what}")
        times[what] = time.monotonic() - began

    async with asyncio.TaskGroup() as both:
        both.create_task(timed("seconds_until_99_live", lambda: it.live(sort)))
        both.create_task(timed("seconds_until_finding", told))
    for what, seconds in times.items():
        record_property(f"{sort}_{what}", round(seconds, 2))
        assert seconds < WITHIN_S, what
    (finding,) = await it.found("route/bad")
    assert finding["held"].startswith("the route is left out")
    await until(lambda: in_force(it.api, NODE), "Envoy runs the newest revision")


async def test_what_is_wrong_at_sight_never_leaves_the_api(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """2. Unknown service, domain twice, bad syntax, no positive weight: refused with the place.

    The same file with the fault corrected is live within 5 s.
    """
    site = site_in(tmp_path)
    async with served(site, {}) as it, site.envoy():
        await ready(site.ports.admin)
        for faulty, place, reason in FAULTS:
            answer = await it.declared("a", {"id": "bad", "path": {"value": "/bad"}, **faulty})
            assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY
            (error,) = answer.json()["errors"]
            assert error["path"] == place
            assert error["line"] >= 1
            assert reason in error["message"]
        unweighted = fleet(site.ports)
        (service,) = unweighted["services"]  # type: ignore[misc]
        service["static_shares"] = {"east": 0, "west": 0}  # type: ignore[index]
        answer = await it.api.put("/v1/fleet", json=unweighted, params={"reason": "test"})
        assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY
        (error,) = answer.json()["errors"]
        assert error["path"] == "services[0].static_shares"
        assert "at least one share above 0" in error["message"]
        record_property("refused_in_the_api", len(FAULTS) + 1)
        began = time.monotonic()
        assert (await it.declared("a", {"id": "bad", "path": {"value": "/bad"}})).is_success
        await until(lambda: it.live("a"), "the corrected file is live")
        record_property("seconds_until_corrected_live", round(time.monotonic() - began, 2))
        assert time.monotonic() - began < WITHIN_S
        assert await it.found("") == []


FAULTS: list[tuple[dict[str, object], str, str]] = [
    ({"service": "nobody"}, "routes[99].service", "a declared service"),
    ({"hosts": ["*", "*"]}, "routes[99].hosts[1]", "each only once"),
    ({"hosts": ["a.example", "A.example"]}, "routes[99].hosts[1]", "in lower case"),
    ({"path": {"value": "/a/1"}}, "routes[99]", "each only once"),
    (
        {"path": {"type": "RegularExpression", "value": "/a(("}},
        "routes[99].path.value",
        "missing ): /a(( at character 3",
    ),
    (
        {"path": {"type": "RegularExpression", "value": "/[a-z]{1000}" * 6}},
        "routes[99].path.value",
        "6010 instructions",
    ),
    (
        {"path": {"type": "RegularExpression", "value": "/bad(?=/x)/x"}},
        "routes[99].path.value",
        "invalid perl operator: (?= at character 5",
    ),
    (
        {"path": {"type": "RegularExpression", "value": r"/(bad)/\1"}},
        "routes[99].path.value",
        r"invalid escape sequence: \1 at character 8",
    ),
]


async def test_a_changed_route_keeps_its_form_over_restarts_until_it_is_corrected(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """2. A refused change keeps the route's last accepted form, over restarts of both sides.

    Without the check before the push: only Envoy's refusal tells. Corrected, it is live and the
    finding clears.
    """
    site = site_in(tmp_path)
    good = {"id": "bad", "path": {"value": "/was"}}
    worse = {"id": "bad"} | BAD["branches"]
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(backend("east", site.ports.east))
        await stack.enter_async_context(backend("west", site.ports.west))
        control_plane = await stack.enter_async_context(site.serving(**MODES["preflight-off"]))
        api = await stack.enter_async_context(site.api())
        await site.declare(api)
        it = Served(site=site, api=api)
        first = await stack.enter_async_context(site.envoy())
        await ready(site.ports.admin)
        assert (await it.declared("a", good)).is_success
        await until(lambda: it.answers("/was"), "the route is live")
        await until(lambda: in_force(api, NODE), "and acknowledged")
        assert (await it.declared("b", worse)).is_success
        await until(lambda: it.live("b"), "the others are live")
        await until(lambda: it.found("route/bad"), "the refused one is a finding")
        assert await it.answers("/was")

        await control_plane.kill()
        await first.kill()
        await stack.enter_async_context(site.serving(**MODES["preflight-off"]))
        await until(lambda: reachable(api), "the API answers again")
        await stack.enter_async_context(site.envoy())
        await ready(site.ports.admin)
        await until(lambda: it.live("b"), "after both restarts the others are live")
        assert await it.answers("/was")
        (finding,) = await it.found("route/bad")
        assert "its last accepted form stays in force" in finding["held"]
        assert sum((await stats(site.ports.admin, REJECTED)).values()) == 0
        record_property("refusals_after_restart", 0)

        assert (await it.declared("b", good | {"path": {"value": "/is"}})).is_success
        await until(lambda: it.answers("/is"), "the corrected route is live")
        await until(lambda: it.cleared("route/bad"), "its finding has cleared")
