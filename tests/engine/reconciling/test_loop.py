import asyncio
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from controlplane.domain.decisions import Trigger
from controlplane.domain.errors import Retryable
from controlplane.domain.guardrails.state import Outcome
from controlplane.domain.services import Cluster, Service, StrategyName
from controlplane.domain.snapshot import Snapshot
from controlplane.domain.strategies import registry
from controlplane.domain.strategies.situation import Proposal, Situation
from controlplane.engine.reconciling import loop as loops
from controlplane.engine.stages import Stage, StageOutcome
from tests.builders import fleet, service
from tests.engine.rig import Rig
from tests.fakes.stores import MemorySnapshotStore

EQUALIZER = StrategyName.CPU_EQUALIZER
CYCLE_S = 300.0
BY_CAPACITY = {"beijing-1": 6154, "beijing-2": 3846}
MOVED = {"beijing-1": 5654, "beijing-2": 4346}


async def _moved(rig: Rig) -> None:
    """The hotter primary gave a step away."""
    await rig.declare(fleet(service(strategy=EQUALIZER)))
    await rig.measure()
    await rig.tick()
    assert rig.weights() == MOVED


async def test_nothing_is_published_before_the_first_fleet() -> None:
    rig = Rig()
    await rig.tick()
    assert (rig.revision, rig.stores.snapshots.snapshots) == (0, [])


async def test_the_first_fleet_is_revision_1_by_capacity_and_decides_nothing() -> None:
    rig = Rig()
    await rig.declare(fleet(service(strategy=EQUALIZER)))
    assert rig.revision == 1
    assert rig.weights() == BY_CAPACITY
    assert rig.loop.decisions == {}
    assert rig.stores.decisions.decisions == {}


async def test_a_cycle_decides_publishes_and_records_with_the_revision() -> None:
    rig = Rig()
    await _moved(rig)
    (decision,) = rig.stores.decisions.decisions.values()
    assert decision == rig.loop.decisions["tickets"]
    assert (decision.outcome, decision.trigger) == (Outcome.MOVED, Trigger.TIMER)
    assert decision.revision == rig.revision == 2
    assert rig.loop.outcomes == {Outcome.MOVED: 1}


async def test_the_same_facts_append_and_publish_nothing() -> None:
    rig = Rig()
    await rig.declare(fleet())
    version = rig.publication.current
    for trigger in (Trigger.TIMER, Trigger.OPERATOR, Trigger.ALARM):
        await rig.tick(trigger)
    assert rig.publication.current is version
    assert len(rig.stores.snapshots.snapshots) == 1
    assert rig.instruments.stages.totals[Stage.APPEND, StageOutcome.OK].count == 1


async def test_a_restart_goes_on_with_the_same_version() -> None:
    rig = Rig()
    await _moved(rig)
    again = await rig.restart()
    assert again.publication.current == rig.publication.current
    for trigger in (Trigger.OPERATOR, Trigger.TIMER):
        await again.tick(trigger)
    assert again.publication.current == rig.publication.current
    assert len(rig.stores.snapshots.snapshots) == 2


async def test_a_lost_decision_does_not_lose_the_shares_that_it_put_in_force() -> None:
    rig = Rig()
    await _moved(rig)
    rig.stores.decisions.decisions.clear()
    again = await rig.restart()
    await again.tick(Trigger.OPERATOR)
    assert again.publication.current == rig.publication.current
    rig.clock.time_s += CYCLE_S
    await again.tick()
    assert again.loop.decisions["tickets"].applied == pytest.approx((0.5654, 0.4346))


