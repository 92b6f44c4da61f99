"""A service with a split for each source region, from samples to weights and back."""

from dataclasses import replace

import pytest

from controlplane.domain.decisions import Trigger
from controlplane.domain.guardrails.state import Outcome
from controlplane.domain.services import StrategyName
from controlplane.domain.topology import Pool
from controlplane.engine.deciding.explanation import Part, explain
from controlplane.engine.deciding.replay import Origin, Replays
from tests.domain.three_regions import sample
from tests.engine.regional_site import FULL_RPS, REGIONS, regional_fleet
from tests.engine.rig import Rig


def published(rig: Rig) -> dict[str, dict[str, int]]:
    assert rig.publication.current is not None
    sets = rig.publication.current.content.weights.weights
    return {one.source_region: dict(one.weights) for one in sets if one.service == "stations"}


async def pass_time(rig: Rig, minutes: int, north: float, south: float) -> None:
    """Minutes of traffic from each region, and a decision each five."""
    for minute in range(1, minutes + 1):
        rig.clock.time_s += 60.0
        weights = published(rig)
        rates = {
            name: sum(
                sent * weights[region][name] / 10_000
                for region, sent in (("north", north), ("south", south))
            )
            for name in ("dc-north", "dc-south")
        }
        samples = [
            replace(
                sample(name, rig.clock.time_s, rate + 0.1 * (minute % 3), rate / FULL_RPS),
                response_time_ms=20.0 + minute % 5,
            )
            for name, rate in rates.items()
        ]
        receipt = await rig.intake.accept(samples)
        assert receipt.accepted == 2, receipt
        if minute % 5 == 0:
            await rig.intake.flush()
            await rig.tick()


async def hot() -> Rig:
    rig = Rig()
    await rig.declare(regional_fleet())
    await pass_time(rig, 5, 60.0, 40.0)
    await pass_time(rig, 10, 100.0, 40.0)
    return rig


async def test_a_new_service_begins_at_home() -> None:
    rig = Rig()
    await rig.declare(regional_fleet())
    assert published(rig) == {
        "*": {"dc-north": 5000, "dc-south": 5000},
        "north": {"dc-north": 10_000, "dc-south": 0},
        "south": {"dc-north": 0, "dc-south": 10_000},
    }


async def test_only_the_hot_region_moves_and_the_decision_says_how() -> None:
    rig = await hot()
    weights = published(rig)
    assert weights["north"] == {"dc-north": 8_500, "dc-south": 1_500}
    assert weights["south"] == {"dc-north": 0, "dc-south": 10_000}
    assert rig.findings.standing() == []
    decisions = await rig.stores.decisions.recent("stations", 10)
    moved = next(one for one in decisions if one.outcome is Outcome.MOVED)
    north = moved.regions[0]
    assert (north.region, north.home, north.applied) == ("north", (1.0, 0.0), (1.0, 0.0))
    assert north.decided == pytest.approx((0.85, 0.15))
    assert north.weight == pytest.approx(100 / 140, abs=0.01)
    assert moved.decided == pytest.approx((85 / 140, 55 / 140), abs=0.01)


async def test_decisions_by_region_are_made_again_and_told() -> None:
    rig = await hot()
    stores = rig.stores
    replays = Replays(stores.fleets, stores.models)
    for decision in await stores.decisions.recent("stations", 10):
        for origin in Origin:
            again = await replays.again(decision, origin)
            assert again.identical, (decision.id, origin, again.difference)
        steps = [step for step in explain(again) if step.part is Part.REGION]
        assert [step.name for step in steps] == ["north", "south", "*"]
        if decision.outcome is Outcome.MOVED:
            assert "goes from 1.000/0.000 to 0.850/0.150" in steps[0].says
            north = replace(decision.regions[0], decided=(0.8, 0.2))
            other = replace(decision, regions=(north, *decision.regions[1:]))
            assert not (await replays.again(other)).agrees


