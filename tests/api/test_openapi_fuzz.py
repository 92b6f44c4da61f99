"""Every call of our own description with odd values: an answer is never a failure of ours."""

import json
import random
from typing import Any

import pytest

from controlplane.domain.access import AccessRole
from tests.api.house import House

ODD = [
    *("", "0", "-1", "1e400", "nan", "inf", "9" * 30, "true", "null", "a", "*", "../..", "%00"),
    *("\u0435", "\ufffd", "\u202e", "x" * 70, "x" * 5_000, "a b", "a\r\nb", "'", '"', "{}", "[]"),
    *("9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "2027-02-30T00:00:00Z", "W10=", "\x00"),
]
VALUES: list[Any] = [*ODD, None, True, 0, -1, 1.5, 10**400, 1e300, [], {}, ["a"], {"a": 1}]
# It never ends.
STREAMS = {"/v1/watch"}
EACH = 25


def calls(house: House) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method.upper(), path, operation)
        for path, methods in house.app.openapi()["paths"].items()
        for method, operation in methods.items()
        if path not in STREAMS
    ]


def body_of(choose: random.Random, operation: dict[str, Any], schemas: dict[str, Any]) -> str:
    content = operation.get("requestBody", {}).get("content", {})
    schema = content.get("application/json", {}).get("schema", {})
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    fields = schemas.get(name, {}).get("properties", {})
    chosen = {field: choose.choice(VALUES) for field in fields if choose.random() < 0.8}
    text = json.dumps(choose.choice([chosen, chosen, chosen, *VALUES]))
    return choose.choice([text, text, text, text.replace('"a"', '"\\ud800"'), text[:-1]])


@pytest.mark.parametrize("seed", range(2))
async def test_no_call_fails_for_what_it_is_given(house: House, seed: int) -> None:
    choose = random.Random(seed)
    await house.declare()
    await house.tick()
    schemas = house.app.openapi()["components"]["schemas"]
    failed: list[tuple[str, str, Any, str]] = []
    async with house.client(AccessRole.ADMIN) as client:
        for method, path, operation in calls(house):
            for _ in range(EACH):
                named = [p for p in operation.get("parameters", ()) if choose.random() < 0.3]
                query = {p["name"]: choose.choice(ODD) for p in named if p["in"] == "query"}
                query.pop("wait", None)
                odd = choose.choice(["tickets", "x", "a%2Fb", "%F0%9F%98%80", "%ED%A0%80", "0"])
                url = path
                for p in operation.get("parameters", ()):
                    url = url.replace(f"{{{p['name']}}}", odd)
                content = body_of(choose, operation, schemas) if method != "GET" else None
                answer = await client.request(
                    method,
                    url,
                    params=query,
                    content=None if content is None else content.encode(errors="surrogatepass"),
                    headers={"Content-Type": "application/json"},
                )
                if answer.status_code >= 500:
                    failed.append((method, url, query, f"{answer.status_code} {content}"[:200]))
                else:
                    assert answer.headers["x-content-type-options"] == "nosniff"
    assert failed == []
