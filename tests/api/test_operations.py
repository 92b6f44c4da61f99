"""/v1/scenarios, /v1/changes, /v1/webhooks, /v1/incidents."""

import json
from typing import Any

import httpx
import pytest

from controlplane.domain.access import AccessRole
from tests.api.house import WEBHOOK_ORIGIN, House

FLOOD: dict[str, Any] = {
    "title": "Beijing 1 is flooded",
    "orders": [
        {"kind": "failover", "target": {"datacenter": "beijing-1"}, "return_s": 0},
        {"kind": "freeze"},
    ],
    "lasts_s": 3600,
}
MIGRATION: dict[str, Any] = {
    "migration": {"from_datacenter": "beijing-1", "to_datacenter": "beijing-2"},
    "pace": {"hold_s": 0},
}


async def test_a_scenario_is_forecast_applied_and_undone(
    house: House, admin: httpx.AsyncClient
) -> None:
    await house.declare()
    written = await admin.put("/v1/scenarios/flood", json=FLOOD)
    assert written.status_code == 200, written.text
    read = await admin.get("/v1/scenarios/flood")
    assert read.headers["ETag"] == written.headers["ETag"]
    forecast = (await admin.post("/v1/scenarios/flood:forecast")).json()["items"]
    assert [one["order"]["kind"] for one in forecast] == ["failover", "freeze"]
    assert forecast[0]["forecast"]["moves"][0]["after"]["beijing-2"] == 1.0
    key = {"Idempotency-Key": "k1"}
    applied = await admin.post("/v1/scenarios/flood:apply", json={"reason": "x"}, headers=key)
    assert applied.status_code == 201, applied.text
    again = await admin.post("/v1/scenarios/flood:apply", json={"reason": "x"}, headers=key)
    assert again.json() == applied.json()
    run = applied.json()
    assert run["standing"] == run["intents"] == ["failover-1", "freeze-2"]
    (listed,) = (await admin.get("/v1/scenarios:runs")).json()["items"]
    assert listed == run
    undone = await admin.post(f"/v1/scenarios:runs/{run['name']}:undo", json={})
    assert undone.json()["undone"] is not None
    assert [one["name"] for one in (await admin.get("/v1/scenarios")).json()["items"]] == ["flood"]
    assert (await admin.delete("/v1/scenarios/flood")).status_code == 200


async def test_a_migration_is_previewed_planned_and_aborted(
    house: House, admin: httpx.AsyncClient
) -> None:
    await house.declare()
    preview = (await admin.post("/v1/changes:preview", json=MIGRATION)).json()
    titles = [stage["title"] for stage in preview["stages"]]
    assert titles[0] == "10 % of beijing-1 to beijing-2"
    assert (await admin.get("/v1/changes")).json()["items"] == []
    planned = await admin.put("/v1/changes/move", json=MIGRATION)
    assert (planned.status_code, planned.json()["state"]) == (201, "planned")
    started = (await admin.post("/v1/changes/move:start", json={})).json()
    assert (started["state"], started["stage"]) == ("running", 0)
    assert started["stages"][0]["intents"] == ["pin-1"]
    assert "not published yet" in (await admin.get("/v1/changes/move")).json()["waits"]
    aborted = (await admin.post("/v1/changes/move:abort", json={"reason": "no"})).json()
    assert aborted["state"] == "aborted"
    late = await admin.post("/v1/changes/move:resume", json={})
    assert (late.status_code, late.json()["code"]) == (409, "change_state")
    assert (await admin.delete("/v1/changes/move")).json() == {"done": True}


async def test_stages_of_ones_own_and_an_upgrade(admin: httpx.AsyncClient) -> None:
    own = {
        "stages": [
            {
                "title": "drain",
                "orders": [{"kind": "drain", "target": {"datacenter": "a"}}],
                "hold_s": 5,
                "gate": {"most_error_ratio": 0.01},
            }
        ]
    }
    planned = (await admin.put("/v1/changes/own", json=own)).json()
    assert planned["stages"][0]["gate"]["most_error_ratio"] == 0.01
    assert planned["stages"][0]["orders"][0]["over_s"] == 60.0
    upgrade = {"upgrade": {"datacenters": ["a", "b"]}}
    assert len((await admin.post("/v1/changes:preview", json=upgrade)).json()["stages"]) == 6
    both = await admin.post("/v1/changes:preview", json={**own, **upgrade})
    assert (both.status_code, both.json()["code"]) == (422, "change_invalid")
    taken = await admin.put("/v1/changes/own", json=own)
    assert (taken.status_code, taken.json()["code"]) == (409, "operation_exists")


