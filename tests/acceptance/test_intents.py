"""Intents on a real control plane and a real Envoy: refusals, two operators, exact undo, expiry."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from benchmarks.live_envoy import backend, ready
from tests.acceptance.served import NODE, Site, fleet, in_force, site_in, until
from tests.acceptance.steady_load import SteadyLoad

EAST, WEST = {"datacenter": "east"}, {"datacenter": "west"}
SCALE = "0.02"
EVERY_KIND: tuple[dict[str, Any], ...] = (
    {"kind": "failover", "target": EAST, "return_s": 0},
    {"kind": "failover", "target": {"service": "tickets", "datacenter": "west"}, "return_s": 1},
    {"kind": "drain", "target": EAST, "over_s": 1, "return_s": 1},
    {"kind": "pin", "target": {"service": "tickets"}, "shares": {"east": 1, "west": 3}},
    {"kind": "freeze"},
    {"kind": "preset", "target": {"service": "tickets"}, "preset": {"name": "block"}},
    {
        "kind": "preset",
        "target": {"service": "tickets"},
        "preset": {"name": "circuit_break", "concurrent": 5, "waiting": 2},
    },
    {
        "kind": "preset",
        "target": {"service": "tickets"},
        "preset": {"name": "rate_limit", "rate_rps": 20},
    },
    {
        "kind": "preset",
        "target": {"service": "tickets"},
        "preset": {"name": "waiting_room", "concurrent": 50, "waiting": 1000},
    },
)


@contextlib.asynccontextmanager
async def live(folder: Path) -> AsyncIterator[tuple[Site, httpx.AsyncClient]]:
    site = site_in(folder)
    async with site.serving(time_scale=SCALE, health_checks="off"), site.api() as api:
        await site.declare(api)
        async with site.agent(), site.envoy():
            await until(lambda: in_force(api, NODE), "the gateway runs it")
            await ready(site.ports.admin)
            yield site, api


async def made(api: httpx.AsyncClient, wanted: Mapping[str, Any], **headers: str) -> dict[str, Any]:
    answer = await api.post("/v1/intents", json={"reason": "test", **wanted}, headers=headers)
    assert answer.is_success, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def ended(api: httpx.AsyncClient, name: str) -> bool:
    return bool((await api.get(f"/v1/intents/{name}")).json()["state"] == "ended")


async def rendered(api: httpx.AsyncClient) -> bytes:
    """What is published, without its revision, and Envoy's configuration made from it."""
    config = (await api.get("/v1/config")).content
    answer = await api.get("/v1/config/rendered", params={"plane": "envoy", "group": "edge"})
    assert answer.is_success, answer.text
    parts = answer.json()
    parts.pop("revision", None)
    return config + json.dumps(parts, sort_keys=True).encode()


