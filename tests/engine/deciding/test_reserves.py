"""A reserve on its way through the engine: it joins unheard, and then has to report."""

from dataclasses import replace

from controlplane.domain.services import Service, StrategyName
from controlplane.domain.topology import Datacenter, Role
from tests.builders import cluster, fleet, sample, service
from tests.engine.rig import Rig

EAST, WEST, NORTH = "beijing-1", "beijing-2", "tianjin"
PERIOD_S = 60.0


def tickets() -> Service:
    one = service(strategy=StrategyName.CPU_EQUALIZER)
    return replace(one, clusters=(*one.clusters, cluster(NORTH, 60.0, range(9201, 9205))))


async def site(busy: float = 0.9) -> Rig:
    """Two active data centres, as busy, and one for disaster recovery that stands at 0."""
    rig = Rig()
    declared = fleet(tickets())
    reserve = Datacenter(name=NORTH, role=Role.DISASTER_RECOVERY, region="north")
    await rig.declare(replace(declared, datacenters=(*declared.datacenters, reserve)))
    assert rig.weights()[NORTH] == 0
    for number in range(8):
        rig.clock.time_s += PERIOD_S
        await report(rig, number, busy)
    return rig


async def report(rig: Rig, number: int, busy: float = 0.9, *more: str) -> None:
    rates = {EAST: 80.0 * busy, WEST: 50.0 * busy, NORTH: 9.0}
    await rig.intake.accept(
        [
            sample(
                name,
                rig.clock.time_s,
                request_rate_rps=rates[name] * (1 + number % 3 / 100),
                cpu_avg=busy + number % 3 / 100 if name != NORTH else 0.15,
            )
            for name in (EAST, WEST, *more)
        ]
    )


def subjects(rig: Rig) -> set[str]:
    return {one.observation.subject for one in rig.instruments.findings.standing()}


async def test_a_reserve_that_joins_unheard_is_no_suspicion_until_it_had_time_to_report() -> None:
    rig = await site()
    await rig.tick()
    assert 0 < rig.weights()[NORTH] <= 1_500
    await rig.intake.suspicions.look(rig.intake.window)
    assert subjects(rig) == set()
    for number in range(3):
        rig.clock.time_s += PERIOD_S
        await report(rig, number)
        await rig.intake.suspicions.look(rig.intake.window)
    assert subjects(rig) == {f"service/tickets datacenter/{NORTH}"}
    await report(rig, 4, 0.9, NORTH)
    await rig.intake.suspicions.look(rig.intake.window)
    assert subjects(rig) == set()


async def test_a_restart_keeps_a_reserve_that_has_joined() -> None:
    rig = await site()
    await rig.tick()
    weights = rig.weights()
    again = await rig.restart()
    again.clock.time_s += 1.0
    await again.tick()
    assert again.weights()[NORTH] >= weights[NORTH] > 0


async def test_a_centre_that_loses_its_endpoints_is_replaced_with_the_change_itself() -> None:
    rig = await site(busy=0.5)
    revision = rig.revision
    current = rig.fleets.current.fleet
    (one,) = current.services
    clusters = tuple(
        replace(each, endpoints=()) if each.datacenter == WEST else each for each in one.clusters
    )
    await rig.declare(replace(current, services=(replace(one, clusters=clusters),)))
    assert rig.revision == revision + 1
    assert rig.weights() == {EAST: 8_500, WEST: 0, NORTH: 1_500}
    decision = rig.loop.decisions["tickets"]
    assert decision.trigger == "operator"
    assert "reserve_joins" in [note.code for note in decision.notes]


async def test_without_a_reserve_an_operators_change_decides_nothing() -> None:
    rig = Rig()
    one = service(strategy=StrategyName.CPU_EQUALIZER)
    await rig.declare(fleet(one))
    await rig.measure()
    lost = tuple(replace(c, endpoints=()) if c.datacenter == WEST else c for c in one.clusters)
    await rig.declare(fleet(replace(one, clusters=lost)))
    assert rig.weights() == {EAST: 10_000, WEST: 0}
    assert rig.loop.decisions == {}
