"""Intents in the engine: at once, exactly back, over restarts, and told when refused."""

from dataclasses import replace

import pytest

from controlplane.domain.decisions import Trigger
from controlplane.domain.errors import Conflict, NotFound, Refused, Retryable
from controlplane.domain.intents.intent import (
    Ending,
    IntentKind,
    IntentState,
    Preset,
    PresetName,
    Target,
    Wanted,
)
from controlplane.domain.snapshot import encode
from controlplane.engine.intents.intents import Ask, gateways
from controlplane.engine.publishing.couriers import DeliveryStatus
from controlplane.ports.outside import PlaneNode
from tests.builders import fleet, sample, service
from tests.engine.rig import Rig

NORTH = Target(datacenter="beijing-1")
SOUTH = Target(datacenter="beijing-2")


def wanted(kind: IntentKind, target: Target = NORTH, **values: object) -> Wanted:
    return Wanted(kind=kind, target=target, **values)  # type: ignore[arg-type]


def ask(kind: IntentKind, target: Target = NORTH, **values: object) -> Ask:
    return Ask(wanted=wanted(kind, target, **values), author="ann")


async def rig(load_rps: float = 30.0) -> Rig:
    made = Rig()
    await made.declare(fleet())
    for center in ("beijing-1", "beijing-2"):
        one = sample(center, made.clock.now(), request_rate_rps=load_rps / 2, connections=40.0)
        await made.intake.accept([one])
    return made


EVERY_KIND = [
    wanted(IntentKind.FAILOVER),
    wanted(IntentKind.FAILOVER, Target(service="tickets", datacenter="beijing-1")),
    wanted(
        IntentKind.FAILOVER,
        Target(service="tickets", datacenter="beijing-1", endpoint="127.0.0.1:9001"),
    ),
    wanted(IntentKind.DRAIN),
    wanted(IntentKind.PIN, Target(service="tickets"), shares=(("beijing-2", 1.0),)),
    wanted(IntentKind.FREEZE, Target()),
    wanted(
        IntentKind.PRESET,
        Target(service="tickets"),
        preset=Preset(name=PresetName.BLOCK, status=403),
    ),
    wanted(
        IntentKind.PRESET,
        Target(service="tickets"),
        preset=Preset(name=PresetName.CIRCUIT_BREAK, concurrent=4, waiting=1),
    ),
]


@pytest.mark.parametrize("one", EVERY_KIND, ids=lambda one: f"{one.kind}-{one.target.subject}")
async def test_every_intent_is_taken_back_exactly(one: Wanted) -> None:
    made = await rig()
    assert made.publication.current is not None
    before = made.publication.current.sections
    intent = await made.intents.create(Ask(wanted=one, author="ann"))
    await made.follow()
    changed = made.publication.current.sections != before
    assert changed is (one.kind is not IntentKind.FREEZE)
    await made.tick(Trigger.TIMER)
    await made.tick(Trigger.OPERATOR)
    await made.intents.undo(intent.id, "bob")
    await made.follow()
    assert made.publication.current.sections == before
    ended = await made.intents.by_id(intent.id)
    assert (ended.state, ended.ending) == (IntentState.ENDED, Ending.UNDONE)
    assert made.intents.standing == ()


async def test_a_failover_moves_everything_and_holds_decisions() -> None:
    made = await rig()
    await made.intents.create(ask(IntentKind.FAILOVER))
    await made.follow()
    assert made.weights() == {"beijing-1": 0, "beijing-2": 10_000}
    decided = made.loop.decisions.get("tickets")
    await made.tick(Trigger.TIMER)
    assert made.loop.decisions.get("tickets") is decided
    assert made.weights() == {"beijing-1": 0, "beijing-2": 10_000}


