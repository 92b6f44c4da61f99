"""`force` on an endpoint or a cluster, on a real control plane and a real Envoy."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx

from benchmarks.live_envoy import backend, ready
from tests.acceptance.served import NODE, Site, fleet, in_force, site_in, until

WEST = {"datacenter": "west"}


def part(site: Site, number: int, service: str = "tickets") -> dict[str, Any]:
    """A failover of one endpoint in the east."""
    endpoint = f"127.0.0.1:{site.ports.east[number]}"
    return {
        "kind": "failover",
        "target": {"service": service, "datacenter": "east", "endpoint": endpoint},
    }


def declared(site: Site) -> dict[str, object]:
    """A service with two endpoints in the east and one in the west, one with a single endpoint."""
    document = fleet(site.ports)
    (tickets,) = document["services"]  # type: ignore[misc]
    east, west = tickets["clusters"]
    alone = {"name": "lone", "clusters": [{**east, "endpoints": east["endpoints"][2:3]}]}
    east["endpoints"], west["endpoints"] = east["endpoints"][:2], west["endpoints"][:1]
    routes = [*document["routes"], {"id": "lone", "service": "lone", "path": {"value": "/lone"}}]  # type: ignore[misc]
    return {**document, "services": [tickets, alone], "routes": routes}


@contextlib.asynccontextmanager
async def live(folder: Path) -> AsyncIterator[tuple[Site, httpx.AsyncClient]]:
    site = site_in(folder)
    async with contextlib.AsyncExitStack() as stack:
        for name, port in zip(
            ("first", "second", "lone", "west"),
            (*site.ports.east[:3], site.ports.west[0]),
            strict=True,
        ):
            await stack.enter_async_context(backend(name, [port]))
        await stack.enter_async_context(site.serving(time_scale="0.02"))
        api = await stack.enter_async_context(site.api())
        await site.apply(api, declared(site))
        await site.gateway_token(api)
        await stack.enter_async_context(site.agent())
        await stack.enter_async_context(site.envoy())
        await until(lambda: in_force(api, NODE), "the gateway runs it")
        await ready(site.ports.admin)
        yield site, api


async def who_answers(site: Site, path: str = "/") -> set[str]:
    """Names of those that answer new users, or the status of who answers in their place."""
    url = f"http://127.0.0.1:{site.ports.listener}"
    found = set()
    async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
        for _ in range(60):
            answer = await client.get(path)
            client.cookies.clear()
            found.add(answer.text if answer.is_success else str(answer.status_code))
    return found


async def answer_only(site: Site, *names: str, path: str = "/") -> None:
    async def they() -> bool:
        return await who_answers(site, path) == set(names)

    await until(they, f"{names} answer, and nobody else")


async def states(api: httpx.AsyncClient) -> dict[str, str]:
    """Of the endpoints that health calls usable."""
    (service,) = (await api.get("/v1/health", params={"service": "tickets"})).json()["services"]
    return {
        one["endpoint"]: one["state"]
        for place in service["datacenters"]
        for cluster in place["clusters"]
        for one in cluster["endpoints"]
        if one["usable"]
    }


async def test_the_last_endpoint_is_refused_and_forced_it_is_out(tmp_path: Path) -> None:
    """5. Failover of the last serving centre: refused with numbers; forced: done and audited.

    The same of its last endpoint: the earliest word gives way; where there is none, the service
    is closed.
    """
    async with live(tmp_path) as (site, api):

        async def order(**wanted: Any) -> httpx.Response:
            return await api.post("/v1/intents", json={"reason": "test", **wanted})

        async def undo(made: httpx.Response) -> None:
            path = f"/v1/intents/{made.json()['id']}:undo"
            assert (await api.post(path, json={"reason": "test"})).is_success

        await answer_only(site, "first", "second", "west")
        assert (await order(**part(site, 0))).is_success
        await answer_only(site, "second", "west")
        assert (await order(kind="failover", target=WEST)).is_success
        await answer_only(site, "second")
        refused = await order(**part(site, 1))
        assert refused.status_code == httpx.codes.FORBIDDEN
        assert refused.json()["code"] == "last_serving_datacenter"
        # Of three words one must give way: the first, so that the last one holds.
        forced = await order(**part(site, 1), force=True)
        assert forced.is_success
        await answer_only(site, "first")
        newest = (await api.get("/v1/audit", params={"limit": 1})).json()["items"][0]
        assert newest["action"] == "intent.force_failover"
        # Health does not take out who serves, whatever was said of it before.
        kept = (site.ports.east[0], site.ports.west[0])
        assert await states(api) == {f"127.0.0.1:{port}": "forced" for port in kept[:1]} | {
            f"127.0.0.1:{port}": "healthy" for port in kept[1:]
        }
        await undo(forced)
        await answer_only(site, "second")

        assert (await order(**part(site, 2, "lone"))).status_code == httpx.codes.FORBIDDEN
        closed = await order(**part(site, 2, "lone"), force=True)
        await answer_only(site, "503", path="/lone")
        await undo(closed)
        await answer_only(site, "lone", path="/lone")