async def test_a_webhook_shows_its_secret_once(house: House, admin: httpx.AsyncClient) -> None:
    hook = {"url": f"{WEBHOOK_ORIGIN}/hook", "events": ["test", "intent.changed"]}
    made = (await admin.put("/v1/webhooks/pager", json=hook)).json()
    assert made["secret"].startswith("whsec_")
    assert (await admin.get("/v1/webhooks/pager")).json()["secret"] is None
    assert (await admin.put("/v1/webhooks/pager", json=hook)).json()["secret"] is None
    renewed = (await admin.put("/v1/webhooks/pager", json={**hook, "renew_secret": True})).json()
    assert renewed["secret"] not in (None, made["secret"])
    both = {**hook, "renew_secret": True, "secret": made["secret"]}
    assert (await admin.put("/v1/webhooks/pager", json=both)).status_code == 422
    assert len((await admin.get("/v1/webhooks")).json()["items"]) == 1
    sent = (await admin.post("/v1/webhooks/pager:test")).json()
    assert sent["state"] == "waiting"
    await house.operations.messenger.settle()
    (delivery,) = (await admin.get("/v1/webhooks:deliveries?state=delivered")).json()["items"]
    assert delivery["id"] == sent["id"]
    again = await admin.post(f"/v1/webhooks:deliveries/{sent['id']}:redeliver")
    assert again.json()["state"] == "waiting"
    other = await admin.put("/v1/webhooks/b", json={"url": "https://evil.example/"})
    assert (other.status_code, other.json()["code"]) == (403, "webhook_origin_refused")
    assert (await admin.delete("/v1/webhooks/pager")).json() == {"done": True}
    assert made["secret"] not in json.dumps([str(one) for one in house.audit.entries])


@pytest.mark.parametrize("role", [AccessRole.VIEWER, AccessRole.SCIENTIST])
async def test_the_path_of_a_webhook_is_for_operators(
    house: House, admin: httpx.AsyncClient, role: AccessRole
) -> None:
    hook = {"url": f"{WEBHOOK_ORIGIN}/services/T0/B0/s3cret"}
    assert (await admin.put("/v1/webhooks/pager", json=hook)).is_success
    async with house.client(role) as other, house.client(AccessRole.OPERATOR) as operator:
        for path in ("/v1/webhooks", "/v1/webhooks/pager"):
            seen = await other.get(path)
            assert seen.is_success
            assert "s3cret" not in seen.text
            assert f"{WEBHOOK_ORIGIN} " in seen.text
            assert "s3cret" in (await operator.get(path)).text


async def test_an_incident_is_told_as_json_and_markdown(
    house: House, admin: httpx.AsyncClient
) -> None:
    opened = await admin.post("/v1/incidents", json={"title": "drill"})
    assert opened.status_code == 201
    at = f"/v1/incidents/{opened.json()['name']}"
    house.clock.time_s += 1.0
    await admin.post(f"{at}:note", json={"note": "we look at the pumps"})
    house.clock.time_s += 1.0
    closed = (await admin.post(f"{at}:close", json={"reason": "over"})).json()
    assert closed["closed"] is not None
    timeline = (await admin.get(f"{at}/timeline")).json()
    assert [one["kind"] for one in timeline["entries"]][-3:] == ["audit", "note", "audit"]
    assert not timeline["cut"]
    text = await admin.get(f"{at}/timeline", headers={"Accept": "text/markdown"})
    assert text.headers["content-type"].startswith("text/markdown")
    assert "note: we look at the pumps" in text.text
    assert (await admin.get(at)).json() == closed
    assert (await admin.get("/v1/incidents")).json()["items"] == [closed]
