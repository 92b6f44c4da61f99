from dataclasses import replace

import httpx
import pytest

from controlplane.api.resources import gateways
from controlplane.domain.access import AccessRole
from controlplane.domain.fleet_snapshot import build
from controlplane.ports.outside import PlaneNode
from tests import builders
from tests.api.house import House


@pytest.fixture
async def decided(house: House) -> House:
    await house.declare()
    await house.intake.accept(
        [builders.sample(center, house.clock.now()) for center in ("beijing-1", "beijing-2")]
    )
    await house.tick()
    return house


async def test_decisions_are_listed_and_explained(decided: House, admin: httpx.AsyncClient) -> None:
    listed = (await admin.get("/v1/decisions?service=tickets&limit=5")).json()
    (summary,) = listed["items"]
    assert listed["next"] is None
    assert summary["strategy"] == "capacity"
    assert sum(summary["decided"].values()) == pytest.approx(1.0)
    assert set(summary["decided"]) == {"beijing-1", "beijing-2"}
    whole = (await admin.get(f"/v1/decisions/{summary['id']}")).json()
    assert {key: whole[key] for key in summary} == summary
    assert len(whole["samples"]) == 2
    assert isinstance(whole["curve"], list)
    response = await admin.get("/v1/decisions/tickets@0")
    assert (response.status_code, response.json()["code"]) == (404, "decision_not_found")
    assert (await admin.get("/v1/decisions?service=other")).json()["items"] == []


async def test_a_service_shows_shares_samples_and_its_decision(
    decided: House, admin: httpx.AsyncClient
) -> None:
    (listed,) = (await admin.get("/v1/services")).json()["items"]
    one = (await admin.get("/v1/services/tickets")).json()
    assert one == listed
    first, second = one["datacenters"]
    assert (first["name"], first["role"], second["role"]) == ("beijing-1", "primary", "same-city")
    assert first["share"] + second["share"] == pytest.approx(1.0)
    assert (first["sample"]["cpu_avg"], first["sample_age_s"]) == (0.5, 0.0)
    assert one["decision"]["service"] == "tickets"
    assert (await admin.get("/v1/services/none")).json()["code"] == "service_not_found"


async def test_a_service_without_samples_shows_them_as_missing(
    house: House, admin: httpx.AsyncClient
) -> None:
    await house.declare()
    one = (await admin.get("/v1/services/tickets")).json()
    assert {(c["sample"], c["sample_age_s"]) for c in one["datacenters"]} == {(None, None)}
    assert one["decision"] is None


async def test_the_data_set_is_csv(decided: House, admin: httpx.AsyncClient) -> None:
    for step in range(1, 4):
        decided.clock.time_s += 60.0
        await decided.intake.accept(
            [
                builders.sample(center, decided.clock.now(), response_time_ms=50.0 + step)
                for center in ("beijing-1", "beijing-2")
            ]
        )
    await decided.intake.flush()
    response = await admin.get("/v1/services/tickets/dataset")
    lines = response.text.splitlines()
    assert response.headers["content-type"].startswith("text/csv")
    assert lines[0].startswith("time_s,primary_request_rate_rps")
    assert len(lines) == 4
    assert lines[-1].endswith(",53.0")


async def test_gateways_say_who_runs_what_and_who_refused(
    decided: House, admin: httpx.AsyncClient
) -> None:
    decided.consumers.seen("edge-9", "edge", 1, decided.clock.now())
    content = (await admin.get("/v1/gateways")).json()
    assert content["revision"] == 1
    by_name = {item["name"]: item for item in content["items"]}
    assert [by_name[name]["up_to_date"] for name in ("edge-1", "edge-2", "edge-9")] == [
        True,
        False,
        True,
    ]
    assert by_name["edge-2"]["refused"] == {"rds": "duplicate domain"}
    assert by_name["edge-2"]["reason"].startswith("it refuses rds: duplicate domain")
    assert by_name["edge-1"]["reason"] == ""
    assert by_name["edge-9"]["kind"] == "rest"
    assert content["planes"][0]["plane"] == "envoy"
    assert content["planes"][0]["refused"] == []


