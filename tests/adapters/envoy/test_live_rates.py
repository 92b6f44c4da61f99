"""A real Envoy keeps the rate of a service, on open connections and whatever else is pushed."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from controlplane.domain.admission.policy import Policy
from controlplane.domain.snapshot import Content, EndpointsSection, ServiceLimit, assemble
from tests.adapters.envoy.site import Live, fleet, prefix, running, snapshot
from tests.adapters.envoy.test_live import until_healthy
from tests.sites.limits import EACH, EACH_RPS, burst

RATE_RPS = 10.0
PUSHES = 5


@pytest.fixture
async def live(tmp_path: Path) -> AsyncIterator[Live]:
    async with running(tmp_path) as made:
        made.services = [made.service("web"), made.service("free")]
        made.routes = [prefix("all", "web", "/"), prefix("free", "free", "/free")]
        await made.publish(0.5)
        await until_healthy(made)
        yield made


async def publish_policies(live: Live, *policies: Policy) -> None:
    """The usual snapshot with policies."""
    live.revision += 1
    declared = fleet(live.services, live.routes, live.listener)
    made = snapshot(replace(declared, policies=policies), live.revision)
    await live.plane.apply(live.plane.render(made))


async def publish(live: Live, rate_rps: float | None, east: float = 0.5, *more: str) -> None:
    """The usual snapshot with a rate on one service, and more routes."""
    live.revision += 1
    routes = [*live.routes, *(prefix(name, "free", f"/{name}") for name in more)]
    made = snapshot(fleet(live.services, routes, live.listener), live.revision, east)
    limit = None if rate_rps is None else ServiceLimit(rate_rps=rate_rps)
    services = tuple(
        replace(one, limit=limit) if one.service == "web" else one
        for one in made.content.endpoints.services
    )
    content: Content = replace(made.content, endpoints=EndpointsSection(services=services))
    await live.plane.apply(live.plane.render(replace(assemble(content), revision=live.revision)))


async def sent(live: Live, seconds: float, path: str = "/") -> Counter[int]:
    """Answers by status of about 200 requests per second over connections that are kept."""
    found: Counter[int] = Counter()
    url = f"http://127.0.0.1:{live.listener}{path}"
    ends_s = time.monotonic() + seconds

    async def worker() -> None:
        while time.monotonic() < ends_s:
            answer = await live.client.get(url)
            live.client.cookies.clear()
            found[answer.status_code] += 1
            await asyncio.sleep(0.02)

    await asyncio.gather(*(worker() for _ in range(4)))
    return found


async def limited(live: Live, path: str = "/") -> bool:
    return bool((await sent(live, 0.2, path))[httpx.codes.TOO_MANY_REQUESTS])


async def test_a_rate_is_kept_and_taken_back(
    live: Live, record_property: Callable[[str, object], None]
) -> None:
    assert set(await sent(live, 0.5)) == {200}
    await publish(live, RATE_RPS)
    async with asyncio.timeout(20):
        while not await limited(live):
            pass
    steady = await sent(live, 3.0)
    record_property("passed_rps", round(steady[200] / 3.0, 1))
    assert 0.8 * RATE_RPS <= steady[200] / 3.0 <= 1.25 * RATE_RPS, steady
    # Pushes of routes and weights do not fill the bucket.
    began, found = time.monotonic(), Counter[int]()
    for number in range(PUSHES):
        await publish(live, RATE_RPS, 0.3 + 0.05 * number, f"more{number}")
        found += await sent(live, 0.5)
    passed = found[200] / (time.monotonic() - began)
    record_property("passed_rps_while_pushed", round(passed, 1))
    # Filled by each push it would be more than twice as much.
    assert 0.5 * RATE_RPS <= passed <= 1.3 * RATE_RPS, found
    assert set(await sent(live, 0.3, "/free")) == {200}
    await publish(live, None)
    async with asyncio.timeout(20):
        while await limited(live):
            pass
    assert set(await sent(live, 0.5)) == {200}


async def test_each_address_has_a_rate_of_its_own(live: Live) -> None:
    await publish_policies(live, EACH)
    async with asyncio.timeout(20):
        while not (await asyncio.to_thread(burst, live.listener, 8)).refused:
            pass
    # Whoever has used all of its own takes nothing from another.
    for source in ("127.0.0.2", "127.0.0.3"):
        found = await asyncio.to_thread(burst, live.listener, 20, "/", source)
        assert 3 <= found.passed <= 4 + EACH_RPS * found.seconds, found
        assert found.refused == {429}
    assert not (await asyncio.to_thread(burst, live.listener, 20, "/free")).refused
    assert (await live.plane.observe())[0].nacks == 0
    await publish_policies(live)
    async with asyncio.timeout(20):
        while (await asyncio.to_thread(burst, live.listener, 8)).refused:
            pass
