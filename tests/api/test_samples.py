import httpx
import orjson
import pytest

from controlplane.api.resources import samples as module
from controlplane.domain.access import AccessRole
from tests.api.house import START_S, House

GOOD = {"service": "tickets", "datacenter": "beijing-1", "response_time_ms": 5, "cpu_avg": 0.5}
GOOD |= {"request_rate_rps": 10}


@pytest.fixture
async def open_house(house: House) -> House:
    await house.declare()
    return house


async def send(house: House, body: object) -> httpx.Response:
    async with house.client(AccessRole.GATEWAY) as client:
        return await client.post("/v1/samples", content=orjson.dumps(body))


async def test_good_samples_are_taken(open_house: House) -> None:
    response = await send(open_house, {"samples": [GOOD, {**GOOD, "datacenter": "beijing-2"}]})
    assert (response.status_code, response.json()) == (202, {"accepted": 2, "findings": []})
    newest = open_house.intake.window("tickets").latest("beijing-1")
    assert newest is not None
    assert (newest.time_s, newest.received_s, newest.memory) == (START_S, START_S, None)


async def test_one_bad_sample_is_one_finding_and_the_rest_count(open_house: House) -> None:
    bad = [
        {**GOOD, "service": "nothing"},
        {**GOOD, "cpu_avg": 1.5},
        {**GOOD, "cpu_avg": "0.5"},
        {**GOOD, "cpu_avg": True},
        {**GOOD, "colour": "red"},
        {"service": "tickets"},
        {**GOOD, "time": "yesterday"},
        {**GOOD, "time": "2026-01-01T00:00:00"},
        {**GOOD, "time": START_S + 3600},
        {**GOOD, "request_rate_rps": None},
        7,
    ]
    body = [GOOD, *bad, {**GOOD, "datacenter": "beijing-2"}]
    response = await send(open_house, body)
    content = response.json()
    assert response.status_code == 200
    assert content["accepted"] == 2
    assert [finding["index"] for finding in content["findings"]] == list(range(1, 12))
    fields = [finding["field"] for finding in content["findings"]]
    assert fields[1:5] == ["cpu_avg", "cpu_avg", "cpu_avg", "colour"]
    assert all(finding["message"] and finding["code"] for finding in content["findings"])


@pytest.mark.parametrize(
    "time", ["2027-01-15T08:00:00Z", "2027-01-15T16:00:00+08:00", START_S, int(START_S)]
)
async def test_time_is_rfc_3339_or_epoch_seconds(open_house: House, time: object) -> None:
    assert (await send(open_house, [{**GOOD, "time": time}])).status_code == 202
    newest = open_house.intake.window("tickets").latest("beijing-1")
    assert newest is not None
    assert newest.time_s == START_S


async def test_a_name_that_is_not_declared_names_its_field(open_house: House) -> None:
    bad = [{**GOOD, "service": "nothing"}, {**GOOD, "datacenter": "nowhere"}]
    findings = (await send(open_house, bad)).json()["findings"]
    assert [finding["field"] for finding in findings] == ["service", "datacenter"]


@pytest.mark.parametrize("number", ["1e400", "-1e400", "9" * 5_000, "-" + "9" * 400])
async def test_a_number_beyond_every_float_is_a_finding_on_its_sample(
    open_house: House, number: str
) -> None:
    good = orjson.dumps(GOOD).decode()
    body = f"[{good}, {good.replace('0.5', number)}, {good.replace('beijing-1', 'beijing-2')}]"
    async with open_house.client() as client:
        response = await client.post("/v1/samples", content=body)
    content = response.json()
    assert (response.status_code, content["accepted"]) == (200, 2)
    (finding,) = content["findings"]
    assert (finding["index"], finding["field"]) == (1, "cpu_avg")


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00Z", "1999-12-31T23:59:59Z", -6e10, 0.0, 1e12])
@pytest.mark.parametrize("number", ["", "1e400"])
async def test_a_time_far_away_is_a_finding(open_house: House, time: object, number: str) -> None:
    text = orjson.dumps([GOOD | {"time": time}]).decode()
    if number:
        text = orjson.dumps([GOOD | {"time": 12345}]).decode().replace("12345", number)
    async with open_house.client() as client:
        response = await client.post("/v1/samples", content=text)
    (finding,) = response.json()["findings"]
    assert (finding["field"], finding["code"]) == ("time", "sample_malformed")


async def test_half_a_surrogate_pair_is_a_finding(open_house: House) -> None:
    good = orjson.dumps(GOOD).decode()
    bad = [good.replace("tickets", "\\ud800"), good.replace("cpu_avg", "\\ud800"), good]
    async with open_house.client() as client:
        response = await client.post("/v1/samples", content=f"[{', '.join(bad)}]")
    content = response.json()
    assert (response.status_code, content["accepted"]) == (200, 1)
    codes = [finding["code"] for finding in content["findings"]]
    assert codes == ["service_not_found", "sample_malformed"]


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"7", b'{"sample": []}', b'{"samples": NaN}'),
        *(b"[" * 100_000, b"\xff", b'["' + b"\xff" + b'"]', '["a"]'.encode("utf-16")),
    ],
)
async def test_a_body_that_is_no_list_is_refused_whole(house: House, body: bytes) -> None:
    async with house.client() as client:
        response = await client.post("/v1/samples", content=body)
    assert (response.status_code, response.json()["code"]) == (422, "samples_unreadable")


async def test_a_call_takes_so_many_samples_and_no_more(open_house: House) -> None:
    body = [{**GOOD, "time": START_S - index} for index in range(module.MOST_SAMPLES)]
    response = await send(open_house, body)
    assert (response.status_code, response.json()["accepted"]) == (202, module.MOST_SAMPLES)
    response = await send(open_house, [*body, GOOD])
    assert (response.status_code, response.json()["code"]) == (422, "too_many_samples")


async def test_samples_read_back_as_they_were_sent(open_house: House) -> None:
    sent = {**GOOD, "time": "2027-01-15T07:59:00Z", "error_ratio": 0.25}
    await send(open_house, [sent])
    await open_house.intake.flush()
    async with open_house.client(AccessRole.VIEWER) as client:
        for query in ("", "?since=0", "?since=2027-01-15T07:59:00Z"):
            (item,) = (await client.get(f"/v1/services/tickets/samples{query}")).json()["items"]
            assert {key: item[key] for key in sent} == sent
        late = await client.get("/v1/services/tickets/samples?since=2027-01-15T07:59:01Z")
        assert late.json()["items"] == []
        assert (await client.get("/v1/services/x/samples")).status_code == 404
