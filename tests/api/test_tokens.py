import json
import re

import httpx
import pytest

from controlplane.domain.access import AccessRole
from tests.api.house import House

NEEDS = {
    ("POST", "/v1/samples"): {"gateway", "operator", "admin"},
    ("GET", "/v1/fleet"): {"viewer", "operator", "scientist", "admin"},
    ("PUT", "/v1/fleet"): {"operator", "admin"},
    ("GET", "/v1/weights"): set(AccessRole) - {"monitor"},
    ("GET", "/v1/config"): set(AccessRole) - {"monitor"},
    ("POST", "/v1/alerts"): {"monitor", "operator", "admin"},
    ("GET", "/v1/decisions"): {"viewer", "operator", "scientist", "admin"},
    ("GET", "/v1/services"): {"viewer", "operator", "scientist", "admin"},
    ("GET", "/v1/findings"): {"viewer", "operator", "scientist", "admin"},
    ("GET", "/v1/gateways"): {"viewer", "operator", "scientist", "admin"},
    ("GET", "/v1/models"): {"viewer", "operator", "scientist", "admin"},
    ("POST", "/v1/models"): {"scientist", "admin"},
    ("POST", "/v1/models/d:promote"): {"scientist", "admin"},
    ("GET", "/v1/tokens"): {"admin"},
    ("POST", "/v1/tokens"): {"admin"},
    ("DELETE", "/v1/tokens/x"): {"admin"},
    ("GET", "/v1/audit"): {"admin"},
}
JSON = {"Content-Type": "application/json"}
OPEN = {"/healthz", "/readyz", "/metrics"}


@pytest.mark.parametrize("role", AccessRole)
@pytest.mark.parametrize(("method", "path"), NEEDS)
async def test_each_role_may_do_what_it_needs(
    house: House, method: str, path: str, role: AccessRole
) -> None:
    async with house.client(role) as client:
        response = await client.request(method, path)
    assert (response.status_code == 403) == (role not in NEEDS[(method, path)])


async def test_every_path_but_three_asks_for_a_token(house: House) -> None:
    async with house.client(None) as client:
        paths = (await client.get("/v1/openapi.json")).json()["paths"]
        for path, methods in paths.items():
            for method in methods:
                response = await client.request(
                    method,
                    re.sub(r"\{\w+\}", "x", path),
                )
                if path in OPEN:
                    assert response.status_code in (200, 503), path
                else:
                    assert response.status_code == 401, path
                    assert response.headers["www-authenticate"].startswith("Bearer")
                    assert response.json()["code"] == "unauthenticated"


async def test_a_token_is_issued_used_listed_and_revoked(
    house: House, admin: httpx.AsyncClient
) -> None:
    body = {
        "name": "edge-1",
        "role": "gateway",
        "node": "edge-1",
        "group": "edge",
        "expires": "2030-01-01T00:00:00Z",
        "reason": "new gateway",
    }
    response = await admin.post("/v1/tokens", json=body)
    issued = response.json()
    assert response.status_code == 201
    assert response.headers["cache-control"] == "no-store"
    headers = {"Authorization": f"Bearer {issued['secret']}"}
    async with house.client(None) as client:
        assert (await client.post("/v1/samples", json=[], headers=headers)).status_code == 202
        listed = (await admin.get("/v1/tokens")).json()["items"]
        (own,) = [token for token in listed if token["id"] == issued["id"]]
        assert own == {key: value for key, value in issued.items() if key != "secret"}
        assert own["expires"] == "2030-01-01T00:00:00Z"
        path = f"/v1/tokens/{issued['id']}"
        assert (await admin.delete(path, params={"reason": "gone"})).status_code == 204
        assert (await client.post("/v1/samples", json=[], headers=headers)).status_code == 401
    newest = (await admin.get("/v1/audit?limit=1")).json()["items"][0]
    assert (newest["action"], newest["author"], newest["reason"]) == (
        "token.revoke",
        "the-admin",
        "gone",
    )


async def test_the_last_admin_token_is_refused_to_end(
    house: House, admin: httpx.AsyncClient
) -> None:
    listed = (await admin.get("/v1/tokens")).json()["items"]
    (own,) = [token["id"] for token in listed if token["role"] == "admin"]
    response = await admin.delete(f"/v1/tokens/{own}")
    assert (response.status_code, response.json()["code"]) == (403, "last_admin_token")


async def test_an_outage_of_the_store_stops_writes_not_reads(
    house: House, admin: httpx.AsyncClient
) -> None:
    await house.declare()
    await admin.get("/v1/weights")
    house.outage.away = True
    house.clock.time_s += 3600.0
    assert (await admin.get("/v1/weights")).status_code == 200
    assert (await admin.get("/v1/services")).status_code == 200
    response = await admin.post("/v1/tokens", json={"name": "x", "role": "viewer"})
    assert response.status_code == 503
    assert int(response.headers["retry-after"]) >= 1


@pytest.mark.parametrize("field", ["name", "reason", "node", "group", "\\ud800"])
async def test_half_a_surrogate_pair_is_named_in_the_answer(
    admin: httpx.AsyncClient, field: str
) -> None:
    sound = {"name": "a", "role": "viewer"}
    others = {key: value for key, value in sound.items() if key != field}
    body = f'{json.dumps(others)[:-1]}, "{field}": "\\ud800"}}'
    response = await admin.post("/v1/tokens", content=body, headers=JSON)
    content = response.json()
    assert (response.status_code, content["code"]) == (422, "request_invalid")
    # A key of that kind spoils the whole body.
    place = f"/{field}" if field.isalpha() else ""
    assert [error["pointer"] for error in content["errors"]] == [place]


@pytest.mark.parametrize(
    "expires",
    [
        *("9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00", "1969-07-20T20:17:40Z"),
        *("2026-02-30T00:00:00Z", "2027-01-01T00:00:00", 1e400, -1e400, 1e300, 10**400, -1),
        *(2_000_000_000_000, "soon", True, [], "\u0662\u0660\u0662\u0667-01-01T00:00:00Z"),
    ],
)
async def test_an_expiry_far_away_is_refused_in_words(
    admin: httpx.AsyncClient, expires: object
) -> None:
    body = json.dumps({"name": "a", "role": "viewer", "expires": expires})
    response = await admin.post(
        "/v1/tokens", content=body.replace("Infinity", "1e400"), headers=JSON
    )
    content = response.json()
    assert response.status_code == 422
    assert "expir" in content["detail"]


async def test_a_caller_is_told_who_it_is(house: House) -> None:
    async with house.client(AccessRole.SCIENTIST) as client:
        own = (await client.get("/v1/whoami")).json()
    assert own == {
        "name": "the-scientist",
        "role": "scientist",
        "permissions": ["manage-models", "read", "read-config"],
    }
    async with house.client(None) as client:
        assert (await client.get("/v1/whoami")).status_code == 401
