"""Issue 4, line 6: promote and roll back, on a running control plane in scaled time."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from models import storage
from models.artifact import LawRecord, ModelArtifact
from tests.model_artifacts import LAW, artifact
from tests.soak.player import SERVICE, Player, fleet
from tests.soak.server import Server, serving
from training.simulation import weather
from training.simulation.world import load_world

T = TypeVar("T")

SCALE = 1 / 150
CYCLE_S = 300.0 * SCALE
# As the story of `make soak`: what is fresh for two minutes is fresh for less than a pause here.
SETTINGS = {
    "time_scale": SCALE,
    "envoy_preflight": "off",
    "retraining_mode": "manual",
    "envelope": {"fresh_s": 600.0, "ramp_after_s": 3_000.0},
}
DEADLINE_S = 40.0


def version(seed: int, secondary: LawRecord) -> ModelArtifact:
    """Laws alone, so that what it proposes follows from them."""
    return replace(artifact(SERVICE, seed), primary=LAW, secondary=secondary, residuals=())


async def found(ask: Callable[[], Awaitable[T | None]]) -> T:
    async with asyncio.timeout(DEADLINE_S):
        while (answer := await ask()) is None:
            await asyncio.sleep(0.05)
        return answer


async def first_decision(server: Server, digest: str, after: str) -> dict:
    """The first decision with this model after a time."""

    async def ask() -> dict | None:
        decisions = await server.items("/v1/decisions", service=SERVICE, limit=20)
        later = [d for d in decisions if d["time"] > after and d["model"] == digest]
        return later[-1] if later else None

    return await found(ask)


async def newest_step(server: Server) -> dict:
    return (await server.items(f"/v1/services/{SERVICE}/promotions", limit=1))[0]


def best_ratio(decision: dict) -> float:
    """Where its model sees the smallest response time."""
    return float(min(decision["curve"], key=lambda point: point["response_time_ms"])["ratio"])


def seconds(earlier: str, later: str) -> float:
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


async def test_promote_and_roll_back_change_what_is_served(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Promote and roll back change what is served within one cycle and are in the promotion log."""
    place = load_world("W1")
    # The second one takes the secondary for three times as slow, and wants less of it.
    versions = [version(1, LAW), version(2, replace(LAW, base_ms=LAW.base_ms * 3))]
    async with serving(tmp_path, SETTINGS) as server:
        (await server.http.put("/v1/fleet", json=fleet(place))).raise_for_status()
        digests = []
        for one in versions:
            answer = await server.http.post("/v1/models", content=storage.to_bytes(one))
            digests.append(answer.raise_for_status().json()["digest"])
        player = Player(
            server=server,
            world=place,
            weather=weather.draw(place, 2_000, 3),
            minute_s=60 * SCALE,
            # At night, when no centre is full and the time without load decides.
            first_minute=180,
        )
        async with player.playing():
            await player.until(10)
            steps: list[dict] = []
            decisions: list[dict] = []
            for act, digest in (("promote", digests[0]), ("promote", digests[1]), ("rollback", "")):
                reason = f"test of {act}"
                if act == "promote":
                    url, body = f"/v1/models/{digest}:promote", {"service": SERVICE}
                else:
                    url, body = f"/v1/services/{SERVICE}/models:rollback", {}
                answer = await server.http.post(url, json={**body, "reason": reason})
                served = answer.raise_for_status().json()["digest"]
                step = await newest_step(server)
                assert (step["model"], step["reason"]) == (served, reason)
                steps.append(step)
                decision = await first_decision(server, served, step["time"])
                decisions.append(await server.get(f"/v1/decisions/{decision['id']}"))
    events = [(step["event"], step["model"]) for step in steps]
    first, second = digests
    assert events == [("promoted", first), ("promoted", second), ("rolled-back", first)]
    # The first start's admin.
    assert {step["author"] for step in steps} != {""}
    waits = [
        seconds(step["time"], decision["time"])
        for step, decision in zip(steps, decisions, strict=True)
    ]
    record_property("cycles_to_effect_worst", round(max(waits) / CYCLE_S, 2))
    assert max(waits) <= CYCLE_S * 1.1
    wanted = [best_ratio(decision) for decision in decisions]
    assert wanted[1] > max(wanted[0], wanted[2]) + 0.1
