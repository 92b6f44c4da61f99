"""A reserve on its way through the engine: it joins unheard, and then has to report."""

from dataclasses import replace

from controlplane.domain.topology import Datacenter, Role, Service, StrategyName
from tests.builders import cluster, fleet, sample, service
from tests.engine.rig import Rig

EAST, WEST, NORTH = "beijing-1", "beijing-2", "tianjin"
PERIOD_S = 60.0


def tickets() -> Service:
    one = service(strategy=StrategyName.CPU_EQUALIZER)
    return replace(one, clusters=(*one.clusters, cluster(NORTH, 60.0, range(9201, 9205))))


async def hot_site() -> Rig:
    """Two active data centres at 90 %, and one for disaster recovery that stands at 0."""
    rig = Rig()
    declared = fleet(tickets())
    reserve = Datacenter(name=NORTH, role=Role.DISASTER_RECOVERY, region="north")
    await rig.declare(replace(declared, datacenters=(*declared.datacenters, reserve)))
    assert rig.weights()[NORTH] == 0
    for number in range(8):
        rig.clock.time_s += PERIOD_S
        await report(rig, number)
    return rig


async def report(rig: Rig, number: int, *more: str) -> None:
    rates = {EAST: 72.0, WEST: 45.0, NORTH: 9.0}
    await rig.intake.accept(
        [
            sample(
                name,
                rig.clock.time_s,
                request_rate_rps=rates[name] * (1 + number % 3 / 100),
                cpu_avg=0.9 + number % 3 / 100 if name != NORTH else 0.15,
            )
            for name in (EAST, WEST, *more)
        ]
    )


def subjects(rig: Rig) -> set[str]:
    return {one.observation.subject for one in rig.instruments.findings.standing()}


async def test_a_reserve_that_joins_unheard_is_no_suspicion_until_it_had_time_to_report() -> None:
    rig = await hot_site()
    await rig.tick()
    assert 0 < rig.weights()[NORTH] <= 1_500
    await rig.intake.suspicions.look(rig.intake.window)
    assert subjects(rig) == set()
    for number in range(3):
        rig.clock.time_s += PERIOD_S
        await report(rig, number)
        await rig.intake.suspicions.look(rig.intake.window)
    assert subjects(rig) == {f"service/tickets datacenter/{NORTH}"}
    await report(rig, 4, NORTH)
    await rig.intake.suspicions.look(rig.intake.window)
    assert subjects(rig) == set()


async def test_a_restart_keeps_a_reserve_that_has_joined() -> None:
    rig = await hot_site()
    await rig.tick()
    weights = rig.weights()
    again = await rig.restart()
    again.clock.time_s += 1.0
    await again.tick()
    assert again.weights()[NORTH] >= weights[NORTH] > 0
