"""Idempotency-Key: what is sent twice happens once."""

import asyncio

import httpx
import pytest

from controlplane.api.edge.idempotency import KEPT_S, MOST_KEPT, Answers
from controlplane.domain.access import AccessRole
from controlplane.domain.errors import Conflict, Invalid
from tests.api.house import House

WANTED = {"name": "edge-1", "role": "gateway"}
KEY = {"Idempotency-Key": "order-1"}


async def test_a_token_is_issued_once_and_answered_twice(
    house: House, admin: httpx.AsyncClient
) -> None:
    first, second = [await admin.post("/v1/tokens", json=WANTED, headers=KEY) for _ in range(2)]
    assert first.status_code == second.status_code == 201
    assert first.json() == second.json()
    assert len(await house.access.tokens()) == len(AccessRole) + 1
    third = await admin.post("/v1/tokens", json=WANTED)
    assert third.json()["id"] != first.json()["id"]


async def test_many_at_once_are_one(house: House, admin: httpx.AsyncClient) -> None:
    answers = await asyncio.gather(
        *(admin.post("/v1/tokens", json=WANTED, headers=KEY) for _ in range(10))
    )
    assert len({answer.json()["secret"] for answer in answers}) == 1
    assert len(await house.access.tokens()) == len(AccessRole) + 1


@pytest.mark.parametrize("query", ["", "?x=1"])
async def test_another_request_with_the_key_is_refused(
    admin: httpx.AsyncClient, query: str
) -> None:
    await admin.post("/v1/tokens", json=WANTED, headers=KEY)
    other = WANTED if query else WANTED | {"name": "edge-2"}
    answer = await admin.post(f"/v1/tokens{query}", json=other, headers=KEY)
    assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_key_reused")


async def test_keys_belong_to_a_token(house: House, admin: httpx.AsyncClient) -> None:
    mine = (await admin.post("/v1/tokens", json=WANTED | {"role": "admin"}, headers=KEY)).json()
    headers = KEY | {"Authorization": f"Bearer {mine['secret']}"}
    other = await admin.post("/v1/tokens", json=WANTED | {"role": "admin"}, headers=headers)
    assert other.json()["id"] != mine["id"]


async def test_what_failed_is_tried_anew(house: House, admin: httpx.AsyncClient) -> None:
    house.outage.away = True
    assert (await admin.post("/v1/tokens", json=WANTED, headers=KEY)).status_code == 503
    house.outage.away = False
    assert (await admin.post("/v1/tokens", json=WANTED, headers=KEY)).status_code == 201


@pytest.mark.parametrize("key", ["", "a b", "x" * 201, "\u00e9"])
async def test_a_key_is_short_and_printable(admin: httpx.AsyncClient, key: str) -> None:
    headers = [(b"Idempotency-Key", key.encode())]
    answer = await admin.post("/v1/tokens", json=WANTED, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (422, "request_invalid")


async def test_a_model_is_registered_once(house: House, admin: httpx.AsyncClient) -> None:
    await house.declare()
    body = b"tickets:" + b"a" * 64
    answers = [await admin.post("/v1/models", content=body, headers=KEY) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].json() == answers[1].json()


class Writer:
    def __init__(self) -> None:
        self.count = 0

    async def write(self) -> int:
        self.count += 1
        return self.count


async def test_an_answer_is_kept_for_a_day() -> None:
    now_s = 0.0
    answers, writer = Answers(lambda: now_s), Writer()
    name = ("t", "p", "k")
    assert await answers.once(name, "a", writer.write) == 1
    now_s = KEPT_S - 1
    assert await answers.once(name, "a", writer.write) == 1
    now_s = KEPT_S
    assert await answers.once(name, "b", writer.write) == 2


async def test_so_many_are_kept_and_no_more() -> None:
    answers, writer = Answers(), Writer()
    for n in range(MOST_KEPT + 5):
        await answers.once(("t", "p", str(n)), "a", writer.write)
    assert len(answers) == MOST_KEPT
    assert await answers.once(("t", "p", "1004"), "a", writer.write) == MOST_KEPT + 5
    assert await answers.once(("t", "p", "0"), "a", writer.write) == MOST_KEPT + 6


async def test_a_write_under_way_is_not_forgotten_and_its_failure_is_told_to_its_own() -> None:
    answers, writer = Answers(), Writer()
    started, go_on = asyncio.Event(), asyncio.Event()

    async def slow() -> int:
        started.set()
        await go_on.wait()
        raise Conflict("a_code", "words")

    first = asyncio.create_task(answers.once(("t", "p", "k"), "a", slow))
    await started.wait()
    for n in range(MOST_KEPT + 1):
        await answers.once(("t", "p", str(n)), "a", writer.write)
    second = asyncio.create_task(answers.once(("t", "p", "k"), "a", writer.write))
    with pytest.raises(Invalid):
        await answers.once(("t", "p", "k"), "b", writer.write)
    go_on.set()
    with pytest.raises(Conflict):
        await first
    assert await second == MOST_KEPT + 2


async def test_what_a_repetition_wrote_after_a_failure_is_kept() -> None:
    answers, writer = Answers(), Writer()
    name, go_on = ("t", "p", "k"), asyncio.Event()

    async def failing() -> int:
        await go_on.wait()
        raise Conflict("a_code", "words")

    first = asyncio.create_task(answers.once(name, "a", failing))
    await asyncio.sleep(0)
    second = asyncio.create_task(answers.once(name, "a", writer.write))
    await asyncio.sleep(0)
    go_on.set()
    with pytest.raises(Conflict):
        await first
    assert await second == await answers.once(name, "a", writer.write) == writer.count == 1
