"""ItemStore, DeliveryStore and JournalStore: what operations keep."""

from dataclasses import replace

import pytest

from controlplane.domain.errors import Conflict, NotFound
from controlplane.domain.operations.timeline import Entry, EntryKind
from controlplane.domain.operations.webhooks import (
    GONE,
    Delivery,
    DeliveryState,
    EventKind,
    Webhook,
    answered,
)
from tests.ports.conftest import Stores
from tests.ports.examples import entry

HOOK = Webhook(name="pager", url="https://pager.example", secret="whsec_x")


def delivery(number: int) -> Delivery:
    return Delivery(
        id=f"msg_{number}",
        webhook="pager",
        kind=EventKind.TEST,
        body="{}",
        created_s=float(number),
        next_s=float(number),
    )


def happened(time_s: float, what: str = "w") -> Entry:
    return Entry(time_s=time_s, kind=EntryKind.NOTE, subject="s", what=what, who="anna")


async def test_items_by_name(stores: Stores) -> None:
    hooks = stores.operations.webhooks
    assert await hooks.all() == {}
    other = replace(HOOK, name="chat")
    await hooks.put("pager", HOOK, entry("webhook.put"))
    await hooks.put("chat", other)
    assert list((await hooks.all()).items()) == [("chat", other), ("pager", HOOK)]
    assert await stores.operations.scenarios.all() == {}
    await hooks.remove("pager", entry("webhook.remove"))
    await hooks.remove("pager", entry("webhook.remove"))
    assert await hooks.all() == {"chat": other}
    found = [one.action for one in await stores.audit.recent(9)]
    assert found == ["webhook.remove", "webhook.put"]


async def test_a_change_on_top_of_something_else_is_refused(stores: Stores) -> None:
    hooks = stores.operations.webhooks
    await hooks.put("pager", HOOK)
    newer = replace(HOOK, disabled="gone")
    await hooks.put("pager", newer, before=HOOK)
    with pytest.raises(Conflict) as caught:
        await hooks.put("pager", HOOK, entry("webhook.put"), before=HOOK)
    assert caught.value.code == "operation_changed"
    assert await hooks.all() == {"pager": newer}
    assert await stores.audit.recent(9) == []


async def test_deliveries_newest_first_by_state(stores: Stores) -> None:
    deliveries = stores.operations.deliveries
    for number in (1, 3, 2):
        await deliveries.put(delivery(number))
    dead = answered(delivery(3), GONE, "gone", 9.0)
    await deliveries.put(dead)
    assert await deliveries.recent(None, 2) == [dead, delivery(2)]
    assert await deliveries.recent(None, 9, (2.0, "msg_2")) == [delivery(1)]
    assert await deliveries.recent(DeliveryState.DEAD, 9) == [dead]
    assert await deliveries.by_id("msg_3") == dead
    with pytest.raises(NotFound) as caught:
        await deliveries.by_id("msg_9")
    assert caught.value.code == "delivery_not_found"


async def test_deliveries_that_wait_are_never_forgotten(stores: Stores) -> None:
    deliveries = stores.operations.deliveries
    await deliveries.put(delivery(1))
    await deliveries.put(answered(delivery(2), 200, "", 2.0))
    assert await deliveries.prune(99.0) == 1
    assert await deliveries.recent(None, 9) == [delivery(1)]


async def test_the_journal_reads_by_time(stores: Stores) -> None:
    journal = stores.operations.journal
    await journal.append([])
    await journal.append([happened(3.0), happened(1.0, "a"), happened(1.0, "b")])
    found = await journal.between(1.0, 2.0, 9)
    assert [(one.time_s, one.what, one.who) for one in found] == [
        (1.0, "a", "anna"),
        (1.0, "b", "anna"),
    ]
    assert found[0].number < found[1].number
    assert [one.time_s for one in await journal.between(0.0, 9.0, 1)] == [1.0]
    assert await journal.prune(2.0) == 2
    assert [one.time_s for one in await journal.between(0.0, 9.0, 9)] == [3.0]