async def test_while_the_store_is_away_the_last_snapshot_stays_and_it_comes_back_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loops, "STORE_RETRY_S", 0.01)
    rig = Rig()
    await rig.declare(fleet(service(strategy=EQUALIZER)))
    await rig.measure()
    running = asyncio.create_task(rig.loop.run())
    rig.stores.outage.away = True
    with capture_logs() as logs:
        rig.pokes.poke(Trigger.TIMER)
        await asyncio.sleep(0.3)
        assert (rig.revision, rig.weights()) == (1, BY_CAPACITY)
        assert rig.loop.decisions == {}
        rig.stores.outage.away = False
        assert await rig.publication.changed_since(1, timeout_s=2.0) is not None
        while not rig.stores.decisions.decisions:
            await asyncio.sleep(0.01)
    running.cancel()
    assert (rig.revision, rig.weights()) == (2, MOVED)
    events = [entry["event"] for entry in logs]
    assert events.count("snapshot.store_away") == 1
    assert rig.instruments.stages.totals[Stage.APPEND, StageOutcome.ERROR].count > 1


async def test_while_the_store_is_away_only_the_append_is_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loops, "STORE_RETRY_S", 0.01)
    rig = Rig()
    await rig.declare(fleet(service(strategy=EQUALIZER)))
    await rig.measure()
    rig.stores.outage.away = True
    decides = rig.instruments.stages.totals[Stage.DECIDE, StageOutcome.OK]
    before = decides.count
    await rig.tick()
    for _ in range(5):
        await rig.loop.tick(await rig.pokes.take())
    assert decides.count == before + 1
    # What comes meanwhile is decided, and nothing that came before is forgotten.
    await rig.loop.tick([loops.Poke(trigger=Trigger.OPERATOR)])
    assert decides.count == before + 2
    rig.stores.outage.away = False
    await rig.loop.tick(await rig.pokes.take())
    assert decides.count == before + 2
    assert (rig.revision, rig.weights()) == (2, MOVED)
    assert len(rig.stores.decisions.decisions) == 1
    await rig.loop.tick([])
    assert rig.revision == 2


async def test_a_commit_that_came_after_its_deadline_is_our_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = Rig()
    await rig.declare(fleet(service(strategy=EQUALIZER)))
    await rig.measure()
    original = MemorySnapshotStore.append

    async def late(store: MemorySnapshotStore, snapshot: Snapshot, expected: int) -> Snapshot:
        await original(store, snapshot, expected)
        raise Retryable("store_unavailable", "no answer in time")

    with monkeypatch.context() as patched:
        patched.setattr(MemorySnapshotStore, "append", late)
        await rig.tick()
    assert (rig.revision, len(rig.stores.snapshots.snapshots)) == (1, 2)
    await rig.loop.tick(await asyncio.wait_for(rig.pokes.take(), 3))
    assert (rig.revision, rig.weights()) == (2, MOVED)
    assert len(rig.stores.snapshots.snapshots) == 2
    assert list(rig.stores.decisions.decisions.values()) == [rig.loop.decisions["tickets"]]


async def test_over_a_store_that_went_back_the_published_goes_forward() -> None:
    rig = Rig()
    await _moved(rig)
    rig.clock.time_s += 2 * CYCLE_S
    await rig.measure()
    await rig.tick()
    assert rig.revision == 3
    published = rig.publication.current
    assert published is not None
    del rig.stores.snapshots.snapshots[1:]
    rig.clock.time_s += 2 * CYCLE_S
    await rig.measure(hot=0.9)
    await rig.tick()
    assert rig.revision == 4
    assert rig.publication.current == replace(published, revision=4)
    assert await rig.stores.snapshots.latest() == rig.publication.current
    await rig.loop.tick(await asyncio.wait_for(rig.pokes.take(), 3))
    assert rig.revision == 5
    assert [one.revision for one in rig.stores.snapshots.snapshots] == [1, 4, 5]


async def test_over_a_store_that_is_empty_the_published_goes_forward() -> None:
    rig = Rig()
    await _moved(rig)
    published = rig.publication.current
    rig.stores.snapshots.snapshots.clear()
    await rig.declare(fleet(service(strategy=EQUALIZER), service("orders")))
    assert rig.publication.current == replace(published, revision=3)  # type: ignore[type-var]
    await rig.loop.tick(await asyncio.wait_for(rig.pokes.take(), 3))
    assert rig.revision == 4
    assert rig.weights("orders") == BY_CAPACITY


