"""What the guard refuses is a finding; a store that comes back older empties nothing."""

from dataclasses import replace

import pytest

from controlplane.domain.errors import Refused
from controlplane.domain.services import StrategyName
from controlplane.domain.topology import Fleet, Role
from controlplane.ports.stores import StoredFleet
from tests.builders import OPERATOR, fleet, service
from tests.engine.rig import Rig

SERVICES = tuple(service(f"s{index}", StrategyName.HYBRID) for index in range(10))


def _found(rig: Rig) -> list[str]:
    return [one.observation.code for one in rig.instruments.findings.standing()]


async def _rig() -> Rig:
    rig = Rig()
    await rig.declare(fleet(*SERVICES))
    return rig


async def test_a_refused_change_is_a_finding_that_says_who_and_how_to_force() -> None:
    rig = await _rig()
    with pytest.raises(Refused) as refusal:
        await rig.fleets.apply(fleet(SERVICES[0]), OPERATOR, "oops")
    assert refusal.value.details["limit"] == 0.3
    (finding,) = rig.instruments.findings.standing()
    what = finding.observation
    assert (what.code, what.subject) == ("mass_removal", "fleet")
    assert "operator asked for a change: this removes 9 of 10 services" in what.message
    assert "--force" in what.force
    assert rig.fleets.current.generation == 1


@pytest.mark.parametrize("changed", [True, False])
async def test_the_next_accepted_or_unchanged_apply_clears_it(changed: bool) -> None:
    rig = await _rig()
    with pytest.raises(Refused):
        await rig.fleets.apply(Fleet(), OPERATOR)
    await rig.fleets.apply(fleet(*SERVICES[: 9 if changed else 10]), OPERATOR)
    assert _found(rig) == []


async def test_a_refusal_is_forgotten_after_an_hour() -> None:
    rig = await _rig()
    with pytest.raises(Refused):
        await rig.fleets.apply(Fleet(), OPERATOR)
    rig.clock.time_s += 3_600.0
    await rig.intake.suspicions.look(rig.intake.window)
    assert _found(rig) == ["mass_removal"]
    rig.clock.time_s += 1.0
    await rig.intake.suspicions.look(rig.intake.window)
    assert _found(rig) == []


async def test_moving_much_of_the_traffic_is_refused_unless_forced() -> None:
    rig = await _rig()
    centers = fleet().datacenters
    cloudy = replace(
        fleet(*SERVICES), datacenters=(centers[0], replace(centers[1], role=Role.CLOUD))
    )
    with pytest.raises(Refused, match="moves 38% of the traffic"):
        await rig.fleets.apply(cloudy, OPERATOR)
    assert _found(rig) == ["mass_move"]
    await rig.fleets.apply(cloudy, OPERATOR, "closing it down", force=True)
    assert _found(rig) == []
    assert rig.stores.audit.entries[-1].action == "fleet.force_apply"


@pytest.mark.parametrize("generation", [0, 1])
async def test_a_store_that_comes_back_older_is_not_taken(generation: int) -> None:
    rig = await _rig()
    await rig.fleets.apply(fleet(*SERVICES[:9]), OPERATOR)
    await rig.tick()
    older = StoredFleet(
        fleet=fleet(service("s0")) if generation else Fleet(), generation=generation
    )
    rig.stores.fleets.newest = older
    await rig.fleets.restore()
    assert len(rig.fleets.current.fleet.services) == 9
    assert _found(rig) == ["fleet_behind"]
    revision = rig.revision
    await rig.tick()
    assert rig.revision == revision
    with pytest.raises(Refused, match="generation 2 was in force"):
        await rig.fleets.apply(fleet(*SERVICES[:8]), OPERATOR)
    await rig.fleets.apply(fleet(*SERVICES), OPERATOR, "whole again", force=True)
    assert _found(rig) == []
    # A generation is never given twice, whatever the store has forgotten.
    assert rig.fleets.current.generation == 3
    await rig.tick()
    assert len(rig.fleets.current.fleet.services) == 10


async def test_a_start_on_an_older_fleet_publishes_what_was_published() -> None:
    rig = await _rig()
    await rig.fleets.apply(fleet(*SERVICES[:8]), OPERATOR)
    await rig.tick()
    rig.stores.fleets.newest = StoredFleet(fleet=fleet(service("s0")), generation=1)
    other = await rig.restart()
    other.fleets.confirm(other.loop.generation)
    await other.tick()
    assert other.revision == rig.revision
    assert "fleet_behind" in _found(other)
    assert other.fleets.held
