import asyncio
from dataclasses import replace
from typing import Any

import pytest

from controlplane.domain.errors import Conflict, Refused, Retryable
from controlplane.domain.topology import Fleet, Pool
from controlplane.engine.fleet.difference import ChangeKind
from controlplane.engine.fleet.fleets import Fleets
from controlplane.engine.pokes import Pokes
from controlplane.engine.stages import Instruments
from controlplane.ports.stores import StoredFleet
from tests.builders import OPERATOR, fleet, service
from tests.engine.rig import Rig
from tests.fakes.stores import MemoryFleetStore


def _fleets() -> tuple[Fleets, MemoryFleetStore]:
    store = MemoryFleetStore()
    return Fleets(store, Pokes(), Instruments(now=lambda: 5.0)), store


async def test_a_change_is_planned_stored_and_audited() -> None:
    fleets, store = _fleets()
    wanted = fleet(service("tickets"), service("orders"))
    assert {line.kind for line in (await fleets.plan(wanted)).lines} == {ChangeKind.ADD}
    assert fleets.current.generation == 0
    change = await fleets.apply(wanted, OPERATOR, "first")
    assert change.generation == fleets.current.generation == 1
    entry = store.audit.entries[-1]
    assert (entry.author, entry.action, entry.reason) == ("operator", "fleet.apply", "first")
    assert "add service/orders" in entry.after


async def test_a_pool_is_an_item_of_its_own_in_a_difference() -> None:
    fleets, _ = _fleets()
    pool = Pool(name="web", datacenter="beijing-1", capacity_rps=80.0)
    await fleets.apply(replace(fleet(), pools=(pool,)), OPERATOR)
    larger = replace(fleet(), pools=(replace(pool, capacity_rps=160.0),))
    (line,) = (await fleets.plan(larger)).lines
    assert (line.kind, line.subject) == (ChangeKind.CHANGE, "pool/web")
    with pytest.raises(Refused, match="1 of 1 pools"):
        await fleets.apply(fleet(), OPERATOR)


async def test_the_same_fleet_in_another_order_changes_nothing() -> None:
    fleets, store = _fleets()
    wanted = fleet(service("tickets"), service("orders"))
    await fleets.apply(wanted, OPERATOR)
    shuffled = replace(wanted, services=wanted.services[::-1], datacenters=wanted.datacenters[::-1])
    change = await fleets.apply(shuffled, OPERATOR)
    assert (change.lines, change.generation) == ((), 1)
    assert len(store.audit.entries) == 1


async def test_a_stale_generation_is_a_conflict_that_names_the_newest() -> None:
    fleets, _ = _fleets()
    await fleets.apply(fleet(), OPERATOR)
    with pytest.raises(Conflict, match="generation 1, not 0"):
        await fleets.apply(fleet(service("other")), OPERATOR, expected_generation=0)


async def test_of_two_changes_of_one_generation_one_is_told() -> None:
    fleets, store = _fleets()
    await fleets.apply(fleet(), OPERATOR)
    results = await asyncio.gather(
        *(fleets.apply(alarming(n), OPERATOR, expected_generation=1) for n in (0.1, 0.2)),
        return_exceptions=True,
    )
    assert sum(isinstance(one, Conflict) for one in results) == 1
    assert fleets.current.generation == store.newest.generation == 2


async def test_changes_at_once_are_each_judged_against_the_one_before() -> None:
    fleets, store = _fleets()
    await fleets.apply(fleet(), OPERATOR)
    levels = (0.1, 0.2, 0.3, 0.4)
    changes = await asyncio.gather(*(fleets.apply(alarming(n), OPERATOR) for n in levels))
    assert sorted(change.generation for change in changes) == [2, 3, 4, 5]
    entries = store.audit.entries
    assert [entry.subject for entry in entries] == [f"fleet@{n}" for n in range(1, 6)]
    assert len({entry.before for entry in entries}) == 5


async def test_removing_much_is_refused_unless_forced_and_the_force_is_audited() -> None:
    fleets, store = _fleets()
    services = [service(f"s{index}") for index in range(10)]
    await fleets.apply(fleet(*services), OPERATOR)
    await fleets.apply(fleet(*services[:8]), OPERATOR)
    with pytest.raises(Refused, match="removes 4 of 8 services") as refusal:
        await fleets.apply(fleet(*services[:4]), OPERATOR)
    assert refusal.value.details["force"] == "signalbox apply --force, or force=true"
    assert len(fleets.current.fleet.services) == 8
    await fleets.apply(fleet(*services[:4]), OPERATOR, "closing down", force=True)
    assert store.audit.entries[-1].action == "fleet.force_apply"


async def test_losing_most_endpoints_of_a_service_is_refused() -> None:
    fleets, _ = _fleets()
    await fleets.apply(fleet(), OPERATOR)
    thinned = tuple(replace(each, endpoints=each.endpoints[:1]) for each in service().clusters)
    with pytest.raises(Refused, match="11 of 13 endpoints"):
        await fleets.apply(fleet(replace(service(), clusters=thinned)), OPERATOR)


def alarming(level: float) -> Fleet:
    return fleet(replace(service(), alarm_cpu=level))


async def test_a_change_goes_on_over_a_store_that_went_back() -> None:
    rig = Rig()
    for level in (0.1, 0.2, 0.3):
        await rig.declare(alarming(level))
    rig.stores.fleets.newest = StoredFleet(fleet=alarming(0.1), generation=1)
    await rig.declare(alarming(0.4))
    assert rig.fleets.current == await rig.stores.fleets.load()
    assert rig.fleets.current.generation == 4
    again = await rig.restart()
    assert again.fleets.current == rig.fleets.current


async def test_a_commit_that_came_after_its_deadline_is_our_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = Rig()
    await rig.declare(alarming(0.1))
    original = MemoryFleetStore.replace

    async def late(store: MemoryFleetStore, *args: Any, **kwargs: Any) -> StoredFleet:
        await original(store, *args, **kwargs)
        raise Retryable("store_unavailable", "no answer in time")

    with monkeypatch.context() as patched:
        patched.setattr(MemoryFleetStore, "replace", late)
        with pytest.raises(Retryable):
            await rig.fleets.apply(alarming(0.2), OPERATOR)
    assert rig.fleets.current.generation == 1
    await rig.fleets.apply(alarming(0.2), OPERATOR)
    assert rig.fleets.current == rig.stores.fleets.newest
    assert rig.fleets.current.generation == 2


async def test_a_fleet_of_another_writer_is_told_and_taken_over() -> None:
    rig = Rig()
    await rig.declare(alarming(0.1))
    other = await rig.restart()
    await other.declare(alarming(0.2))
    with pytest.raises(Conflict):
        await rig.fleets.apply(alarming(0.3), OPERATOR)
    assert rig.fleets.current == other.fleets.current
    await rig.fleets.apply(alarming(0.3), OPERATOR)
    assert rig.fleets.current.generation == 3


async def test_a_restart_reads_the_stored_fleet() -> None:
    fleets, store = _fleets()
    await fleets.apply(fleet(), OPERATOR)
    again = Fleets(store, Pokes(), Instruments())
    await again.restore()
    assert again.current == fleets.current