async def test_a_record_that_is_lost_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig()
    await rig.declare(fleet(service(strategy=EQUALIZER)))
    await rig.measure()

    async def append(store: MemorySnapshotStore, snapshot: Snapshot, expected: int) -> Snapshot:
        rig.stores.outage.away = True
        stored = replace(snapshot, revision=expected + 1)
        store.snapshots.append(stored)
        return stored

    monkeypatch.setattr(MemorySnapshotStore, "append", append)
    await rig.tick()
    assert (rig.revision, rig.weights()) == (2, MOVED)
    assert rig.loop.decisions["tickets"].revision == 2
    assert rig.stores.decisions.decisions == {}
    rig.stores.outage.away = False
    await rig.records.flush()
    assert list(rig.stores.decisions.decisions.values()) == [rig.loop.decisions["tickets"]]


async def test_a_second_writer_is_taken_over_and_the_loop_goes_on() -> None:
    rig = Rig()
    await rig.declare(fleet(service(strategy=EQUALIZER)))
    other = await rig.restart()
    await _moved_by(other)
    rig.clock.time_s += CYCLE_S
    await rig.measure()
    await rig.tick()
    assert rig.revision == 2
    assert rig.publication.current == other.publication.current
    assert rig.loop.decisions == other.loop.decisions
    taken = await asyncio.wait_for(rig.pokes.take(), 3)
    assert taken[-1].trigger is Trigger.TIMER
    rig.clock.time_s += 2 * CYCLE_S
    await rig.measure()
    await rig.loop.tick(taken)
    assert rig.revision == 3
    assert rig.weights()["beijing-1"] < MOVED["beijing-1"]


async def test_the_fleet_of_a_second_writer_is_taken_over_with_its_snapshot() -> None:
    rig = Rig()
    await rig.declare(fleet(service(strategy=EQUALIZER)))
    other = await rig.restart()
    await other.declare(fleet(service(strategy=EQUALIZER), service("news")))
    rig.clock.time_s += CYCLE_S
    await rig.measure()
    await rig.tick()
    await rig.loop.tick(await asyncio.wait_for(rig.pokes.take(), 3))
    assert rig.fleets.current.generation == 2
    assert rig.publication.current is not None
    names = [part.service for part in rig.publication.current.content.endpoints.services]
    assert names == ["news", "tickets"]


async def _moved_by(rig: Rig) -> None:
    await rig.measure()
    await rig.tick()
    assert rig.revision == 2


async def test_a_store_that_goes_away_during_a_take_over_is_read_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = Rig()
    await rig.declare(fleet(service(strategy=EQUALIZER)))
    await _moved_by(await rig.restart())

    async def away(store: MemorySnapshotStore) -> Snapshot | None:
        raise Retryable("store_unavailable", "away")

    rig.clock.time_s += CYCLE_S
    await rig.measure()
    with monkeypatch.context() as patched:
        patched.setattr(MemorySnapshotStore, "latest", away)
        await rig.tick()
        assert rig.revision == 1
    await rig.tick()
    assert rig.revision == 2


async def test_an_alarm_decides_its_service_only() -> None:
    rig = Rig()
    await rig.declare(fleet(service("orders"), service("tickets")))
    await rig.measure("tickets", hot=0.95)
    (alarmed,) = await _alarms(rig)
    assert alarmed == frozenset({"tickets"})
    await rig.tick(Trigger.ALARM, alarmed)
    assert set(rig.loop.decisions) == {"tickets"}
    assert rig.loop.decisions["tickets"].trigger is Trigger.ALARM
    await rig.tick(Trigger.TIMER)
    assert set(rig.loop.decisions) == {"orders", "tickets"}


async def _alarms(rig: Rig) -> list[frozenset[str] | None]:
    taken = await asyncio.wait_for(rig.pokes.take(), 1)
    return [poke.services for poke in taken if poke.trigger is Trigger.ALARM]