async def test_every_intent_is_taken_back_byte_for_byte_and_expires_over_a_restart(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """7. Every intent: apply, undo, and the rendered configuration is byte-equal to before.

    Expiry works across a restart.
    """
    site = site_in(tmp_path)
    async with site.serving(time_scale=SCALE, health_checks="off"), site.api() as api:
        await site.declare(api)
        await until(lambda: published(api), "the fleet is published")
        before = await rendered(api)
        first = (await api.get("/v1/gateways")).json()["revision"]
        more = {"id": "more", "service": "tickets", "path": {"value": "/more"}}
        declared = fleet(site.ports)
        await site.apply(api, {**declared, "routes": [*declared["routes"], more]})  # type: ignore[misc]
        await until(lambda: differs(api, before), "another revision is published")
        second = await rendered(api)
        rollback = await made(api, {"kind": "rollback", "revision": first})
        await until(lambda: same(api, before), "the rollback is published")
        await undone(api, rollback["id"])
        assert await rendered(api) == second
        exact = 0
        for wanted in EVERY_KIND:
            one = await made(api, wanted)
            if wanted["kind"] != "freeze":
                await until(lambda: differs(api, second), f"{one['id']} is published")
            await undone(api, one["id"])
            assert await rendered(api) == second, one["id"]
            exact += 1
        expiring = await made(api, {"kind": "failover", "target": EAST, "expires_in_s": 5})
        await until(lambda: differs(api, second), "the failover is published")
        during = await rendered(api)
    async with site.serving(time_scale=SCALE, health_checks="off"), site.api() as api:
        now = await rendered(api)
        state = (await api.get(f"/v1/intents/{expiring['id']}")).json()["state"]
        # A slow start may have let it expire.
        assert state != "active" or now == during
        await until(lambda: ended(api, expiring["id"]), "it has expired")
        found = (await api.get(f"/v1/intents/{expiring['id']}")).json()
        assert found["ending"] == "expired"
        assert await rendered(api) == second
    record_property("intents_taken_back_exactly", exact + 1)


async def undone(api: httpx.AsyncClient, name: str) -> None:
    answer = await api.post(f"/v1/intents/{name}:undo", json={"reason": "test"})
    assert answer.is_success, answer.text
    await until(lambda: ended(api, name), f"{name} has ended")


async def published(api: httpx.AsyncClient) -> bool:
    return bool((await api.get("/v1/gateways")).json()["revision"])


async def same(api: httpx.AsyncClient, content: bytes) -> bool:
    return await rendered(api) == content


async def differs(api: httpx.AsyncClient, content: bytes) -> bool:
    return await rendered(api) != content


async def test_the_last_one_is_refused_with_numbers_and_of_two_operators_one_wins(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """5. Failover of the last serving centre: refused with numbers; forced: done and audited.

    Two operators at once on the same revision: one wins, the other gets 412 with what changed.
    And what an operator asks is in force for the requests that follow in less than 250 ms.
    """
    async with live(tmp_path) as (site, api), names(site):
        await until(lambda: all_well(api), "both data centres serve")
        load = SteadyLoad(port=site.ports.listener, rate_rps=100.0)
        async with load.running():
            await sample(api, 100.0)
            took_ms = await call_to_request_ms(site, api)
            refused = await api.post(
                "/v1/intents", json={"kind": "failover", "target": WEST, "reason": "test"}
            )
            assert refused.status_code == httpx.codes.FORBIDDEN
            problem = refused.json()
            assert problem["code"] == "last_serving_datacenter"
            assert "100 requests/s" in problem["detail"]
            assert problem["details"]["utilization"]
            await made(api, {"kind": "failover", "target": WEST, "force": True})
            await until(lambda: weights_are(api, {"east": 10_000, "west": 0}), "it was forced")
            newest = (await api.get("/v1/audit", params={"limit": 1})).json()["items"][0]
            assert newest["action"] == "intent.force_failover"
            await two_at_once(api)
        assert load.failed == []
    record_property("operator_call_to_first_request_ms", took_ms)
    assert took_ms < 250.0


async def call_to_request_ms(site: Site, api: httpx.AsyncClient) -> float:
    """From an operator's call to the first request after which all go where he wanted them."""
    url = f"http://127.0.0.1:{site.ports.listener}"
    async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
        assert (await client.get("/")).is_success
        began = time.perf_counter()
        call = asyncio.create_task(made(api, {"kind": "failover", "target": EAST}))
        last_east = began
        while time.perf_counter() - began < 0.6:
            asked = time.perf_counter()
            # A client without a cookie is a new user each time.
            if (await client.get("/", headers={"cookie": ""})).text == "east":
                last_east = asked
            client.cookies.clear()
        await call
        return 1_000.0 * (last_east - began)


async def two_at_once(api: httpx.AsyncClient) -> None:
    listed = await api.get("/v1/intents", params={"standing": "true"})
    headers = {"if-match": listed.headers["etag"]}
    wishes = [
        {"kind": "freeze", "reason": "night"},
        {"kind": "pin", "target": {"service": "tickets"}, "shares": {"east": 1}, "reason": "day"},
    ]
    answers = await asyncio.gather(
        *(api.post("/v1/intents", json=one, headers=headers) for one in wishes)
    )
    codes = sorted(one.status_code for one in answers)
    assert codes == [httpx.codes.CREATED, httpx.codes.PRECONDITION_FAILED]
    lost = next(one for one in answers if one.status_code != httpx.codes.CREATED).json()
    won = next(one for one in answers if one.status_code == httpx.codes.CREATED).json()
    assert lost["code"] == "intents_changed"
    assert [one["id"] for one in lost["details"]["changed"]] == [won["id"]]
    assert won["id"] in lost["detail"]


@contextlib.asynccontextmanager
async def names(site: Site) -> AsyncIterator[None]:
    """Endpoints that answer with their data centre's name."""
    async with backend("east", site.ports.east), backend("west", site.ports.west):
        await asyncio.sleep(1.0)
        yield


async def all_well(api: httpx.AsyncClient) -> bool:
    centers = (await api.get("/v1/health")).json()["datacenters"]
    return len(centers) == 2 and all(one["state"] == "serving" for one in centers)


async def weights_are(api: httpx.AsyncClient, wanted: Mapping[str, int]) -> bool:
    return bool((await api.get("/v1/weights")).json()["weights"][0]["weights"] == wanted)


async def sample(api: httpx.AsyncClient, rate_rps: float) -> None:
    samples = [
        {
            "service": "tickets",
            "datacenter": center,
            "response_time_ms": 20.0,
            "request_rate_rps": rate_rps * share,
        }
        for center, share in (("east", 0.6), ("west", 0.4))
    ]
    answer = await api.post("/v1/samples", json={"samples": samples})
    assert answer.is_success, answer.text


@pytest.mark.parametrize("path", ["/v1/intents:dryRun"])
async def test_a_dry_run_is_what_happens(
    tmp_path: Path, path: str, record_property: Callable[[str, object], None]
) -> None:
    """7. Every intent: a dry run tells what moves before anything does."""
    site = site_in(tmp_path)
    async with site.serving(time_scale=SCALE, health_checks="off"), site.api() as api:
        await site.declare(api)
        await until(lambda: published(api), "the fleet is published")
        await sample(api, 100.0)
        wanted = {"kind": "failover", "target": EAST}
        forecast = (await api.post(path, json=wanted)).json()
        (move,) = forecast["moves"]
        assert move["moved"] == pytest.approx(0.6)
        assert forecast["objection"] is None
        await made(api, wanted)
        await until(lambda: weights_are(api, {"east": 0, "west": 10_000}), "it moved")
    record_property("forecast_moved_share", move["moved"])