async def test_a_drain_falls_and_returns_in_steps() -> None:
    made = await rig()
    start = made.weights()["beijing-1"]
    intent = await made.intents.create(ask(IntentKind.DRAIN, over_s=10.0, return_s=20.0))
    seen = []
    for _ in range(11):
        await made.follow()
        seen.append(made.weights()["beijing-1"])
        made.clock.time_s += 1.0
    assert seen == sorted(seen, reverse=True)
    assert 0 < seen[0] < start
    assert len(set(seen)) == 5
    assert seen[-1] == 0
    await made.intents.undo(intent.id, "bob")
    back = []
    for _ in range(22):
        await made.follow()
        back.append(made.weights()["beijing-1"])
        made.clock.time_s += 1.0
    assert back == sorted(back)
    assert back[0] == round(start / 20)
    assert back[-1] == start
    assert made.intents.standing == ()


async def test_it_expires_also_over_a_restart() -> None:
    made = await rig()
    before = made.weights()
    expires_s = made.clock.now() + 60.0
    intent = await made.intents.create(ask(IntentKind.FAILOVER, expires_s=expires_s))
    await made.follow()
    other = await made.restart()
    assert other.weights() == {"beijing-1": 0, "beijing-2": 10_000}
    await other.tick(Trigger.OPERATOR)
    assert other.weights() == {"beijing-1": 0, "beijing-2": 10_000}
    made.clock.time_s += 61.0
    late = await made.restart()
    await late.tick(Trigger.OPERATOR)
    await late.follow()
    assert late.weights() == before
    assert (await late.intents.by_id(intent.id)).ending is Ending.EXPIRED


async def test_the_last_serving_center_is_refused_with_numbers_and_forced_when_told_to() -> None:
    made = await rig()
    await made.intents.create(ask(IntentKind.FAILOVER))
    await made.follow()
    with pytest.raises(Refused) as caught:
        await made.intents.create(ask(IntentKind.FAILOVER, SOUTH))
    assert caught.value.code == "last_serving_datacenter"
    assert caught.value.details["services"] == ["tickets"]
    assert "30 requests/s" in caught.value.message
    await made.intents.create(ask(IntentKind.FAILOVER, SOUTH, force=True))
    await made.follow()
    assert made.weights() == {"beijing-1": 10_000, "beijing-2": 0}
    newest = (await made.stores.audit.recent(1))[0]
    assert newest.action == "intent.force_failover"


async def test_without_room_it_is_refused_and_forced_it_admits_first() -> None:
    made = await rig(load_rps=70.0)
    with pytest.raises(Refused) as caught:
        await made.intents.create(ask(IntentKind.FAILOVER))
    assert caught.value.code == "no_room"
    (short,) = caught.value.details["services_without_room"]  # type: ignore[misc]
    assert short == {"service": "tickets", "expected_rps": 70.0, "admitted_rps": 42.5}
    before = made.weights()
    forced = await made.intents.create(ask(IntentKind.FAILOVER, force=True))
    assert forced.state is IntentState.PREPARING
    await made.loop.tick(await made.pokes.take())
    assert made.publication.current is not None
    (service,) = made.publication.current.content.endpoints.services
    assert service.limit is not None
    assert service.limit.concurrent == 2
    assert made.weights() == before
    await made.follow()
    assert made.weights() == {"beijing-1": 0, "beijing-2": 10_000}
    await made.intents.undo(forced.id, "ann")
    await made.follow()
    (service,) = made.publication.current.content.endpoints.services
    assert service.limit is None
    assert made.weights() == before


async def test_a_restore_ramps_and_ends_what_it_covers() -> None:
    made = await rig()
    before = made.weights()
    failover = await made.intents.create(ask(IntentKind.FAILOVER))
    await made.follow()
    restore = await made.intents.create(ask(IntentKind.RESTORE, return_s=10.0))
    await made.follow()
    assert 0 < made.weights()["beijing-1"] < before["beijing-1"]
    made.clock.time_s += 11.0
    await made.follow()
    assert made.weights() == before
    assert (await made.intents.by_id(failover.id)).ending is Ending.REPLACED
    assert (await made.intents.by_id(restore.id)).ending is Ending.DONE
    with pytest.raises(Conflict) as caught:
        await made.intents.create(ask(IntentKind.RESTORE))
    assert caught.value.code == "nothing_to_restore"


