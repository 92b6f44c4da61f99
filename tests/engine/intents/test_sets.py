"""Intents that take the place of others, and forecasts of several at once."""

import pytest

from controlplane.domain.decisions import Trigger
from controlplane.domain.errors import Conflict
from controlplane.domain.intents.intent import Ending, IntentKind, IntentState, Target, Wanted
from controlplane.engine.intents.intents import Ask
from tests.builders import fleet, sample
from tests.engine.rig import Rig


def pin(share: float) -> Wanted:
    return Wanted(
        kind=IntentKind.PIN,
        target=Target(service="tickets"),
        shares=(("beijing-1", 1.0 - share), ("beijing-2", share)),
    )


async def rig() -> Rig:
    made = Rig()
    await made.declare(fleet())
    for center in ("beijing-1", "beijing-2"):
        await made.intake.accept([sample(center, made.clock.now(), request_rate_rps=15.0)])
    return made


async def test_a_pin_in_place_of_another_leaves_no_moment_without_either() -> None:
    made = await rig()
    assert made.publication.current is not None
    before = made.publication.current.sections
    first = await made.intents.create(Ask(wanted=pin(0.5), author="ann"))
    await made.follow()
    with pytest.raises(Conflict, match=first.id):
        await made.intents.create(Ask(wanted=pin(0.75), author="ann"))
    second = await made.intents.create(
        Ask(wanted=pin(0.75), author="ann", replaces=frozenset({first.id}))
    )
    seen = []
    for _ in range(3):
        await made.follow()
        seen.append(made.weights())
    assert seen == [{"beijing-1": 2_500, "beijing-2": 7_500}] * 3
    ended = await made.intents.by_id(first.id)
    assert (ended.state, ended.ending) == (IntentState.ENDED, Ending.REPLACED)
    assert [one.id for one in made.intents.standing] == [second.id]
    assert [one.action for one in made.stores.audit.entries][-2:] == [
        "intent.pin",
        "intent.replace",
    ]
    again = await made.restart()
    await again.tick(Trigger.OPERATOR)
    await again.intents.undo(second.id, "bob")
    await again.follow()
    assert again.publication.current is not None
    assert again.publication.current.sections == before


async def test_a_forecast_counts_what_is_done_before() -> None:
    made = await rig()
    leave = Wanted(kind=IntentKind.FAILOVER, target=Target(datacenter="beijing-1"))
    alone, _ = await made.intents.dry_run(Ask(wanted=leave, author="ann"))
    beside, _ = await made.intents.dry_run(Ask(wanted=leave, author="ann"), [pin(1.0)])
    assert alone.moves[0].moved == pytest.approx(0.615, abs=0.001)
    assert not beside.moves or beside.moves[0].moved == 0.0
    assert made.intents.standing == ()
