"""IntentStore: compare-and-set over all intents, the newest state by id, the latest first."""

import pytest

from controlplane.domain.errors import Conflict, NotFound
from controlplane.domain.intents.intent import (
    Intent,
    IntentEvent,
    IntentKind,
    Row,
    Target,
    Wanted,
    advanced,
)
from tests.ports.conftest import Stores
from tests.ports.examples import entry


def intent(number: int) -> Intent:
    return Intent(
        id=f"failover-{number}",
        number=number,
        change=number,
        wanted=Wanted(kind=IntentKind.FAILOVER, target=Target(datacenter="dc-east")),
        author="ann",
        created_s=float(number),
        active_s=float(number),
        before=(Row(service="shop", source_region="*", weights=(("dc-east", 10_000),)),),
    )


async def test_nothing_stored(stores: Stores) -> None:
    assert await stores.intents.standing() == []
    assert await stores.intents.recent(9) == []
    assert await stores.intents.change() == 0
    with pytest.raises(NotFound) as caught:
        await stores.intents.by_id("failover-1")
    assert caught.value.code == "intent_not_found"


async def test_states_follow_each_other_and_the_ended_are_kept(stores: Stores) -> None:
    await stores.intents.put([intent(1)], 0, [entry("intent.create")])
    await stores.intents.put([intent(2)], 1)
    returning = advanced(intent(1), IntentEvent.UNDO, 5.0, 3)
    await stores.intents.put([returning], 2)
    assert await stores.intents.standing() == [returning, intent(2)]
    ended = advanced(returning, IntentEvent.RETURNED, 6.0, 4)
    await stores.intents.put([ended], 3, [entry("intent.end"), entry("intent.end")])
    assert await stores.intents.standing() == [intent(2)]
    assert await stores.intents.by_id("failover-1") == ended
    assert await stores.intents.change() == 4
    assert await stores.intents.recent(9) == [intent(2), ended]
    assert await stores.intents.recent(1) == [intent(2)]
    assert await stores.intents.recent(9, before=2) == [ended]
    assert [e.action for e in await stores.audit.recent(9)] == [
        "intent.end",
        "intent.end",
        "intent.create",
    ]


async def test_one_of_two_writers_wins(stores: Stores) -> None:
    await stores.intents.put([intent(1)], 0)
    with pytest.raises(Conflict) as caught:
        await stores.intents.put([intent(2)], 0, [entry("intent.create")])
    assert caught.value.code == "intents_changed"
    assert await stores.intents.standing() == [intent(1)]
    assert await stores.audit.recent(9) == []
