"""Explanations take turns."""

import asyncio
import time

import httpx
import pytest

from controlplane.api.resources import route_match
from tests.api.house import House
from tests.api.test_fleet import EXAMPLE


async def test_questions_that_come_at_once_are_answered_one_by_one(
    house: House, admin: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their threads are those that publish, too."""
    assert (await admin.put("/v1/fleet", content=EXAMPLE)).is_success
    await house.tick()
    asked, most = [0], [0]
    explain = route_match.explained

    def slow(*arguments: object) -> object:
        asked[0] += 1
        most[0] = max(most[0], asked[0])
        time.sleep(0.01)
        found = explain(*arguments)  # type: ignore[arg-type]
        asked[0] -= 1
        return found

    monkeypatch.setattr(route_match, "explained", slow)
    questions = (admin.post("/v1/routes:match", json={"path": "/"}) for _ in range(6))
    answers = await asyncio.gather(*questions)
    assert {answer.status_code for answer in answers} == {httpx.codes.OK}
    assert most == [1]
