"""Four data centres and shared pools through the real service at a small time scale."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable
from itertools import groupby, pairwise
from pathlib import Path

import httpx
import pytest

from tests.acceptance.four_centers import (
    ACTIVE,
    CAPACITIES,
    CENTERS,
    World,
    datacenters,
    endpoints,
)
from tests.acceptance.served import site_in

Record = Callable[[str, object], None]

TIME_SCALE = 1 / 300
PERIOD_S = 60.0 * TIME_SCALE
CYCLE_S = 300.0 * TIME_SCALE
LEVEL, HOT = 0.85, 0.88
# What the noise of the readings may hide.
HIDDEN = 0.02


@contextlib.asynccontextmanager
async def served(
    folder: Path, fleet: dict[str, object], loads: dict[str, float], costs: dict[str, float]
) -> AsyncIterator[World]:
    """The service with a fleet, and a world that lives beside it."""
    site = site_in(folder)
    async with site.serving(time_scale=str(TIME_SCALE)), site.api() as api:
        await site.apply(api, fleet)
        world = World(api=api, loads=loads, costs=costs, period_s=PERIOD_S)
        living = asyncio.create_task(world.live())
        try:
            yield world
        finally:
            living.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await living
        assert world.failures == []
        # Reserves that come and go are nothing suspicious. At this scale 0.4 s without a sample
        # are silence, which a busy machine may need.
        answer = await api.get("/v1/findings", params={"state": "all", "source": "metrics"})
        doubts = [one for one in answer.json()["items"] if one["code"] != "metrics_stopped"]
        assert doubts == []


async def until(holds: Callable[[], bool], what: str, seconds: float) -> float:
    """Wait for the world; how long it took."""
    clock = asyncio.get_running_loop().time
    began_s = clock()
    while not holds():
        if clock() - began_s > seconds:
            pytest.fail(f"not within {seconds:g} s: {what}")
        await asyncio.sleep(PERIOD_S / 2)
    return clock() - began_s


def serving(world: World, service: str = "tickets") -> tuple[str, ...]:
    """Centres with a share, in order."""
    shares = world.weights.get(service, {})
    return tuple(center for center in CENTERS if shares.get(center, 0.0) > 0)


async def test_idle_centers_join_in_order_and_leave_again(
    tmp_path: Path, record_property: Record
) -> None:
    """4. Four centres: the idle ones stand at 0, join in order when hot, and leave again."""
    fleet: dict[str, object] = {
        "datacenters": datacenters(),
        "services": [
            {
                "name": "tickets",
                "clusters": [
                    {
                        "datacenter": name,
                        "capacity_rps": CAPACITIES[name],
                        "servers": 8,
                        "endpoints": endpoints(),
                    }
                    for name in CENTERS
                ],
            }
        ],
    }
    async with served(tmp_path, fleet, {"tickets": ACTIVE}, {}) as world:
        await world.stay(0.86, 4 * CYCLE_S)
        assert serving(world) == ("east", "west")
        world.factor = 1.05
        joined_s = await until(lambda: len(serving(world)) == 3, "north joins", 20.0)
        assert serving(world) == ("east", "west", "north")
        await until(lambda: _peak(world) < HOT, "nobody is hot with three", 20.0)
        await world.stay(1.25, 0.0)
        await until(lambda: len(serving(world)) == 4, "the cloud joins", 20.0)
        await until(lambda: _peak(world) < HOT, "nobody is hot with four", 20.0)
        await world.stay(0.60, 0.0)
        left_s = await until(lambda: len(serving(world)) == 2, "both leave", 60.0)
        assert serving(world) == ("east", "west")
        record_property("cycles_from_hot_to_joined", round(joined_s / CYCLE_S, 2))
        record_property("cycles_until_both_left", round(left_s / CYCLE_S, 1))
        await _same_again(world.api, record_property)
    who = [tuple(c for c in CENTERS if p.weights["tickets"].get(c, 0.0) > 0) for p in world.history]
    changes = [centers for centers, _ in groupby(who)]
    assert changes == [CENTERS[:2], CENTERS[:3], CENTERS, CENTERS[:3], CENTERS[:2]]


async def _same_again(api: httpx.AsyncClient, record_property: Record) -> None:
    """Each decision of four centres is made again bit for bit."""
    decisions = (await api.get("/v1/decisions", params={"limit": 1000})).json()["items"]
    ids = [one["id"] for one in decisions][:40]
    answers = [(await api.get(f"/v1/decisions/{each}/replay")).json() for each in ids]
    same = sum(answer["identical"] for answer in answers)
    record_property("decisions_replayed_identically", f"{same} of {len(ids)}")
    assert same == len(ids), [a for a in answers if not a["identical"]][:1]


def _peak(world: World) -> float:
    return max(world.now().values())


def crowd(count: int) -> tuple[dict[str, object], dict[str, float], dict[str, float]]:
    """Many services on one pool per centre: fleet, loads and costs."""
    rng = random.Random(4)
    names = [f"service-{index:02}" for index in range(count)]
    costs = {name: rng.choice([0.5, 1.0, 2.0]) for name in names}
    parts = {name: rng.uniform(0.2, 2.0) for name in names}
    total = sum(parts.values())
    loads = {name: parts[name] / total * ACTIVE / costs[name] for name in names}
    strategies = ("hybrid", "cpu_equalizer", "threshold")
    classes = ("critical", "standard", "best-effort")
    fleet: dict[str, object] = {
        "datacenters": datacenters(),
        "pools": [
            {"name": f"{name}-web", "datacenter": name, "capacity_rps": CAPACITIES[name]}
            for name in CENTERS
        ],
        "services": [
            {
                "name": name,
                "strategy": strategies[index % 3],
                "class_of_service": classes[index // 3 % 3],
                "clusters": [
                    {
                        "datacenter": center,
                        "pool": f"{center}-web",
                        "cost": costs[name],
                        "endpoints": endpoints(),
                    }
                    for center in CENTERS
                ],
            }
            for index, name in enumerate(names)
        ],
    }
    return fleet, loads, costs


async def test_fifty_services_never_overfill_a_pool_together(
    tmp_path: Path, record_property: Record
) -> None:
    """4. 50 services on shared pools never overfill one together."""
    fleet, loads, costs = crowd(50)
    async with served(tmp_path, fleet, loads, costs) as world:
        # Load, and other work on the pools of east and west that drives everybody away.
        for factor, east, west in (
            (0.6, 0.0, 0.0),
            (0.65, 0.3, 0.0),
            (0.65, 0.0, 0.3),
            (0.8, 0.15, 0.0),
            (1.1, 0.0, 0.1),
            (0.65, 0.0, 0.0),
        ):
            world.batch = {"east": east, "west": west, "north": 0.0, "cloud": 0.0}
            await world.stay(factor, 4 * CYCLE_S)
            await until(lambda: _peak(world) <= HOT, f"nobody is hot at {factor}", 20.0)
    highest = 0.0
    for before, after in pairwise(world.history):
        earlier = world.utilizations(before.weights, after.factor, after.batch)
        use = world.utilizations(after.weights, after.factor, after.batch)
        filled = [use[center] for center in CENTERS if use[center] > earlier[center] + 0.002]
        highest = max(highest, *filled, 0.0)
        for center in CENTERS:
            assert use[center] <= max(LEVEL, earlier[center]) + HIDDEN, (center, earlier, use)
    record_property("highest_summed_utilization_of_a_pool_that_moves_filled", round(highest, 3))
    record_property("published_splits", len(world.history))
    assert len(world.history) > 10
    assert highest > 0.7