async def test_a_critical_sample_starts_a_cycle() -> None:
    rig = Rig()
    await rig.declare(regional_fleet())
    await rig.intake.accept([sample("dc-north", rig.clock.time_s, 90.0, 0.9)])
    (poke,) = await rig.pokes.take()
    assert (poke.trigger, poke.services) == (Trigger.ALARM, frozenset({"stations"}))


async def test_the_splits_stay_over_a_restart_and_over_what_is_no_cycle() -> None:
    rig = await hot()
    before = published(rig)
    again = await rig.restart()
    await again.tick(Trigger.OPERATOR)
    assert published(again) == before
    assert again.revision == rig.revision


async def test_a_service_that_becomes_regional_starts_from_what_is_in_force() -> None:
    rig = Rig()
    await rig.declare(regional_fleet(StrategyName.STATIC))
    before = published(rig)["*"]
    await rig.declare(regional_fleet())
    assert published(rig) == {"*": before, "north": before, "south": before}
    await pass_time(rig, 15, 60.0, 40.0)
    weights = published(rig)
    assert weights["north"]["dc-north"] > before["dc-north"]
    assert weights["south"]["dc-south"] > before["dc-south"]
    # And back: one split for all, near to what the regions had together.
    await rig.declare(regional_fleet(StrategyName.STATIC))
    assert list(published(rig)) == ["*"]


async def test_a_region_whose_center_loses_its_endpoints_goes_to_the_others_at_once() -> None:
    rig = await hot()
    fleet = regional_fleet()
    (service,) = fleet.services
    north, south = service.clusters
    dead = replace(service, clusters=(replace(north, endpoints=()), south))
    await rig.declare(replace(fleet, services=(dead,)))
    assert {region: one["dc-south"] for region, one in published(rig).items()} == {
        "*": 10_000,
        "north": 10_000,
        "south": 10_000,
    }


async def test_what_keeps_a_service_from_its_rule_is_a_finding_until_it_is_over() -> None:
    rig = await hot()

    def standing() -> list[str]:
        return [one.observation.code for one in rig.findings.standing()]

    await pass_time(rig, 15, 130.0, 90.0)
    assert standing() == ["regional_no_room"]
    # Nobody decided, so it stands.
    await rig.tick(services=frozenset())
    assert standing() == ["regional_no_room"]
    rig.clock.time_s += 60.0
    partly = [
        replace(sample(f"dc-{name}", rig.clock.time_s, 90.0, 0.9), pool_use=None)
        for name in REGIONS
    ]
    await rig.intake.accept(partly)
    await rig.tick()
    assert standing() == ["regional_load_missing"]
    await pass_time(rig, 30, 50.0, 40.0)
    assert standing() == []


async def test_regional_services_share_pools_with_others() -> None:
    fleet = regional_fleet()
    (service,) = fleet.services
    pools = tuple(
        Pool(name=f"{name}-web", datacenter=f"dc-{name}", capacity_rps=2 * FULL_RPS)
        for name in REGIONS
    )
    pooled = replace(
        service,
        clusters=tuple(
            replace(one, capacity_rps=0.0, servers=None, pool=pool.name)
            for one, pool in zip(service.clusters, pools, strict=True)
        ),
    )
    rig = Rig()
    await rig.declare(replace(fleet, services=(pooled,), pools=pools))
    await pass_time(rig, 5, 60.0, 40.0)
    await pass_time(rig, 10, 100.0, 40.0)
    assert published(rig)["north"] == {"dc-north": 8_500, "dc-south": 1_500}
    assert rig.findings.standing() == []


async def test_a_region_that_falls_silent_holds_its_splits_and_is_a_finding() -> None:
    rig = await hot()
    before = published(rig)
    rig.clock.time_s += 1_200.0
    one = replace(sample("dc-south", rig.clock.time_s, 55.0, 0.55), response_time_ms=30.0)
    await rig.intake.accept([one])
    await rig.tick()
    await rig.intake.suspicions.look(rig.intake.window)
    assert published(rig) == before
    (finding,) = rig.findings.standing()
    assert finding.observation.code == "metrics_stopped"
    assert finding.observation.subject == "service/stations datacenter/dc-north"
