"""Reports over HTTP: JSON and pages of one model and of two, the card."""

import dataclasses
import json
import re

import httpx
import pytest

from controlplane.api.resources.reports import PAGE_POLICY
from controlplane.domain.strategies.situation import CurvePoint
from models.artifact import canonical
from models.reports.sheet import sheet
from tests import builders
from tests.api.house import House
from tests.model_artifacts import artifact
from tests.model_reports import report


@pytest.fixture
async def digests(house: House, admin: httpx.AsyncClient) -> list[str]:
    """Two registered models with reports."""
    await house.declare()
    found = []
    for seed in (1, 2):
        answer = await admin.post("/v1/models", content=f"tickets:m{seed}".encode())
        digest = answer.json()["digest"]
        model = artifact(seed=seed)
        measured = dataclasses.replace(report(model), model=digest)
        shown = sheet(model, measured)
        shown["model"]["digest"] = digest
        house.sheets.sheets[digest] = canonical(shown).decode()
        found.append(digest)
    return found


async def test_a_report_is_json_or_a_page(digests: list[str], admin: httpx.AsyncClient) -> None:
    path = f"/v1/models/{digests[1]}/report"
    answer = await admin.get(path)
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["vary"] == "Accept"
    (one,) = answer.json()["models"]
    assert one["aliases"] == ["challenger", "shadow"]
    assert one["report"]["predictors"][0]["name"] == "hybrid"
    assert "decision" not in answer.json()
    page = await admin.get(path, headers={"Accept": "text/html,*/*"})
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-security-policy"] == PAGE_POLICY
    content = re.search(r'<script id="content"[^>]*>(.*?)</script>', page.text, re.DOTALL)
    assert content is not None
    assert json.loads(content.group(1)) == answer.json()
    asked = await admin.get(f"{path}?format=json", headers={"Accept": "text/html"})
    assert asked.json() == answer.json()
    assert (await admin.get(f"{path}?format=html")).text == page.text


async def test_a_card_is_markdown_or_json(digests: list[str], admin: httpx.AsyncClient) -> None:
    path = f"/v1/models/{digests[0]}/card"
    text = await admin.get(path)
    assert text.headers["content-type"] == "text/markdown; charset=utf-8"
    assert text.text.startswith("# Model card: tickets")
    sections = (await admin.get(path, headers={"Accept": "application/json"})).json()["sections"]
    assert sections[0]["title"] == "Purpose"


async def test_two_models_are_compared(digests: list[str], admin: httpx.AsyncClient) -> None:
    path = f"/v1/models/{digests[0]}/compare/{digests[1]}"
    content = (await admin.get(path)).json()
    assert [one["model"]["digest"] for one in content["models"]] == digests
    seed = next(one for one in content["differences"] if one["name"] == "seed")
    assert (seed["group"], seed["before"], seed["after"]) == ("provenance", 1, 2)
    page = await admin.get(path, headers={"Accept": "text/html"})
    assert f"<title>tickets {digests[0][:12]} - {digests[1][:12]}</title>" in page.text


async def test_the_champion_has_its_newest_decision(
    house: House, digests: list[str], admin: httpx.AsyncClient
) -> None:
    await admin.post(f"/v1/models/{digests[0]}:promote", json={"service": "tickets"})
    now_s = house.clock.now()
    await house.intake.accept([builders.sample(c, now_s) for c in ("beijing-1", "beijing-2")])
    await house.tick()
    decided = house.loop.decisions["tickets"]
    by_model = dataclasses.replace(
        decided,
        model=digests[0],
        curve=(
            CurvePoint(ratio=0.5, response_time_ms=40.0),
            CurvePoint(ratio=0.6, response_time_ms=35.0),
            CurvePoint(ratio=0.7, response_time_ms=float("inf")),
        ),
    )
    house.loop.decisions["tickets"] = by_model  # type: ignore[index]
    made = (await admin.get(f"/v1/models/{digests[0]}/report")).json()["decision"]
    assert made["applied"] == decided.applied[0]
    assert [point["ratio"] for point in made["curve"]] == [0.5, 0.6]
    assert {"low_ms", "high_ms"} <= made["curve"][0].keys()
    assert made["support"] == list(decided.support)
    house.loop.decisions["tickets"] = dataclasses.replace(by_model, curve=())  # type: ignore[index]
    assert (await admin.get(f"/v1/models/{digests[0]}/report")).json()["decision"] is None
    assert "decision" not in (await admin.get(f"/v1/models/{digests[1]}/report")).json()


@pytest.mark.parametrize("kind", ["report", "card", "compare/none"])
async def test_an_unknown_model_is_told(house: House, admin: httpx.AsyncClient, kind: str) -> None:
    answer = await admin.get(f"/v1/models/none/{kind}")
    assert (answer.status_code, answer.json()["code"]) == (404, "model_not_found")


async def test_damaged_files_are_told(house: House, admin: httpx.AsyncClient) -> None:
    digest = (await admin.post("/v1/models", content=b"tickets:m1")).json()["digest"]
    answer = await admin.get(f"/v1/models/{digest}/report")
    assert (answer.status_code, answer.json()["code"]) == (422, "model_damaged")
