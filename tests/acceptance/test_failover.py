"""A failover to a smaller survivor on a real Envoy: admission first, then the load; failback."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from benchmarks.live_envoy import Child, ready
from tests.acceptance.measured_load import MeasuredLoad, p99_ms
from tests.acceptance.served import NODE, Site, fleet, in_force, site_in, until

# West's machines bear 60 % of all requests: 8 workers, 100 ms each, 80 of 133 requests/s.
SERVICE_S = 0.1
WORKERS = {"east": 20, "west": 8}
CAPACITY = {"east": 200.0, "west": 80.0}
SHARES = {"east": 0.7, "west": 0.3}
PHASE_S = 3.5
RETURN_S = 3.0
NOT_SLOWER = 1.5


def declared(site: Site, rates: dict[str, float]) -> dict[str, Any]:
    """The usual fleet with these services, which share the machines of each data centre."""
    document: dict[str, Any] = fleet(site.ports)
    classes = dict(zip(rates, ("critical", "best-effort"), strict=False))
    (usual,) = document["services"]
    clusters = [
        {
            "datacenter": one["datacenter"],
            "pool": f"{one['datacenter']}-machines",
            "endpoints": one["endpoints"],
        }
        for one in usual["clusters"]
    ]
    document["pools"] = [
        {"name": f"{name}-machines", "datacenter": name, "capacity_rps": capacity}
        for name, capacity in CAPACITY.items()
    ]
    document["services"] = [
        {
            **usual,
            "name": name,
            "class_of_service": classes[name],
            "static_shares": SHARES,
            "clusters": clusters,
            "retry": {"attempts": 1, "per_try_timeout_ms": 2_000},
            # Nothing dies here; a busy machine must not look like it.
            "health_check": {"interval_ms": 1_000, "timeout_ms": 900},
        }
        for name in rates
    ]
    document["routes"] = [
        {"id": name, "service": name, "path": {"value": f"/{name}"}} for name in rates
    ]
    return document


@contextlib.asynccontextmanager
async def machines(site: Site) -> AsyncIterator[None]:
    async with contextlib.AsyncExitStack() as stack:
        for name, ports in (("east", site.ports.east), ("west", site.ports.west)):
            script = str(Path(__file__).with_name("bounded_backend.py"))
            arguments = [script, name, str(WORKERS[name]), str(SERVICE_S), *map(str, ports)]
            process = await asyncio.create_subprocess_exec(sys.executable, *arguments)
            stack.push_async_callback(Child(process=process).stop)
        yield


async def samples(api: httpx.AsyncClient, rates: dict[str, float]) -> None:
    rows = [
        {
            "service": service,
            "datacenter": center,
            "response_time_ms": 1_000.0 * SERVICE_S,
            "request_rate_rps": rate * share,
        }
        for service, rate in rates.items()
        for center, share in SHARES.items()
    ]
    answer = await api.post("/v1/samples", json={"samples": rows})
    assert answer.is_success, answer.text


@dataclass(slots=True, kw_only=True)
class Times:
    """When what happened, by the loop's clock."""

    called_s: float = 0.0
    moved_s: float = 0.0
    undone_s: float = 0.0
    back_s: float = 0.0
    early: bool = False


async def play(site: Site, api: httpx.AsyncClient, rates: dict[str, float]) -> Times:
    """Refused, forced, moved, held for a while, and taken back."""
    clock = asyncio.get_running_loop().time
    times = Times()
    await samples(api, rates)
    await asyncio.sleep(PHASE_S)
    wanted = {"kind": "failover", "target": {"datacenter": "east"}, "return_s": RETURN_S}
    refused = await api.post("/v1/intents", json=wanted)
    assert refused.json()["code"] == "no_room", refused.text
    times.called_s = clock()
    made = (await api.post("/v1/intents", json={**wanted, "force": True})).json()
    assert made["state"] == "preparing"
    times.early = await moved_before_admission(site, api, made["limits"])
    times.moved_s = clock()
    await asyncio.sleep(PHASE_S)
    times.undone_s = clock()
    answer = await api.post(f"/v1/intents/{made['id']}:undo", json={})
    assert answer.is_success, answer.text
    await until(lambda: ended(api, made["id"]), "everything is back")
    await until(lambda: in_force(api, NODE), "the gateway runs it")
    times.back_s = clock()
    await asyncio.sleep(1.0)
    return times


