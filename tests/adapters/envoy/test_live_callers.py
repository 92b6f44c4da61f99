"""A real Envoy in front of callers: keys, tokens, grants, quotas, and headers that lie."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
import pytest
import pytest_asyncio

from controlplane.domain.routing.callers import (
    ApiKey,
    CallerPolicy,
    Consumer,
    Credential,
    CredentialType,
    Grant,
    Jwt,
    Quota,
    RequestSignature,
)
from controlplane.domain.routing.route import Part, Route
from controlplane.domain.routing.zones import Zone
from controlplane.domain.topology import Fleet
from tests.adapters.envoy.credentials import AUDIENCE, ISSUER, digest, issuer, stranger
from tests.adapters.envoy.site import Live, fleet, prefix, running, snapshot

KEY = "8b1e0f3a-partner"
POLICIES = (
    CallerPolicy(name="key", api_key=ApiKey()),
    CallerPolicy(name="in-query", api_key=ApiKey(part=Part.QUERY_PARAM, name="key")),
    CallerPolicy(name="in-cookie", api_key=ApiKey(part=Part.COOKIE, name="key")),
    CallerPolicy(
        name="staff",
        jwt=Jwt(issuer=ISSUER, audiences=(AUDIENCE,), jwks=issuer().jwks, claims=(("role", "op"),)),
    ),
    CallerPolicy(
        name="users",
        jwt=Jwt(issuer=ISSUER, audiences=(AUDIENCE,), jwks=issuer().jwks, cookie="session"),
        otherwise="somebody",
    ),
    CallerPolicy(name="signed", signature=RequestSignature()),
    # A broken one takes nothing else with it.
    CallerPolicy(name="broken", jwt=Jwt(issuer=ISSUER, jwks_service="web")),
)


def credential(policy: str, kind: CredentialType, value: str) -> Credential:
    return Credential(policy=policy, type=kind, value=value)


def key_of(policy: str, key: str) -> Credential:
    return credential(policy, CredentialType.KEY_SHA256, digest(key))


PAY = (("team", "pay"),)
CONSUMERS = (
    Consumer(
        name="partner",
        credentials=(
            key_of("key", KEY),
            key_of("in-query", KEY),
            key_of("in-cookie", KEY),
        ),
        grants=(Grant(),),
    ),
    Consumer(
        name="operator",
        credentials=(credential("staff", CredentialType.CLAIM, "user-1"),),
        grants=(Grant(labels=PAY), Grant(routes=("both",))),
    ),
    Consumer(name="somebody", grants=(Grant(routes=("page",)),)),
    Consumer(name="idle", credentials=(key_of("key", "idle"),)),
    Consumer(
        name="elsewhere", credentials=(key_of("key", "elsewhere"),), grants=(Grant(zones=("x",)),)
    ),
    Consumer(
        name="thrifty",
        credentials=(key_of("key", "thrifty"),),
        grants=(Grant(),),
        quota=Quota(requests=3, period_s=3_600),
    ),
)


def guarded(name: str, *policies: str, labels: tuple[tuple[str, str], ...] = ()) -> Route:
    return replace(prefix(name, "web", f"/{name}"), authentication=policies, labels=labels)


ROUTES = (
    prefix("open", "web", "/open"),
    guarded("key", "key"),
    guarded("query", "in-query"),
    guarded("cookie", "in-cookie"),
    guarded("both", "key", "staff"),
    guarded("pay", "staff", labels=PAY),
    guarded("page", "users"),
    guarded("signed", "signed"),
    guarded("half", "key", "signed"),
    guarded("broken", "broken"),
)


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
    async with running(tmp_path_factory.mktemp("callers")) as one:
        await publish(one, declared(one))
        await until(one, "/key", 401)
        yield one


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


async def statuses(live: Live, path: str, *headers: dict[str, str]) -> list[int]:
    return [(await live.get(path, **one)).status_code for one in headers]


pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_an_open_route_stays_open(live: Live) -> None:
    assert await statuses(live, "/open", {}, {"x-api-key": "wrong"}) == [200, 200]


async def test_an_api_key(live: Live) -> None:
    keys = [{}, {"x-api-key": "wrong"}, {"x-api-key": KEY}, {"x-api-key": ""}]
    assert await statuses(live, "/key", *keys) == [401, 401, 200, 401]
    answer = await live.get("/key")
    assert answer.headers["www-authenticate"] == "ApiKey"
    assert await statuses(live, f"/query?a=b&key={KEY}", {}) == [200]
    assert await statuses(live, "/query?key=wrong", {}, {"x-api-key": KEY}) == [401, 401]
    cookies = [{"cookie": f"a=b; key={KEY}"}, {"cookie": "key=wrong"}, {}]
    assert await statuses(live, "/cookie", *cookies) == [200, 401, 401]


async def test_two_keys_at_once_are_none(live: Live) -> None:
    headers = [("x-api-key", KEY), ("x-api-key", "wrong")]
    url = f"http://127.0.0.1:{live.listener}/key"
    assert (await live.client.get(url, headers=headers)).status_code == 401


async def test_a_token(live: Live) -> None:
    sign = issuer().token
    tokens = {
        "good": sign(role="op"),
        "one of several": sign(role=["a", "op"], aud=["other", AUDIENCE]),
        "expired": sign(role="op", exp=1_000_000_000),
        "without an end": sign(role="op", exp=None),
        "for somebody else": sign(role="op", aud="other"),
        "of somebody else": sign(role="op", iss="other"),
        "without the claim": sign(),
        "unknown subject": sign("user-2", role="op"),
        "forged": stranger().token(role="op"),
    }
    found = await statuses(live, "/pay", *map(bearer, tokens.values()), {})
    assert found == [200, 200, *[401] * 8]
    # The same person has no grant for these.
    assert await statuses(live, "/both", bearer(tokens["good"])) == [200]


async def test_an_unsigned_token(live: Live) -> None:
    head, body, _ = issuer().token(role="op").split(".")
    none = "eyJhbGciOiJub25lIn0"
    tokens = [f"{none}.{body}.", f"{head}.{body}.", f"{head}.{body}.AAAA", "x"]
    assert await statuses(live, "/pay", *map(bearer, tokens)) == [401] * 4


async def test_every_user_of_a_provider_may_stand_for_one_consumer(live: Live) -> None:
    session = {"cookie": f"session={issuer().token('user-77')}"}
    assert await statuses(live, "/page", session, bearer(issuer().token())) == [200, 401]
    answer = await live.get("/page", **session)
    assert answer.status_code == 200


async def test_either_policy_is_enough(live: Live) -> None:
    token = bearer(issuer().token(role="op"))
    wrong = {"x-api-key": "wrong"}
    both = [{"x-api-key": KEY}, token, token | wrong, wrong]
    assert await statuses(live, "/both", *both) == [200, 200, 200, 401]


async def test_without_a_grant_a_known_caller_is_refused(live: Live) -> None:
    found = await statuses(live, "/key", {"x-api-key": "idle"}, {"x-api-key": "elsewhere"})
    assert found == [403, 403]


async def test_a_service_learns_who_asks_and_nobody_can_pretend(live: Live) -> None:
    lies = {"x-consumer": "operator", "X-Consumer-Policy": "staff"}
    assert await statuses(live, "/key", lies) == [401]


async def test_a_method_that_envoy_cannot_check_lets_nobody_in(live: Live) -> None:
    found = await statuses(live, "/signed", {}, {"x-signature": "a"}, {"x-api-key": KEY})
    assert found == [403, 403, 403]
    assert await statuses(live, "/half", {}, {"x-api-key": KEY}) == [401, 200]


async def test_a_policy_whose_keys_are_missing_lets_nobody_in(live: Live) -> None:
    assert await statuses(live, "/broken", {}, bearer(issuer().token())) == [401, 401]


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
