"""GET /v1/decisions/{id}/replay and /explanation."""

import httpx
import pytest

from tests import builders
from tests.api.house import House


@pytest.fixture
async def decision(house: House, admin: httpx.AsyncClient) -> str:
    await house.declare()
    await house.intake.accept(
        [builders.sample(center, house.clock.now()) for center in ("beijing-1", "beijing-2")]
    )
    await house.tick()
    (newest,) = (await admin.get("/v1/decisions")).json()["items"]
    return f"/v1/decisions/{newest['id']}"


async def test_a_decision_is_replayed(decision: str, admin: httpx.AsyncClient) -> None:
    whole = (await admin.get(decision)).json()
    for origin in ("strategy", "record"):
        again = (await admin.get(f"{decision}/replay?origin={origin}")).json()
        assert (again["identical"], again["agrees"], again["difference"]) == (True, True, 0)
        assert (again["origin"], again["reason"]) == (origin, "")
        assert again["decided"] == whole["decided"]
    response = await admin.get(f"{decision}x/replay")
    assert (response.status_code, response.json()["code"]) == (404, "decision_not_found")


async def test_a_decision_is_explained(decision: str, admin: httpx.AsyncClient) -> None:
    explanation = (await admin.get(f"{decision}/explanation")).json()
    parts = [step["part"] for step in explanation["steps"]]
    assert parts[:3] == ["facts", "facts", "strategy"]
    assert parts[-1] == "result"
    assert explanation["replay"]["identical"] is True
    assert sum(explanation["steps"][-1]["shares"].values()) == pytest.approx(1.0)


async def test_the_newest_decision_is_read_while_the_store_does_not_have_it(
    decision: str, house: House, admin: httpx.AsyncClient
) -> None:
    house.decisions.decisions.clear()
    assert (await admin.get(decision)).status_code == 200
    assert (await admin.get(f"{decision}/replay")).json()["identical"] is True