async def test_of_two_at_once_one_wins_and_the_other_hears_what_changed() -> None:
    made = await rig()
    seen = made.intents.change
    first = replace(ask(IntentKind.FAILOVER), expected=seen)
    await made.intents.create(first)
    with pytest.raises(Conflict) as caught:
        await made.intents.create(
            replace(ask(IntentKind.DRAIN, SOUTH), expected=seen, author="bob")
        )
    assert caught.value.code == "intents_changed"
    (changed,) = caught.value.details["changed"]  # type: ignore[misc]
    assert changed["id"] == "failover-1"
    assert changed["author"] == "ann"
    assert "failover-1 of ann" in caught.value.message
    with pytest.raises(Conflict) as caught:
        await made.intents.create(ask(IntentKind.FAILOVER))
    assert caught.value.code == "intent_exists"


async def test_a_failover_does_not_wait_for_a_store_that_is_away() -> None:
    made = await rig()
    before = made.weights()
    made.stores.outage.away = True
    intent = await made.intents.create(ask(IntentKind.FAILOVER))
    assert made.pokes.urgent
    await made.loop.tick(await made.pokes.take())
    assert made.weights() == {"beijing-1": 0, "beijing-2": 10_000}
    with pytest.raises(Retryable):
        await made.intents.undo(intent.id, "health")
    made.stores.outage.away = False
    await made.follow()
    await made.tick(Trigger.OPERATOR)
    assert (await made.stores.intents.by_id(intent.id)).standing
    latest = await made.stores.snapshots.latest()
    assert latest is not None
    assert made.publication.current is not None
    assert encode(latest) == encode(made.publication.current)
    await made.intents.undo(intent.id, "ann")
    await made.follow()
    assert made.weights() == before


async def test_the_forecast_is_what_happens() -> None:
    made = await rig()
    found, objection = await made.intents.dry_run(ask(IntentKind.FAILOVER))
    assert objection is None
    (move,) = found.moves
    assert move.after == {"beijing-1": 0.0, "beijing-2": 1.0}
    assert move.moved == pytest.approx(made.weights()["beijing-1"] / 10_000)
    assert move.sessions == 40
    after = {one.datacenter: one.after for one in found.plan.pools}
    assert after["beijing-2"] == pytest.approx(30.0 / 50.0)
    assert made.intents.standing == ()
    _, objection = await made.intents.dry_run(
        ask(IntentKind.FAILOVER, Target(datacenter="beijing-1"))
    )
    assert objection is None
    with pytest.raises(NotFound):
        await made.intents.dry_run(ask(IntentKind.FAILOVER, Target(datacenter="mars")))


async def test_a_rollback_publishes_an_earlier_revision_and_goes() -> None:
    made = await rig()
    assert made.publication.current is not None
    first = made.publication.current
    await made.declare(fleet(service(), service("video")))
    second = made.publication.current.sections
    assert second != first.sections
    intent = await made.intents.create(ask(IntentKind.ROLLBACK, Target(), revision=first.revision))
    await made.follow()
    assert made.publication.current.sections == first.sections
    other = await made.restart()
    await other.tick(Trigger.OPERATOR)
    assert other.publication.current is not None
    assert other.publication.current.sections == first.sections
    await other.intents.undo(intent.id, "ann")
    await other.follow()
    assert other.publication.current.sections == second


