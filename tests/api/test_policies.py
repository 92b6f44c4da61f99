"""/v1/policies...: writing, modes, presets, dry runs, and what gateways tell."""

from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from controlplane.domain.access import AccessRole
from controlplane.domain.admission.section import received
from controlplane.engine.consumers.policy_reports import KEPT_S
from tests.api.house import House

BLOCKING = {"services": ["tickets"], "protection": {"blocked_sources": ["192.0.2.0/24"]}}


@pytest.fixture
async def operator(house: House) -> httpx.AsyncClient:
    await house.declare()
    return house.client(AccessRole.OPERATOR)


async def written(
    house: House, client: httpx.AsyncClient, name: str, document: Mapping[str, Any] = BLOCKING
) -> httpx.Response:
    answer = await client.put(f"/v1/policies/{name}?reason=try", json=document)
    assert answer.status_code == 200, answer.text
    await house.tick()
    return answer


async def test_a_policy_from_observing_to_gone(house: House, operator: httpx.AsyncClient) -> None:
    answer = await written(house, operator, "edge", {**BLOCKING, "mode": "observe"})
    assert answer.json()["policy"]["mode"] == "observe"
    moved = await operator.post(
        "/v1/policies/edge:mode",
        json={"mode": "enforce", "reason": "seen"},
        headers={"If-Match": answer.headers["ETag"]},
    )
    assert moved.json()["policy"]["mode"] == "enforce"
    late = await operator.post(
        "/v1/policies/edge:mode", json={"mode": "off"}, headers={"If-Match": answer.headers["ETag"]}
    )
    assert late.status_code == 412
    await house.tick()
    (item,) = (await operator.get("/v1/policies:list?kind=protection")).json()["items"]
    assert item == (await operator.get("/v1/policies/edge")).json()
    assert item["document"]["services"] == ["tickets"]
    served = (await operator.get("/v1/policies")).content
    assert [one.name for one in received(served).policies] == ["edge"]
    gone = await operator.delete("/v1/policies/edge")
    assert gone.json()["policy"] is None
    assert (await operator.get("/v1/policies/edge")).json()["code"] == "policy_not_found"
    actions = [entry.action for entry in house.audit.entries if entry.subject == "policy/edge"]
    assert actions == ["policy.write", "policy.enforce", "policy.remove"]


@pytest.mark.parametrize(
    ("name", "document", "code", "words"),
    [
        ("edge", {"protection": {"most_headers": 0}}, "fleet_invalid", "most_headers"),
        ("edge", {"name": "other", "protection": {}}, "fleet_invalid", "as in the address"),
        ("EDGE", {"protection": {}}, "fleet_invalid", "looks like policy edge"),
        ("p", {}, "fleet_invalid", "or a preset"),
        ("p", {"preset": "magic"}, "fleet_invalid", "a declared preset: "),
    ],
)
async def test_what_cannot_be_is_refused(
    house: House,
    operator: httpx.AsyncClient,
    name: str,
    document: Mapping[str, Any],
    code: str,
    words: str,
) -> None:
    await written(house, operator, "edge")
    answer = await operator.put(f"/v1/policies/{name}", json=document)
    assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert words in answer.json()["detail"]


async def test_a_preset_is_a_policy_like_others(house: House, operator: httpx.AsyncClient) -> None:
    presets = (await operator.get("/v1/policies:presets")).json()["items"]
    strict = next(one for one in presets if one["name"] == "strict_edge")
    await written(house, operator, "edge", {"preset": "strict_edge"})
    found = (await operator.get("/v1/policies/edge")).json()
    assert found["document"] == {"name": "edge", **strict["document"]}


async def decided(client: httpx.AsyncClient, **wanted: Any) -> dict[str, Any]:
    answer = await client.post("/v1/policies:decide", json={"path": "/tickets/1", **wanted})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_a_dry_run_tells_who_says_what_and_changes_nothing(
    house: House, operator: httpx.AsyncClient
) -> None:
    await written(house, operator, "edge")
    await written(house, operator, "body", {"protection": {"most_body_bytes": 10}})
    viewer = house.client(AccessRole.VIEWER)
    found = await decided(viewer, source="192.0.2.9", state={"body": {"body_bytes": 10}})
    assert (found["route"], found["service"], found["refused"]) == ("tickets-all", "tickets", "")
    assert found["decision"]["reason"] == "source_blocked"
    assert [(one["policy"], one["effect"]) for one in found["said"]] == [
        ("body", "admits"),
        ("edge", "decides"),
    ]
    found = await decided(viewer, state={"body": {"body_bytes": 11}}, gateway="edge", time=5.0)
    assert found["decision"]["details"] == {"bytes": 11, "limit": 10}
    found = await decided(viewer, path="/elsewhere")
    assert found["route"] is None
    assert [one["policy"] for one in found["said"]] == ["body"]
    found = await decided(viewer, path="/%2f")
    assert (found["decision"]["status"], found["said"]) == (400, [])
    assert "escaped slash" in found["refused"]