async def test_an_alarm_outranks_the_timer_and_unknown_services_are_ignored() -> None:
    rig = Rig()
    await rig.declare(fleet(service("orders"), service("tickets")))
    await rig.loop.tick(
        [
            loops.Poke(trigger=Trigger.ALARM, services=frozenset({"tickets", "gone"})),
            loops.Poke(trigger=Trigger.TIMER),
        ]
    )
    triggers = {name: decision.trigger for name, decision in rig.loop.decisions.items()}
    assert triggers == {"orders": Trigger.TIMER, "tickets": Trigger.ALARM}


async def test_an_operator_decides_nothing_but_puts_the_declared_in_force() -> None:
    rig = Rig()
    await _moved(rig)
    before = dict(rig.loop.decisions)
    await rig.declare(fleet(service(strategy=EQUALIZER), service("orders")))
    assert rig.loop.decisions == before
    assert rig.weights("tickets") == MOVED
    assert rig.weights("orders") == BY_CAPACITY


def _broken(situation: Situation) -> Proposal:
    raise ZeroDivisionError("a strategy with a bug")


async def test_a_strategy_that_raises_holds_its_service_and_the_rest_ships(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = Rig()
    await rig.declare(
        fleet(service("orders", StrategyName.THRESHOLD), service("tickets", EQUALIZER))
    )
    await rig.measure()
    await rig.measure("orders")
    with capture_logs() as logs, monkeypatch.context() as patched:
        patched.setitem(registry.STRATEGIES, StrategyName.THRESHOLD, _broken)  # type: ignore[arg-type]
        await rig.tick()
        assert rig.weights("tickets") == MOVED
        assert rig.weights("orders") == BY_CAPACITY
        assert set(rig.loop.decisions) == {"tickets"}
        await rig.tick()
    failures = [entry for entry in logs if entry["event"] == "service.failed"]
    assert [(entry["service"], entry["log_level"]) for entry in failures] == [("orders", "error")]
    assert isinstance(failures[0]["exc_info"], ZeroDivisionError)
    (standing,) = rig.findings.standing()
    assert (standing.observation.code, standing.reports) == ("decision_failed", 2)
    assert standing.observation.subject == "service/orders"
    await rig.tick(Trigger.ALARM, frozenset({"tickets"}))
    assert rig.troubled == ["service/orders"]
    await rig.tick()
    assert rig.troubled == []
    assert set(rig.loop.decisions) == {"orders", "tickets"}


def _without_endpoints(one: Service) -> Service:
    clusters: list[Cluster] = [replace(cluster, endpoints=()) for cluster in one.clusters]
    return replace(one, clusters=tuple(clusters))


async def test_a_service_that_cannot_be_built_keeps_what_is_published() -> None:
    rig = Rig()
    await rig.declare(fleet(service("orders"), service("tickets", EQUALIZER)))
    empty = _without_endpoints(service("orders"))
    with capture_logs() as logs:
        await rig.declare(fleet(empty, service("tickets", EQUALIZER)))
    assert [entry["event"] for entry in logs].count("service.failed") == 1
    assert rig.revision == 1
    await rig.measure()
    await rig.tick()
    current = rig.publication.current
    assert current is not None
    assert (rig.weights("tickets"), rig.weights("orders")) == (MOVED, BY_CAPACITY)
    assert {route.service for route in current.content.routes.routes} == {"orders", "tickets"}
    centers = current.content.endpoints.services[0].centers
    assert [len(center.addresses) for center in centers] == [8, 5]
    # What is not in force is no decision.
    assert set(rig.loop.decisions) == {"tickets"}
    again = await rig.restart()
    await again.tick(Trigger.OPERATOR)
    assert again.publication.current == current
    await rig.declare(fleet(service("orders"), service("tickets", EQUALIZER)))
    assert rig.troubled == []


async def test_a_service_that_was_never_built_is_left_out_with_its_routes() -> None:
    rig = Rig()
    await rig.declare(fleet(_without_endpoints(service("orders")), service("tickets")))
    current = rig.publication.current
    assert current is not None
    assert [one.service for one in current.content.endpoints.services] == ["tickets"]
    assert [route.service for route in current.content.routes.routes] == ["tickets"]
    (standing,) = rig.findings.standing()
    assert (standing.observation.code, standing.observation.subject) == (
        "service_not_built",
        "service/orders",
    )