NODE = PlaneNode(name="n", group="edge", connected=True, revision=3)


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        (NODE, ""),
        (replace(NODE, revision=2), "it has revision 2 and has not taken 3 yet"),
        (replace(NODE, connected=False), "it is not connected; it had revision 3"),
        (replace(NODE, group="typo"), "no gateway group typo"),
        (replace(NODE, refused=(("route", "missing )"),)), "it refuses route: missing )"),
    ],
)
def test_a_gateway_that_is_not_up_to_date_has_a_reason(node: PlaneNode, reason: str) -> None:
    shares = {"tickets": {"beijing-1": 0.6, "beijing-2": 0.4}}
    newest = replace(build(builders.fleet(), shares), revision=3)
    told = gateways.why_not("envoy", node, newest)
    assert reason in told
    assert bool(reason) == bool(told)
    assert gateways.why_not("envoy", node, None) == "nothing is published yet"
    # Who polls has no group that must be declared.
    assert gateways.why_not("rest", replace(NODE, group="typo"), newest) == ""


async def test_models_are_registered_listed_and_promoted(decided: House) -> None:
    async with decided.client(AccessRole.SCIENTIST) as client:
        response = await client.post("/v1/models?reason=new", content=b"tickets:abc")
        assert (response.status_code, response.json()["digest"]) == (201, "abc")
        assert response.json()["aliases"] == ["challenger", "shadow"]
        body = {"service": "tickets", "reason": "better"}
        promoted = (await client.post("/v1/models/abc:promote", json=body)).json()
        assert promoted["aliases"] == ["champion"]
        assert (await client.get("/v1/models?service=tickets")).json()["items"] == [promoted]
        missing = await client.post("/v1/models/xyz:promote", json=body)
        assert (missing.status_code, missing.json()["code"]) == (404, "model_not_found")
        assert (await client.get("/v1/services/tickets")).json()["model"] == "abc"
    newest = decided.audit.entries[-1]
    assert (newest.action, newest.author, newest.reason) == (
        "model.promote",
        "the-scientist",
        "better",
    )


async def test_promotions_are_logged_and_rolled_back(decided: House) -> None:
    async with decided.client(AccessRole.SCIENTIST) as client:
        none = await client.post("/v1/services/tickets/models:rollback")
        assert (none.status_code, none.json()["code"]) == (409, "no_earlier_champion")
        for digest in ("m1", "m2"):
            await client.post("/v1/models", content=f"tickets:{digest}".encode())
            body = {"service": "tickets", "reason": f"{digest} is better"}
            await client.post(f"/v1/models/{digest}:promote", json=body)
        back = await client.post("/v1/services/tickets/models:rollback", json={"reason": "slow"})
        assert (back.status_code, back.json()["digest"]) == (200, "m1")
        log = (await client.get("/v1/services/tickets/promotions?limit=3")).json()["items"]
        unknown = await client.get("/v1/services/other/promotions")
    assert [(s["event"], s["model"], s["before"], s["reason"]) for s in log] == [
        ("rolled-back", "m1", "m2", "slow"),
        ("promoted", "m2", "m1", "m2 is better"),
        ("enrolled", "m2", "m1", ""),
    ]
    assert log[0]["author"] == "the-scientist"
    assert unknown.status_code == 404


async def test_a_service_tells_its_rung_and_how_its_models_forecast(decided: House) -> None:
    async with decided.client(AccessRole.VIEWER) as client:
        ladder = (await client.get("/v1/services/tickets")).json()["ladder"]
    assert ladder == {"rung": "rule", "champion": None, "shadow": None, "demoted": ""}


async def test_health_and_readiness(house: House) -> None:
    async with house.client(None) as client:
        assert (await client.get("/healthz")).status_code == 200
        assert (await client.get("/readyz")).status_code == 503
        await house.declare()
        answer = await client.get("/readyz")
        assert (answer.status_code, answer.text) == (200, "ready\n")
        house.outage.away = True
        await house.store.look()
        answer = await client.get("/readyz")
        assert answer.status_code == 200
        assert "store is away" in answer.text


async def test_the_description_is_openapi_3_1(admin: httpx.AsyncClient) -> None:
    content = (await admin.get("/v1/openapi.json")).json()
    assert content["openapi"].startswith("3.1")
    operations = [
        operation["operationId"]
        for methods in content["paths"].values()
        for operation in methods.values()
    ]
    assert len(operations) == len(set(operations))
    assert {"/v1/samples", "/v1/fleet", "/v1/watch", "/v1/models/{digest}:promote"} <= set(
        content["paths"]
    )
