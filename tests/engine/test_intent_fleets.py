"""Intents that stand while another fleet is declared."""

from dataclasses import replace

from controlplane.domain.decisions import Trigger
from controlplane.domain.intents.intent import IntentKind
from tests.builders import fleet, service
from tests.engine.test_intents import SOUTH, ask, rig


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