async def test_a_draft_is_asked_in_place_of_its_namesake_and_not_published(
    house: House, operator: httpx.AsyncClient
) -> None:
    await written(house, operator, "edge")
    draft = (
        "policies:\n"
        "- {name: edge, mode: off, protection: {}}\n"
        "- {name: new, protection: {blocked_paths: [{value: /tickets}]}}\n"
    )
    found = await decided(operator, source="192.0.2.9", policies=draft)
    assert (found["decision"]["policy"], found["decision"]["reason"]) == ("new", "path_blocked")
    assert [(one["policy"], one["effect"]) for one in found["said"]] == [
        ("edge", "off"),
        ("new", "decides"),
    ]
    found = await decided(operator, source="192.0.2.9")
    assert [one["policy"] for one in found["said"]] == ["edge"]


@pytest.mark.parametrize(
    ("draft", "code", "words"),
    [
        ("policies:\n- {name: a, protection: {most: 1}}\n", "fleet_invalid", "line 2"),
        ("policies:\n- {name: a, rate_limit: {key: [shoe]}}\n", "policy_invalid", "policy a: "),
        ("datacenters: []\n", "fleet_invalid", "policies"),
        ("", "fleet_invalid", "policies"),
        ("[", "fleet_unreadable", "line"),
    ],
)
async def test_what_is_wrong_in_a_draft_is_told_with_its_place(
    operator: httpx.AsyncClient, house: House, draft: str, code: str, words: str
) -> None:
    await house.tick()
    answer = await operator.post("/v1/policies:decide", json={"path": "/", "policies": draft})
    assert (answer.status_code, answer.json()["code"]) == (422, code), answer.text
    assert words in answer.text


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"gone": {}}, "which no policy is called"),
        ({"edge": {"bodies": 1}}, "a protection has body_bytes"),
        ({"edge": {"body_bytes": "many"}}, "body_bytes in the state of edge"),
        ({"edge": {"body_bytes": [[{"a": 10**30}]]}}, "a whole number beyond"),
    ],
)
async def test_a_state_that_no_policy_has_is_refused(
    house: House, operator: httpx.AsyncClient, state: Any, words: str
) -> None:
    await written(house, operator, "edge")
    answer = await operator.post("/v1/policies:decide", json={"path": "/tickets", "state": state})
    assert answer.json()["code"] == "policy_state_invalid"
    assert words in answer.json()["detail"]


async def test_what_a_gateway_cannot_enforce_is_a_finding_until_it_can(
    house: House, operator: httpx.AsyncClient
) -> None:
    await written(house, operator, "edge")
    gateway = house.client(AccessRole.GATEWAY)
    gateway.headers["X-Signalbox-Gateway"] = "edge-1;edge"
    section = await gateway.get("/v1/policies")
    version = section.headers["ETag"].strip('"')
    report = {"version": "0" * 64, "unreadable": [{"policy": "edge", "reason": "too old"}]}
    taken = await gateway.post("/v1/policies:report", json=report)
    assert taken.json() == {"version": version}
    (finding,) = house.instruments.findings.standing()
    assert finding.observation.subject == "policy/edge gateway/edge-1"
    assert "too old" in finding.observation.message
    (told,) = (await operator.get("/v1/policies:reports")).json()["items"]
    assert (told["gateway"], told["group"], told["up_to_date"]) == ("edge-1", "edge", False)
    assert told["unreadable"] == {"edge": "too old"}
    assert (await gateway.post("/v1/policies:report", json={"version": version})).is_success
    assert house.instruments.findings.standing() == []
    (told,) = (await operator.get("/v1/policies:reports")).json()["items"]
    assert told["up_to_date"] is True
    await gateway.post("/v1/policies:report", json=report)
    house.clock.time_s += KEPT_S + 1
    assert (await operator.get("/v1/policies:reports")).json()["items"] == []
    assert house.instruments.findings.standing() == []


async def test_a_report_needs_a_name_and_the_token_of_a_gateway(
    house: House, operator: httpx.AsyncClient
) -> None:
    report = {"version": "0" * 64}
    nameless = await house.client(AccessRole.GATEWAY).post("/v1/policies:report", json=report)
    assert nameless.json()["code"] == "gateway_identity_invalid"
    operator.headers["X-Signalbox-Gateway"] = "edge-1;edge"
    assert (await operator.post("/v1/policies:report", json=report)).status_code == 403


async def test_metrics_count_policies_by_kind_and_mode(
    house: House, operator: httpx.AsyncClient
) -> None:
    await written(house, operator, "edge", {**BLOCKING, "mode": "observe"})
    gateway = house.client(AccessRole.GATEWAY)
    gateway.headers["X-Signalbox-Gateway"] = "edge-1;edge"
    report = {"version": "0" * 64, "unreadable": [{"policy": "edge", "reason": "too old"}]}
    await gateway.post("/v1/policies:report", json=report)
    text = (await operator.get("/metrics")).text
    assert 'signalbox_policies{kind="protection",mode="observe"} 1.0' in text
    assert 'signalbox_policy_gateways{up_to_date="no"} 1.0' in text
    assert "signalbox_policies_not_enforced 1.0" in text
