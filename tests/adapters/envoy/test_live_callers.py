"""A real Envoy in front of callers: keys, tokens, grants, quotas, and headers that lie."""

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
import pytest
import pytest_asyncio

from controlplane.domain.routing.zones import Zone
from controlplane.domain.topology import Fleet
from tests.adapters.envoy.site import Live, fleet, running, service, snapshot
from tests.credentials import issuer, stranger
from tests.sites.callers import CONSUMERS, KEY, POLICIES, ROUTES, cases, echo, key_of


def declared(live: Live, **sections: object) -> Fleet:
    usual = fleet(live.services, ROUTES, live.listener)
    sections = {"callers": POLICIES, "consumers": CONSUMERS, **sections}
    return replace(usual, **sections)


async def publish(live: Live, wanted: Fleet) -> None:
    live.revision += 1
    await live.plane.apply(live.plane.render(snapshot(wanted, live.revision)))


async def until(live: Live, path: str, status: int, **headers: str) -> None:
    async with asyncio.timeout(20):
        while True:
            # Another listener closes the connections of the one before.
            with contextlib.suppress(httpx.TransportError):
                if (await live.get(path, **headers)).status_code == status:
                    return
            await asyncio.sleep(0.05)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def live(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Live]:
    with echo() as port:
        async with running(tmp_path_factory.mktemp("callers")) as one:
            one.services.append(service("echo", [port], [port]))
            await publish(one, declared(one))
            await until(one, "/key", 401)
            await until(one, "/whoami", 200, **{"x-api-key": KEY})
            yield one


async def statuses(live: Live, path: str, *headers: dict[str, str]) -> list[int]:
    return [(await live.get(path, **one)).status_code for one in headers]


pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_every_caller_gets_what_the_site_says(live: Live) -> None:
    url = f"http://127.0.0.1:{live.listener}"
    for case in cases():
        answer = await live.client.get(f"{url}{case.target}", headers=list(case.headers))
        live.client.cookies.clear()
        assert answer.status_code in case.status, case


async def test_who_is_unknown_is_told_how_to_be_known(live: Live) -> None:
    assert (await live.get("/key")).headers["www-authenticate"] == "ApiKey"
    assert (await live.get("/both")).headers["www-authenticate"] == "ApiKey, Bearer"


async def test_a_service_learns_who_asks_and_nobody_can_pretend(live: Live) -> None:
    lies = {"x-consumer": "operator", "X-Consumer-Policy": "staff", "x_consumer": "operator"}
    told = json.loads((await live.get("/whoami", **lies, **{"x-api-key": KEY})).text)
    assert (told["x-consumer"], told["x-consumer-policy"]) == (["partner"], ["key"])
    assert "x_consumer" not in told


async def test_keys_of_tokens_may_come_from_a_service(live: Live) -> None:
    token = issuer().token("desk-7")
    headers = {"authorization": f"Bearer {token}"}
    await until(live, "/fetched", 200, **headers)
    forged = {"authorization": f"Bearer {stranger().token('desk-7')}"}
    assert (await live.get("/fetched", **forged)).status_code == 401


async def test_a_quota(live: Live) -> None:
    answers = [await live.get("/key", **{"x-api-key": "thrifty"}) for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    # Nobody else pays for it.
    assert await statuses(live, "/key", {"x-api-key": KEY}) == [200]


async def test_a_revoked_key_ends_on_open_connections_and_a_new_one_begins(live: Live) -> None:
    answers: Counter[int] = Counter()
    async with httpx.AsyncClient(trust_env=False) as client:
        url = f"http://127.0.0.1:{live.listener}/key"

        async def ask(key: str) -> int:
            return (await client.get(url, headers={"x-api-key": key})).status_code

        assert (await ask(KEY), await ask("next")) == (200, 401)
        changed = replace(CONSUMERS[0], credentials=(key_of("key", "next"),))
        await publish(live, declared(live, consumers=(changed, *CONSUMERS[1:])))
        async with asyncio.timeout(10):
            while await ask("next") != 200:
                answers[await ask(KEY)] += 1
        assert await ask(KEY) == 401
    assert set(answers) <= {200, 401}
    await publish(live, declared(live))
    await until(live, "/key", 200, **{"x-api-key": KEY})


async def test_a_zone_of_the_gateway_counts_in_grants(live: Live) -> None:
    usual = declared(live)
    groups = tuple(replace(group, zone="x") for group in usual.gateways)
    await publish(live, replace(usual, gateways=groups, zones=(Zone(name="x"),)))
    await until(live, "/key", 200, **{"x-api-key": "elsewhere"})
    await publish(live, usual)
    await until(live, "/key", 403, **{"x-api-key": "elsewhere"})
