from importlib.resources import files

import httpx
import pytest

from controlplane.api.fleet_document.parsing import parse
from controlplane.domain.access import AccessRole
from tests.api.house import House

EXAMPLE = files("data").joinpath("fleets", "two-centers.yaml").read_text()
YAML = {"Content-Type": "application/yaml"}


async def test_a_dry_run_tells_the_difference_and_changes_nothing(
    house: House, admin: httpx.AsyncClient
) -> None:
    response = await admin.put("/v1/fleet?dry_run=true", content=EXAMPLE, headers=YAML)
    content = response.json()
    assert (content["generation"], content["dry_run"]) == (1, True)
    assert {(c["kind"], c["subject"]) for c in content["changes"]} >= {
        ("add", "service/tickets"),
        ("add", "datacenter/dc-east"),
    }
    assert house.fleets.current.generation == 0


@pytest.mark.parametrize("accept", ["application/yaml", "application/json"])
async def test_what_is_read_can_be_changed_and_put_back(
    house: House, admin: httpx.AsyncClient, accept: str
) -> None:
    put = await admin.put("/v1/fleet?reason=first", content=EXAMPLE, headers=YAML)
    assert put.headers["etag"] == '"1"'
    got = await admin.get("/v1/fleet", headers={"Accept": accept})
    assert got.headers["content-type"].startswith(accept)
    assert parse(got.text) == parse(EXAMPLE)
    again = await admin.put(
        "/v1/fleet", content=got.text, headers={"If-Match": got.headers["etag"]}
    )
    assert again.json() == {
        "generation": 1,
        "dry_run": False,
        "objection": "",
        "changes": [],
        "held": [],
    }
    headers = {"Accept": accept, "If-None-Match": got.headers["etag"]}
    assert (await admin.get("/v1/fleet", headers=headers)).status_code == 304
    assert house.audit.entries[-1].reason == "first"


async def test_a_lost_update_is_a_failed_precondition(admin: httpx.AsyncClient) -> None:
    await admin.put("/v1/fleet", content=EXAMPLE)
    changed = EXAMPLE.replace("alarm_cpu: 0.80", "alarm_cpu: 0.70")
    response = await admin.put("/v1/fleet", content=changed, headers={"If-Match": '"0"'})
    assert (response.status_code, response.json()["code"]) == (412, "fleet_changed")
    dry = await admin.put("/v1/fleet?dry_run=true", content=changed, headers={"If-Match": '"0"'})
    assert (dry.status_code, dry.json()["code"]) == (412, "fleet_changed")
    response = await admin.put("/v1/fleet", content=changed, headers={"If-Match": "abc"})
    assert (response.status_code, response.json()["code"]) == (422, "if_match_invalid")
    response = await admin.put("/v1/fleet", content=changed, headers={"If-Match": "*"})
    assert response.json()["generation"] == 2


async def test_removing_much_is_refused_unless_forced(
    house: House, admin: httpx.AsyncClient
) -> None:
    await admin.put("/v1/fleet", content=EXAMPLE)
    less = EXAMPLE.partition("routes:")[0]
    dry = (await admin.put("/v1/fleet?dry_run=true", content=less)).json()
    assert "force it" in dry["objection"]
    assert house.instruments.findings.standing() == []
    response = await admin.put("/v1/fleet", content=less)
    assert (response.status_code, response.json()["code"]) == (403, "mass_removal")
    assert response.json()["details"]["limit"] == 0.3
    assert (await admin.put("/v1/fleet?force=true", content=less)).status_code == 200
    assert house.audit.entries[-1].action == "fleet.force_apply"


async def test_every_error_of_a_document_is_in_the_problem(admin: httpx.AsyncClient) -> None:
    bad = EXAMPLE.replace("port: 9101", "port: 0").replace("role: primary", "role: first")
    response = await admin.put("/v1/fleet", content=bad)
    content = response.json()
    assert (response.status_code, content["code"]) == (422, "fleet_invalid")
    assert [error["path"] for error in content["errors"]] == [
        "datacenters[0].role",
        "services[0].clusters[0].endpoints[0].port",
    ]
    assert content["errors"][0]["pointer"] == "/datacenters/0/role"
    assert all(error["line"] > 1 and error["column"] > 1 for error in content["errors"])
    assert content["details"]["count"] == 2


async def test_bytes_that_are_no_text_are_refused(admin: httpx.AsyncClient) -> None:
    response = await admin.put("/v1/fleet", content=b"\xff\xfe")
    assert (response.status_code, response.json()["code"]) == (422, "fleet_unreadable")


async def test_a_large_fleet_is_read_outside_the_event_loop(admin: httpx.AsyncClient) -> None:
    routes = "".join(
        f"\n  - {{id: r{index}, service: tickets, path: {{value: /p/{index}}}}}"
        for index in range(2000)
    )
    response = await admin.put("/v1/fleet", content=EXAMPLE + routes)
    assert response.status_code == 200


async def test_an_operator_applies_and_is_the_author(house: House) -> None:
    async with house.client(AccessRole.OPERATOR) as client:
        assert (await client.put("/v1/fleet", content=EXAMPLE)).status_code == 200
    assert house.audit.entries[-1].author == "the-operator"