async def test_what_a_gateway_does_not_run_is_a_finding_until_it_does() -> None:
    made = await rig()
    courier = LateCourier()
    made.intents.course._troubles._couriers = (courier,)  # type: ignore[assignment]
    await made.intents.create(ask(IntentKind.FAILOVER))
    await made.follow()
    assert made.findings.standing() == []
    made.clock.time_s += 11.0
    await made.follow()
    (finding,) = made.findings.standing()
    assert finding.observation.code == "intent_unpublished"
    assert "edge-1" in finding.observation.message
    courier.revision = made.revision
    made.clock.time_s += 2.0
    await made.follow()
    assert made.findings.standing() == []
    courier.revision = 0
    made.clock.time_s += 2.0
    await made.follow()
    assert made.findings.standing() == []


class LateCourier:
    """One connected gateway."""

    revision = 0
    status = DeliveryStatus(plane="envoy")

    async def nodes(self) -> list[PlaneNode]:
        return [PlaneNode(name="edge-1", group="edge", connected=True, revision=self.revision)]


def test_an_agent_beside_an_envoy_is_the_same_gateway() -> None:
    nodes = [
        PlaneNode(name="edge-1", group="edge", connected=True, revision=1),
        PlaneNode(name="edge-1 (agent)", group="edge", connected=True, revision=1),
        PlaneNode(name="edge-2 (agent)", group="edge", connected=True, revision=1),
        PlaneNode(name="edge-3", group="edge", connected=False, revision=1),
    ]
    assert gateways(nodes) == 2


async def test_before_anything_is_built_intents_go_over_what_is_published() -> None:
    made = await rig()
    other = await made.restart()
    await other.intents.create(ask(IntentKind.FAILOVER))
    await other.loop.tick(await other.pokes.take())
    assert other.weights() == {"beijing-1": 0, "beijing-2": 10_000}


async def test_the_last_endpoint_of_the_last_serving_data_centre_is_refused() -> None:
    made = await rig()
    await made.intents.create(ask(IntentKind.FAILOVER))
    await made.follow()
    (cluster,) = (one for one in service().clusters if one.datacenter == "beijing-2")
    *first, last = [
        Target(service="tickets", datacenter="beijing-2", endpoint=f"{one.address}:{one.port}")
        for one in cluster.endpoints
    ]
    for target in first:
        await made.intents.create(ask(IntentKind.FAILOVER, target))
    await made.follow()
    with pytest.raises(Refused) as refused:
        await made.intents.create(ask(IntentKind.FAILOVER, last))
    assert refused.value.code == "last_serving_datacenter"
    assert made.weights() == {"beijing-1": 0, "beijing-2": 10_000}


@pytest.mark.parametrize("by", ["undo", "restore"])
async def test_who_is_on_its_way_back_takes_all_when_the_other_one_dies(by: str) -> None:
    made = await rig()
    intent = await made.intents.create(ask(IntentKind.FAILOVER, return_s=3_600.0))
    await made.follow()
    if by == "undo":
        await made.intents.undo(intent.id, "bob")
    else:
        await made.intents.create(ask(IntentKind.RESTORE, return_s=3_600.0))
    await made.follow()
    made.clock.time_s += 20.0
    await made.follow()
    dead = replace(ask(IntentKind.FAILOVER, SOUTH), author="health", automatic=True)
    await made.intents.create(dead)
    await made.follow()
    assert made.weights() == {"beijing-1": 10_000, "beijing-2": 0}


@pytest.mark.parametrize("rollback_first", [True, False])
async def test_a_rollback_and_a_failover_together_leave_somebody(rollback_first: bool) -> None:
    (north, _) = service().clusters
    made = Rig()
    await made.declare(fleet(replace(service(), clusters=(north,))))
    assert made.publication.current is not None
    asked = [
        ask(IntentKind.ROLLBACK, Target(), revision=made.publication.current.revision),
        ask(IntentKind.FAILOVER),
    ]
    await made.declare(fleet())
    first, second = asked if rollback_first else reversed(asked)
    await made.intents.create(first)
    await made.follow()
    with pytest.raises(Refused) as refused:
        await made.intents.create(second)
    assert refused.value.code == "last_serving_datacenter"
