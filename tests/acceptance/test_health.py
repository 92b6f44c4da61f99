"""Health with real processes: observers that are cut off, flapping targets, a service all down."""

import asyncio
import contextlib
import json
import re
import signal
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from benchmarks.live_envoy import Child, ready
from tests.acceptance.checked_targets import Targets, observer
from tests.acceptance.served import NODE, Site, fleet, in_force, site_in, until
from tests.acceptance.steady_load import SteadyLoad

QUICK_MS, COMMAND_MS = 250, 500
# 1 in 3 for 240 probes, as many as 60 s have at 250 ms; `benchmarks.health` takes the 60 s.
FLAPPING_MS, FLAPPING_PROBES = 25, 240


def document(site: Site, **changes: Any) -> dict[str, Any]:
    """The usual site with changes to its service."""
    found: dict[str, Any] = fleet(site.ports)
    found["services"][0] |= changes
    return found


async def picture(api: httpx.AsyncClient) -> dict[str, Any]:
    answer = await api.get("/v1/health")
    assert answer.is_success, answer.text
    found: dict[str, Any] = answer.json()
    return found


def endpoints(health: dict[str, Any], service: str = "tickets") -> dict[int, dict[str, Any]]:
    """Port -> endpoint."""
    return {
        int(one["endpoint"].rpartition(":")[2]): one
        for each in health["services"]
        if each["service"] == service
        for place in each["datacenters"]
        for cluster in place["clusters"]
        for one in cluster["endpoints"]
    }


def down(health: dict[str, Any]) -> list[str]:
    return [one["datacenter"] for one in health["datacenters"] if one["down"]]


async def well(api: httpx.AsyncClient) -> bool:
    """Whether every endpoint was judged healthy."""
    found = endpoints(await picture(api))
    return bool(found) and {one["state"] for one in found.values()} == {"healthy"}


async def codes(api: httpx.AsyncClient) -> set[str]:
    answer = await api.get("/v1/findings", params={"source": "health"})
    return {one["code"] for one in answer.json()["items"]}


async def heard(api: httpx.AsyncClient, count: int) -> bool:
    """Whether so many observers are believed and know every endpoint."""
    found = (await picture(api))["observers"]
    return len(found) == count and all(
        one["state"] == "heard" and one["endpoints"] == 8 for one in found
    )


async def changes(api: httpx.AsyncClient) -> int:
    """Changes of state of endpoints since the start."""
    text = (await api.get("/metrics")).text
    found = re.search(r"^signalbox_endpoint_state_changes_total (\S+)$", text, re.MULTILINE)
    assert found is not None
    return int(float(found[1]))


@contextlib.asynccontextmanager
async def three_observers(
    folder: Path, commands: Callable[[str], tuple[str, ...]] = lambda _name: (), **service: Any
) -> AsyncIterator[tuple[Site, httpx.AsyncClient, Targets, list[Child]]]:
    """A control plane that observes, and two observers beside it."""
    site = site_in(folder)
    targets = Targets()
    own = {name: given.split() for name, _, given in (c.partition("=") for c in commands("own"))}
    async with (
        targets.running([*site.ports.east, *site.ports.west]),
        site.serving(health_commands=json.dumps(own)),
        site.api() as api,
    ):
        await site.apply(api, document(site, **service))
        async with (
            observer(site, api, "rack-1", *commands("rack-1")) as first,
            observer(site, api, "rack-2", *commands("rack-2")) as second,
        ):
            await until(lambda: heard(api, 3), "three observers are heard")
            await until(lambda: well(api), "everything is well")
            yield site, api, targets, [first, second]