@pytest.mark.parametrize(
    "rates",
    [{"tickets": 133.0}, {"tickets": 60.0, "browsing": 73.0}],
    ids=["queued", "shed_by_class"],
)
async def test_a_smaller_survivor_holds_and_failback_ramps(
    tmp_path: Path, rates: dict[str, float], record_property: Callable[[str, object], None]
) -> None:
    """2. A smaller survivor (60 % of the load): the excess is queued or shed by class before the
    load arrives, its p99 stays within 1.5 x of before, nothing collapses; failback ramps, p99 held.
    """
    site = site_in(tmp_path)
    loads = {
        name: MeasuredLoad(port=site.ports.listener, path=f"/{name}", rate_rps=rate)
        for name, rate in rates.items()
    }
    async with site.serving(health_checks="off"), site.api() as api, machines(site):
        await site.declare(api)
        answer = await api.put("/v1/fleet", json=declared(site, rates), params={"force": "true"})
        assert answer.is_success, answer.text
        async with site.agent(), site.envoy(), contextlib.AsyncExitStack() as stack:
            await ready(site.ports.admin)
            await until(lambda: in_force(api, NODE), "the gateway runs it")
            await until(lambda: all_served(site, rates), "every service answers")
            for load in loads.values():
                await stack.enter_async_context(load.running())
            times = await play(site, api, rates)
    held(loads, times, rates, record_property)


def held(
    loads: dict[str, MeasuredLoad],
    times: Times,
    rates: dict[str, float],
    record_property: Callable[[str, object], None],
) -> None:
    """Judge what the requests saw."""
    first, settled_s = loads["tickets"], times.moved_s + 0.3
    before = first.between(times.called_s - PHASE_S + 0.5, times.called_s)
    during = first.between(settled_s, times.undone_s)
    served = [one for one in during if one.status == httpx.codes.OK]
    returning = first.between(times.undone_s, times.back_s)
    p99 = {
        "before": p99_ms([one for one in before if one.body == "west"]),
        "during": p99_ms(served),
        "failback": p99_ms([one for one in returning if one.status == httpx.codes.OK]),
    }
    served_rps = len(served) / (times.undone_s - settled_s)
    for name, value in p99.items():
        record_property(f"survivor_p99_{name}_ms_{len(rates)}", round(value, 1))
    record_property(f"served_rps_during_{len(rates)}", round(served_rps, 1))
    record_property(f"failback_s_{len(rates)}", round(times.back_s - times.undone_s, 2))
    assert {one.status for one in before} == {httpx.codes.OK}
    assert not times.early
    assert {one.body for one in served} == {"west"}
    assert p99["during"] <= NOT_SLOWER * p99["before"]
    assert p99["failback"] <= NOT_SLOWER * p99["before"]
    # Nothing collapses: what has room is served, and the rest is refused.
    assert served_rps >= 0.9 * min(rates["tickets"], 0.85 * CAPACITY["west"])
    others = [one for load in loads.values() for one in load.between(settled_s, times.undone_s)]
    assert {one.status for one in others} == {httpx.codes.OK, httpx.codes.SERVICE_UNAVAILABLE}
    assert len(rates) == 1 or len(served) == len(during)
    after_s = times.back_s + 0.2
    after = [one for load in loads.values() for one in load.between(after_s, after_s + 0.6)]
    assert {one.status for one in after} == {httpx.codes.OK}


async def moved_before_admission(
    site: Site, api: httpx.AsyncClient, limits: dict[str, Any]
) -> bool:
    """Wait until the load has moved; whether it did before the gateway had every limit."""
    assert limits
    early = False
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{site.ports.admin}") as admin:
        while True:
            weights = (await api.get("/v1/weights")).json()["weights"]
            moved = all(one["weights"]["east"] == 0 for one in weights)
            clusters = (await admin.get("/clusters")).text
            routes = (await admin.get("/config_dump?resource=dynamic_route_configs")).text
            admitted = all(
                f"{name}::default_priority::max_requests::10000" not in clusters
                if one["name"] == "circuit_break"
                else "is closed for the moment" in routes
                for name, one in limits.items()
            )
            early = early or (moved and not admitted)
            if moved:
                return early
            await asyncio.sleep(0.01)


async def all_served(site: Site, rates: dict[str, float]) -> bool:
    """Whether a few requests for each service are all answered."""
    url = f"http://127.0.0.1:{site.ports.listener}"
    async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
        answers = [await client.get(f"/{name}") for name in rates for _ in range(20)]
    return all(one.is_success for one in answers)


async def ended(api: httpx.AsyncClient, name: str) -> bool:
    return bool((await api.get(f"/v1/intents/{name}")).json()["state"] == "ended")
