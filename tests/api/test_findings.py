"""GET /v1/findings, and docs/findings.md against the source."""

import ast
import re
from pathlib import Path

import httpx

from controlplane.domain.findings import Observation, Source
from tests.api.house import House

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| `(\w+)` \| ", re.MULTILINE)

BAD_ROUTE = Observation(
    code="resource_refused", subject="route/r7", message="bad regex", held="the route", force=""
)
FROZEN = Observation(
    code="metrics_frozen", subject="service/shop datacenter/east", message="the same for 5 periods"
)


async def test_findings_are_listed_by_state_source_and_subject(
    house: House, admin: httpx.AsyncClient
) -> None:
    findings = house.instruments.findings
    findings.report(Source.DATA_PLANE, [BAD_ROUTE])
    findings.report(Source.METRICS, [FROZEN])
    (first, second) = (await admin.get("/v1/findings")).json()["items"]
    assert (first["subject"], first["code"], first["held"]) == (
        "route/r7",
        "resource_refused",
        "the route",
    )
    assert (first["standing"], first["cleared"], first["severity"]) == (True, None, "warning")
    assert (await admin.get(f"/v1/findings/{first['id']}")).json() == first
    by_subject = (await admin.get("/v1/findings?subject=service/shop")).json()["items"]
    assert by_subject == [second]
    assert (await admin.get("/v1/findings?source=data-plane")).json()["items"] == [first]
    house.clock.time_s += 60
    findings.report(Source.METRICS, [])
    assert (await admin.get("/v1/findings")).json()["items"] == [first]
    (over,) = (await admin.get("/v1/findings?state=cleared")).json()["items"]
    assert (over["id"], over["standing"]) == (second["id"], False)
    assert over["cleared"] is not None
    both = (await admin.get("/v1/findings?state=all")).json()["items"]
    assert [one["id"] for one in both] == [first["id"], second["id"]]
    response = await admin.get("/v1/findings/0000")
    assert (response.status_code, response.json()["code"]) == (404, "finding_not_found")


async def test_findings_are_counted(house: House, admin: httpx.AsyncClient) -> None:
    house.instruments.findings.report(Source.METRICS, [FROZEN])
    text = (await admin.get("/metrics")).text
    assert 'signalbox_findings{severity="warning",source="metrics"} 1.0' in text
    assert 'signalbox_findings{severity="critical",source="metrics"} 0.0' in text
    assert 'signalbox_findings_appeared_total{source="metrics"} 1.0' in text


def test_every_code_of_a_finding_is_documented_and_every_documented_one_exists() -> None:
    documented = set(ROW.findall((ROOT / "docs" / "findings.md").read_text(encoding="utf-8")))
    literals: set[str] = set()
    observed: set[str] = set()
    for path in sorted((ROOT / "controlplane").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                literals.add(node.value)
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Observation":
                observed |= _codes(node)
    assert observed - documented == set()
    assert documented - literals == set()


def _codes(call: ast.Call) -> set[str]:
    values = [keyword.value for keyword in call.keywords if keyword.arg == "code"]
    return {
        value.value
        for value in values
        if isinstance(value, ast.Constant) and isinstance(value.value, str)
    }