async def test_observers_that_are_silent(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """3. One of three observers cut off: no change. Majority cut off: hold and alarm."""
    async with three_observers(tmp_path) as (site, api, targets, (first, second)):
        before = endpoints(await picture(api))
        first.process.send_signal(signal.SIGSTOP)
        await until(lambda: has(api, "observer_silent"), "the silent one is told")
        found = await picture(api)
        assert endpoints(found) == before
        assert (found["held"], down(found)) == (False, [])
        second.process.send_signal(signal.SIGSTOP)
        await until(lambda: has(api, "observers_lost"), "the lost majority is an alarm")
        targets.fall(site.ports.east)
        await asyncio.sleep(1.5)
        found = await picture(api)
        assert endpoints(found) == before
        assert (found["held"], down(found)) == (True, [])
        weights = (await api.get("/v1/weights")).json()["weights"][0]["weights"]
        assert weights == {"east": 6000, "west": 4000}
        started_s = time.monotonic()
        for one in (first, second):
            one.process.send_signal(signal.SIGCONT)
        await until(lambda: is_down(api, "east"), "the majority that is back is believed")
        record_property("back_to_down_s", round(time.monotonic() - started_s, 2))
        assert (await picture(api))["held"] is False


async def test_observers_that_cannot_reach_the_endpoints(tmp_path: Path) -> None:
    """3. One of three observers cut off: no change. Majority cut off: hold and alarm."""

    def commands(name: str) -> tuple[str, ...]:
        return (f"up=test ! -e {tmp_path}/cut-{name}",)

    check = {"kind": "command", "command": "up", "interval_ms": COMMAND_MS, "timeout_ms": 3_000}
    async with three_observers(tmp_path, commands, health_check=check) as (_, api, _, _):
        before = endpoints(await picture(api))
        (tmp_path / "cut-rack-1").touch()
        await until(lambda: has(api, "observer_blind"), "the blind one is told")
        found = await picture(api)
        assert endpoints(found) == before
        assert (found["held"], down(found)) == (False, [])
        (tmp_path / "cut-own").touch()
        await until(lambda: has(api, "observers_lost"), "the lost majority is an alarm")
        found = await picture(api)
        assert endpoints(found) == before
        assert (found["held"], down(found)) == (True, [])


@pytest.mark.parametrize(
    "sick",
    [lambda n: n % 3 == 2, lambda n: n % 3 != 2],
    ids=["one-in-three-fails", "one-in-three-passes"],
)
async def test_a_flapping_target(
    tmp_path: Path, record_property: Callable[[str, object], None], sick: Callable[[int], bool]
) -> None:
    """3. Flapping target (1 in 3 probes for 60 s): at most one state change."""
    site, targets = site_in(tmp_path), Targets()
    check = {"interval_ms": FLAPPING_MS, "timeout_ms": 1_000}
    budget = json.dumps({"probes_per_s": 10_000, "probes_per_endpoint_per_s": 200})
    async with (
        targets.running([*site.ports.east, *site.ports.west]),
        site.serving(health=budget),
        site.api() as api,
    ):
        await site.apply(api, document(site, health_check=check))
        await until(lambda: well(api), "everything is well")
        flapping = site.ports.east[0]
        begun, before = targets.asked[flapping], await changes(api)
        targets.sick[flapping] = sick
        await until(
            lambda: targets.asked[flapping] - begun >= FLAPPING_PROBES, "it was asked often enough"
        )
        probes = targets.asked[flapping] - begun
        changed = await changes(api) - before
        record_property("probes", probes)
        record_property("state_changes", changed)
        assert changed <= 1


def three_policies(site: Site) -> dict[str, Any]:
    """A service for each policy, with a route of its own."""
    found = document(site)
    (usual,) = found["services"]
    policies = ("hold", "open", "closed")
    found["services"] = [{**usual, "name": one, "all_down": one} for one in policies]
    found["routes"] = [
        {"id": one, "service": one, "path": {"type": "PathPrefix", "value": f"/{one}"}}
        for one in policies
    ]
    return found


async def test_all_down(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """3. All down: the declared policy in every layer."""
    site, targets = site_in(tmp_path), Targets()
    everything = [*site.ports.east, *site.ports.west]
    async with targets.running(everything), site.serving(), site.api() as api:
        await site.apply(api, three_policies(site))
        await site.gateway_token(api)
        async with site.envoy(), callers(site) as user:
            await until(lambda: in_force(api, NODE), "the gateway runs it")
            await ready(site.ports.admin)
            for policy in ("hold", "open", "closed"):
                await until(lambda p=policy: status_is(user, p, 200), f"{policy} serves")
            targets.fall(everything)
            await until(lambda: all_down(api, 3), "all three are down")
            usable = {
                policy: sum(one["usable"] for one in endpoints(await picture(api), policy).values())
                for policy in ("hold", "open", "closed")
            }
            assert usable == {"hold": 8, "open": 8, "closed": 0}
            await until(lambda: status_is(user, "closed", 503), "closed answers 503")
            # Long enough for Envoy's own checks and ours, and whatever follows from them.
            await asyncio.sleep(1.5)
            answers = {
                policy: [(await user.get(f"/{policy}")).status_code for _ in range(20)]
                for policy in ("hold", "open", "closed")
            }
            assert answers == {"hold": [200] * 20, "open": [200] * 20, "closed": [503] * 20}
            found = await picture(api)
            assert down(found) == []
            assert "all_down" in await codes(api)
            targets.recover()
            started_s = time.monotonic()
            await until(lambda: status_is(user, "closed", 200), "closed serves again")
            record_property("closed_back_s", round(time.monotonic() - started_s, 2))


async def test_requests_that_fail_while_checks_pass(tmp_path: Path) -> None:
    """A gateway tells what became of requests: a cluster that only errs is out for everybody."""
    site, targets = site_in(tmp_path), Targets()
    acting = json.dumps({"least_reporters": 1})
    async with (
        targets.running([*site.ports.east, *site.ports.west]),
        site.serving(health=acting),
        site.api() as api,
    ):
        await site.declare(api)
        async with site.envoy():
            await until(lambda: in_force(api, NODE), "the gateway runs it")
            await ready(site.ports.admin)
            load = SteadyLoad(port=site.ports.listener, rate_rps=50)
            async with load.running():
                await until(lambda: well(api), "everything is well")
                targets.broken.update(site.ports.east)
                await until(lambda: has(api, "requests_fail"), "the errors are told")
                found = await picture(api)
                assert down(found) == ["east"]
                assert {one["state"] for one in endpoints(found).values()} == {"healthy"}
            assert load.failed == []


@contextlib.asynccontextmanager
async def callers(site: Site) -> AsyncIterator[httpx.AsyncClient]:
    url = f"http://127.0.0.1:{site.ports.listener}"
    async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
        yield client


async def has(api: httpx.AsyncClient, code: str) -> bool:
    return code in await codes(api)


async def is_down(api: httpx.AsyncClient, center: str) -> bool:
    return center in down(await picture(api))


async def all_down(api: httpx.AsyncClient, count: int) -> bool:
    return sum(one["all_down"] for one in (await picture(api))["services"]) == count


async def status_is(user: httpx.AsyncClient, policy: str, status: int) -> bool:
    return (await user.get(f"/{policy}")).status_code == status
