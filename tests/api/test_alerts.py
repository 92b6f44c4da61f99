"""/v1/alerts and /v1/alert-policies: Alertmanager's own message moves traffic by policy."""

from typing import Any

import httpx

from controlplane.domain.access import AccessRole
from tests.api.house import House

POLICY: dict[str, Any] = {
    "matchers": [{"label": "alertname", "value": "CenterDown"}],
    "order": {"kind": "failover", "target": {"datacenter": "{datacenter}"}},
    "lasts_s": 600,
}


def message(status: str = "firing", datacenter: str = "beijing-1") -> dict[str, Any]:
    """As Alertmanager 0.25 sends it."""
    alert = {
        "status": status,
        "labels": {"alertname": "CenterDown", "datacenter": datacenter, "severity": "critical"},
        "annotations": {"summary": "no answer"},
        "startsAt": "2026-11-30T19:00:00.123456789Z",
        "endsAt": "0001-01-01T00:00:00Z",
        "generatorURL": "http://prometheus:9090/graph?g0.expr=up",
        "fingerprint": "1a30ba71cca2921f",
    }
    return {
        "receiver": "signalbox",
        "status": status,
        "alerts": [alert],
        "groupLabels": {"alertname": "CenterDown"},
        "commonLabels": alert["labels"],
        "commonAnnotations": {},
        "externalURL": "http://alertmanager:9093",
        "version": "4",
        "groupKey": '{}:{alertname="CenterDown"}',
        "truncatedAlerts": 0,
    }


async def test_a_message_orders_and_its_end_takes_back(
    house: House, admin: httpx.AsyncClient
) -> None:
    await house.declare()
    written = await admin.put("/v1/alert-policies/leave", json=POLICY)
    assert written.status_code == 200, written.text
    async with house.client(AccessRole.MONITOR) as monitor:
        told = (await monitor.post("/v1/alerts", json=message())).json()
        assert told == {
            "firing": 1,
            "resolved": 0,
            "dropped": 0,
            "intents": ["failover-1"],
        }
        (alert,) = (await admin.get("/v1/alerts")).json()["items"]
        assert (alert["origin"], alert["summary"]) == ("alertmanager", "no answer")
        (episode,) = (await admin.get("/v1/alerts:episodes")).json()["items"]
        assert (episode["target"], episode["intent"]) == ("datacenter/beijing-1", "failover-1")
        intent = (await admin.get("/v1/intents/failover-1")).json()
        assert (intent["author"], intent["cause"]) == ("policy/leave", "1a30ba71cca2921f")
        assert intent["expires"] is not None
        await monitor.post("/v1/alerts", json=message("resolved"))
        assert (await admin.get("/v1/alerts")).json()["items"] == []
        intent = (await admin.get("/v1/intents/failover-1")).json()
        assert intent["ending"] == "undone"
        assert (await monitor.get("/v1/alerts")).status_code == 403


async def test_a_policy_is_declared_read_changed_and_removed(admin: httpx.AsyncClient) -> None:
    first = await admin.put("/v1/alert-policies/leave", json=POLICY)
    read = await admin.get("/v1/alert-policies/leave")
    assert read.headers["ETag"] == first.headers["ETag"]
    body = read.json()
    assert body["order"]["target"]["datacenter"] == "{datacenter}"
    assert body["matchers"] == [{"label": "alertname", "comparison": "=", "value": "CenterDown"}]
    seen = {"If-Match": first.headers["ETag"]}
    changed = await admin.put(
        "/v1/alert-policies/leave", json={**POLICY, "mode": "propose"}, headers=seen
    )
    assert changed.json()["mode"] == "propose"
    late = await admin.put("/v1/alert-policies/leave", json=POLICY, headers=seen)
    assert (late.status_code, late.json()["code"]) == (412, "operation_changed")
    listed = (await admin.get("/v1/alert-policies")).json()["items"]
    assert [one["name"] for one in listed] == ["leave"]
    assert (await admin.delete("/v1/alert-policies/leave")).json() == {"done": True}
    gone = await admin.get("/v1/alert-policies/leave")
    assert (gone.status_code, gone.json()["code"]) == (404, "operation_not_found")


async def test_a_made_up_alert_tells_what_would_be_ordered(admin: httpx.AsyncClient) -> None:
    await admin.put("/v1/alert-policies/leave", json=POLICY)
    labels = {"alertname": "CenterDown", "datacenter": "x"}
    tried = await admin.post("/v1/alert-policies:test", json={"labels": labels})
    assert tried.json()["items"] == [
        {"policy": "leave", "mode": "act", "target": "datacenter/x", "objection": ""}
    ]
    lacking = await admin.post(
        "/v1/alert-policies:test", json={"labels": {"alertname": "CenterDown"}}
    )
    assert "has no label datacenter" in lacking.json()["items"][0]["objection"]


async def test_what_no_policy_may_be(admin: httpx.AsyncClient) -> None:
    wrong = {**POLICY, "matchers": [{"label": "a", "comparison": "=~", "value": "("}]}
    refused = await admin.put("/v1/alert-policies/leave", json=wrong)
    assert (refused.status_code, refused.json()["code"]) == (422, "alert_policy_invalid")
    shapeless = {**POLICY, "order": {"kind": "failover"}}
    refused = await admin.put("/v1/alert-policies/leave", json=shapeless)
    assert refused.status_code == 422


async def test_another_version_of_the_message_is_refused(admin: httpx.AsyncClient) -> None:
    refused = await admin.post("/v1/alerts", json={**message(), "version": "5"})
    assert refused.status_code == 422
