"""Intents that stand while another fleet is declared."""

from dataclasses import replace

from controlplane.domain.decisions import Trigger
from controlplane.domain.intents.intent import IntentKind
from controlplane.domain.services import Endpoint
from tests.builders import fleet, service
from tests.engine.intents.test_intents import NORTH, SOUTH, ask, rig

NEW = (Endpoint(address="127.0.0.1", port=9050),)


async def test_a_service_that_comes_later_is_taken_back_too() -> None:
    made = await rig()
    intent = await made.intents.create(ask(IntentKind.FAILOVER))
    await made.follow()
    await made.declare(fleet(service(), service("video")))
    assert made.weights("video") == {"beijing-1": 0, "beijing-2": 10_000}
    await made.follow()
    await made.tick(Trigger.OPERATOR)
    await made.intents.undo(intent.id, "ann")
    await made.follow()
    assert made.weights("video")["beijing-1"] > 0


async def test_a_fleet_that_takes_everybody_else_away_closes_nothing() -> None:
    made = await rig()
    intent = await made.intents.create(ask(IntentKind.FAILOVER, SOUTH))
    await made.follow()
    (_, south) = service().clusters
    await made.declare(fleet(replace(service(), clusters=(south,))))
    await made.follow()
    assert made.weights() == {"beijing-2": 10_000}
    assert made.publication.current is not None
    (route,) = made.publication.current.content.routes.routes
    assert route.response is None
    await made.declare(fleet())
    await made.follow()
    assert made.weights() == {"beijing-1": 10_000, "beijing-2": 0}
    assert (await made.intents.by_id(intent.id)).standing


async def test_an_intent_about_what_is_no_longer_declared_is_told() -> None:
    made = await rig()
    (north, south) = service().clusters
    both = (replace(north, name="old"), replace(north, name="new", endpoints=NEW), south)
    await made.declare(fleet(replace(service(), clusters=both)))
    target = replace(NORTH, service="tickets", cluster="new")
    intent = await made.intents.create(ask(IntentKind.FAILOVER, target))
    await made.follow()
    assert made.findings.standing() == []
    renamed = tuple(replace(one, name="newer") if one.name == "new" else one for one in both)
    await made.declare(fleet(replace(service(), clusters=renamed)))
    made.clock.time_s += 2.0
    await made.follow()
    (finding,) = made.findings.standing()
    assert finding.observation.code == "intent_without_target"
    assert "failover-1 of ann" in finding.observation.message
    await made.intents.undo(intent.id, "ann")
    made.clock.time_s += 2.0
    await made.follow()
    assert made.findings.standing() == []
