"""Every list page by page: the pages are the whole, whatever comes and goes meanwhile."""

import base64
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.api.edge.paging import behind, cursor_at, page_of
from controlplane.domain.access import AccessRole
from controlplane.domain.errors import Invalid
from controlplane.engine.access import TokenRequest
from tests import builders
from tests.api.house import AUTHOR, START_S, House

CENTERS = ("beijing-1", "beijing-2")


async def services(house: House) -> int:
    await house.declare(builders.fleet(*(builders.service(f"s{n}") for n in range(5))))
    return 5


async def tokens(house: House) -> int:
    for n in range(3):
        await house.access.issue(TokenRequest(name=f"t{n}", role=AccessRole.VIEWER), AUTHOR, "")
    return len(AccessRole) + 3


async def decisions(house: House) -> int:
    await house.declare(builders.fleet(*(builders.service(f"s{n}") for n in range(3))))
    for _ in range(2):
        house.clock.time_s += 300
        await house.tick()
    return len(house.decisions.decisions)


async def audit(house: House) -> int:
    await tokens(house)
    return len(house.audit.entries)


async def gateways(house: House) -> int:
    await house.declare()
    for n in range(3):
        house.consumers.seen(f"edge-{n}", "edge", 1, house.clock.now())
    return 5


FILLED: dict[str, Callable[[House], Awaitable[int]]] = {
    "services": services,
    "tokens": tokens,
    "decisions": decisions,
    "audit": audit,
    "gateways": gateways,
}


async def pages(client: httpx.AsyncClient, path: str, limit: int) -> list[list[Any]]:
    found: list[list[Any]] = []
    cursor: str | None = None
    while cursor is not None or not found:
        params = {"limit": limit} | ({} if cursor is None else {"cursor": cursor})
        answer = await client.get(path, params=params)
        assert answer.status_code == 200, answer.text
        found.append(answer.json()["items"])
        cursor = answer.json()["next"]
    return found


@pytest.mark.parametrize("name", FILLED)
async def test_the_pages_are_the_whole_in_the_same_order(
    house: House, admin: httpx.AsyncClient, name: str
) -> None:
    count = await FILLED[name](house)
    (whole,) = await pages(admin, f"/v1/{name}", 1_000)
    assert len(whole) == count
    for limit in (1, 2, count - 1, count):
        parts = await pages(admin, f"/v1/{name}", limit)
        assert [len(part) for part in parts[:-1]] == [limit] * (len(parts) - 1)
        assert [one for part in parts for one in part] == whole


@pytest.mark.parametrize("name", ["services", "tokens", "models", "findings", "sources", "jobs"])
async def test_an_empty_list_has_no_next(house: House, name: str) -> None:
    async with house.client() as client:
        answer = (await client.get(f"/v1/{name}", params={"limit": 1})).json()
    assert answer["next"] is None or name == "tokens"


async def test_samples_go_back_by_whole_times(house: House, admin: httpx.AsyncClient) -> None:
    await house.declare()
    sent = [builders.sample(center, time_s=START_S - n) for n in range(300) for center in CENTERS]
    await house.intake.accept(sent)
    await house.intake.flush()
    parts = await pages(admin, "/v1/services/tickets/samples", 101)
    assert [len(part) for part in parts] == [100] * 6
    seen = [(one["time"], one["datacenter"]) for part in reversed(parts) for one in part]
    assert len(set(seen)) == 600
    assert seen == sorted(seen)


async def test_what_comes_meanwhile_neither_repeats_nor_hides(
    house: House, admin: httpx.AsyncClient
) -> None:
    await audit(house)
    first = (await admin.get("/v1/audit", params={"limit": 3})).json()
    await tokens(house)
    second = (await admin.get("/v1/audit", params={"limit": 3, "cursor": first["next"]})).json()
    subjects = [one["subject"] for one in first["items"] + second["items"]]
    assert len(set(subjects)) == 6


@pytest.mark.parametrize(
    "key",
    [[], [1], ["a", 1], [1, "a", 2], [True, "a"], [None, "a"], {}, [1e300, "a"], [1, "\ud800"]],
)
@pytest.mark.parametrize("name", ["decisions", "audit", "services", "jobs"])
async def test_a_cursor_of_another_list_is_refused(
    house: House, admin: httpx.AsyncClient, key: object, name: str
) -> None:
    await house.declare()
    if name == "audit" and key == [1]:
        return
    cursor = base64.urlsafe_b64encode(json.dumps(key).encode()).decode()
    answer = await admin.get(f"/v1/{name}", params={"cursor": cursor})
    assert (answer.status_code, answer.json()["code"]) == (422, "cursor_invalid")


@given(
    cursor=st.text(max_size=60) | st.binary(max_size=60).map(lambda b: base64.b64encode(b).decode())
)
def test_any_text_is_a_key_or_invalid(cursor: str) -> None:
    with suppress(Invalid):
        key = behind(cursor, (float, str))
        assert key is not None
        assert behind(cursor_at(key), (float, str)) == key


@given(items=st.lists(st.integers(0, 50), unique=True), limit=st.integers(1, 7))
def test_pages_of_a_list_are_the_list(items: list[int], limit: int) -> None:
    found: list[int] = []
    cursor: str | None = None
    while cursor is not None or not found:
        page, cursor = page_of(items, lambda item: (float(item),), limit, cursor)
        found += page
        if not page:
            break
    assert found == sorted(items)
