"""POST /v1/findings/{id}:force, and samples that are suspicious on their way in."""

import asyncio

import httpx
import pytest

from controlplane.domain.access import AccessRole, AuditEntry
from tests.api.house import House
from tests.fakes.stores import MemoryAuditLog

GOOD = {"service": "tickets", "datacenter": "beijing-1", "request_rate_rps": 40.0}
REASON = {"reason": "the flash sale has begun"}


async def _send(client: httpx.AsyncClient, house: House, **readings: float) -> httpx.Response:
    house.clock.time_s += 60.0
    body = {**GOOD, "response_time_ms": 50.0 + house.clock.time_s % 7, **readings}
    return await client.post("/v1/samples", json={"samples": [body]})


@pytest.fixture
async def jumped(house: House, admin: httpx.AsyncClient) -> str:
    """A standing finding: its id."""
    await house.declare()
    for _ in range(10):
        assert (await _send(admin, house)).status_code == 202
    receipt = await _send(admin, house, request_rate_rps=4_000.0)
    assert receipt.status_code == 200
    assert receipt.json()["accepted"] == 1
    (told,) = receipt.json()["findings"]
    assert told["code"] == "metrics_jumped"
    (finding,) = (await admin.get("/v1/findings")).json()["items"]
    assert finding["subject"] == "service/tickets datacenter/beijing-1"
    return str(finding["id"])


async def test_a_suspicious_sample_is_stored_marked_and_counted(
    house: House, admin: httpx.AsyncClient, jumped: str
) -> None:
    await house.intake.flush()
    stored = (await admin.get("/v1/services/tickets/samples")).json()["items"]
    assert [one["suspicion"] for one in stored] == [None] * 10 + ["metrics_jumped"]
    text = (await admin.get("/metrics")).text
    assert 'signalbox_samples_total{outcome="suspicious"} 1.0' in text
    assert 'signalbox_samples_total{outcome="accepted"} 10.0' in text


async def test_the_same_word_at_the_same_time_is_one(
    house: House, admin: httpx.AsyncClient, jumped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = MemoryAuditLog.append

    async def slow(log: MemoryAuditLog, entry: AuditEntry) -> None:
        await asyncio.sleep(0.01)
        await append(log, entry)

    monkeypatch.setattr(MemoryAuditLog, "append", slow)
    address = f"/v1/findings/{jumped}:force"
    answers = await asyncio.gather(*(admin.post(address, json=REASON) for _ in range(5)))
    assert [answer.status_code for answer in answers] == [200] * 5
    entries = (await admin.get("/v1/audit")).json()["items"]
    assert sum(one["action"] == "finding.force" for one in entries) == 1


async def test_an_operator_forces_it_once_with_a_reason(
    house: House, admin: httpx.AsyncClient, jumped: str
) -> None:
    async with house.client(AccessRole.OPERATOR) as operator:
        for _ in range(2):
            answer = await operator.post(f"/v1/findings/{jumped}:force", json=REASON)
            assert (answer.status_code, answer.json()["standing"]) == (200, False)
    entries = (await admin.get("/v1/audit")).json()["items"]
    forced = [one for one in entries if one["action"] == "finding.force"]
    assert [(one["author"], one["reason"]) for one in forced] == [
        ("the-operator", REASON["reason"])
    ]
    assert "metrics_jumped" in forced[0]["before"]
    assert "1 held samples are trusted" in forced[0]["after"]
    newest = house.intake.window("tickets").latest("beijing-1")
    assert newest is not None
    assert newest.request_rate_rps == 4_000.0
    assert (await _send(admin, house, request_rate_rps=4_100.0)).status_code == 202


@pytest.mark.parametrize("body", [{}, {"reason": ""}, {"reason": "x" * 501}, {"because": "x"}])
async def test_a_force_needs_a_reason(
    admin: httpx.AsyncClient, jumped: str, body: dict[str, str]
) -> None:
    answer = await admin.post(f"/v1/findings/{jumped}:force", json=body)
    assert answer.status_code == 422


async def test_viewers_and_gateways_force_nothing(house: House, jumped: str) -> None:
    for role in (AccessRole.VIEWER, AccessRole.GATEWAY, AccessRole.SCIENTIST):
        async with house.client(role) as client:
            answer = await client.post(f"/v1/findings/{jumped}:force", json=REASON)
            assert answer.status_code == 403


async def test_a_store_that_is_away_forces_nothing(
    house: House, admin: httpx.AsyncClient, jumped: str
) -> None:
    house.outage.away = True
    answer = await admin.post(f"/v1/findings/{jumped}:force", json=REASON)
    assert answer.status_code == 503
    house.outage.away = False
    assert (await admin.get(f"/v1/findings/{jumped}")).json()["standing"]


async def test_what_is_over_or_of_another_kind_is_refused(
    house: House, admin: httpx.AsyncClient, jumped: str
) -> None:
    await _send(admin, house)
    answer = await admin.post(f"/v1/findings/{jumped}:force", json=REASON)
    assert (answer.status_code, answer.json()["code"]) == (409, "finding_over")
    await _send(admin, house, cpu_avg=7.0)
    (finding,) = (await admin.get("/v1/findings")).json()["items"]
    answer = await admin.post(f"/v1/findings/{finding['id']}:force", json=REASON)
    assert (answer.status_code, answer.json()["code"]) == (403, "finding_not_forcible")


@pytest.mark.parametrize(
    "item",
    [
        '{"service": "tickets", "datacenter": "beijing-1", "response_time_ms": NaN, '
        '"request_rate_rps": 40.0}',
        '{"service": "tickets", "datacenter": "beijing-1", "response_time_ms": 1e999, '
        '"request_rate_rps": 40.0}',
        '{"service": "tickets", "datacenter": "beijing-1", "response_time_ms": null}',
        '{"service": "tickets", "datacenter": "beijing-1", "response_time_ms": 5, '
        '"request_rate_rps": 40.0, "time": 60}',
    ],
)
async def test_no_number_is_a_finding_of_its_data_center_until_a_good_one_comes(
    house: House, admin: httpx.AsyncClient, item: str
) -> None:
    await house.declare()
    await _send(admin, house)
    answer = await admin.post("/v1/samples", content=f'{{"samples": [{item}, 7]}}')
    assert answer.json()["accepted"] == 0
    (finding,) = (await admin.get("/v1/findings")).json()["items"]
    assert finding["code"] == "metrics_refused"
    assert finding["subject"] == "service/tickets datacenter/beijing-1"
    await _send(admin, house)
    assert (await admin.get("/v1/findings")).json()["items"] == []
