"""Named things: written to the store first, with an audit entry, never over what was not seen."""

from dataclasses import replace

import pytest

from controlplane.domain.errors import Conflict, NotFound, Refused, Retryable
from controlplane.domain.operations.webhooks import Webhook
from controlplane.engine.operations.items import Items, Kind, Written, digest_of
from controlplane.engine.stages import Instruments
from tests.builders import OPERATOR
from tests.engine.rig import Clock
from tests.fakes.operations import memory_operations
from tests.fakes.stores import MemoryStores

HOOK = Webhook(name="pager", url="https://pager.example", secret="hidden")
BY = Written(author=OPERATOR, reason="because")
KIND: Kind[Webhook] = Kind(
    word="webhook", name_of=lambda one: one.name, shown=lambda one: one.url, most=2
)


def items(stores: MemoryStores) -> Items[Webhook]:
    kept = memory_operations(stores.audit, stores.outage)
    return Items(KIND, kept.webhooks, Instruments(now=Clock().now))


async def test_a_write_is_audited_and_kept() -> None:
    stores = MemoryStores()
    hooks = items(stores)
    await hooks.put(HOOK, BY, new=True)
    await hooks.put(replace(HOOK, url="https://b.example"), BY)
    await hooks.remove("pager", BY)
    found = [(one.action, one.subject, one.before, one.after) for one in stores.audit.entries]
    assert found == [
        ("webhook.put", "webhook/pager", "", "https://pager.example"),
        ("webhook.put", "webhook/pager", "https://pager.example", "https://b.example"),
        ("webhook.remove", "webhook/pager", "https://b.example", ""),
    ]
    assert "hidden" not in str(stores.audit.entries)
    await hooks.restore()
    assert dict(hooks.all) == {}


async def test_what_was_not_seen_is_not_overwritten() -> None:
    hooks = items(MemoryStores())
    await hooks.put(HOOK, BY)
    seen = digest_of(HOOK)
    newer = replace(HOOK, disabled="x")
    await hooks.put(newer, replace(BY, expected=seen))
    with pytest.raises(Conflict, match="not what you have read"):
        await hooks.put(HOOK, replace(BY, expected=seen))
    with pytest.raises(Conflict, match="not what you have read"):
        await hooks.remove("pager", replace(BY, expected=seen))
    with pytest.raises(Conflict, match="not what you have read"):
        await hooks.put(replace(HOOK, name="new"), replace(BY, expected=seen))
    assert hooks.named("pager") == newer


async def test_names_are_taken_once_and_rooms_end() -> None:
    hooks = items(MemoryStores())
    await hooks.put(HOOK, BY)
    with pytest.raises(Conflict, match="exists"):
        await hooks.put(HOOK, BY, new=True)
    await hooks.put(replace(HOOK, name="b"), BY)
    with pytest.raises(Refused, match="at most 2"):
        await hooks.put(replace(HOOK, name="c"), BY)
    assert list(hooks.all) == ["b", "pager"]
    with pytest.raises(NotFound) as caught:
        hooks.named("zz")
    assert caught.value.code == "operation_not_found"


async def test_a_store_that_is_away_changes_nothing() -> None:
    stores = MemoryStores()
    hooks = items(stores)
    stores.outage.away = True
    with pytest.raises(Retryable):
        await hooks.put(HOOK, BY)
    assert not hooks.all


async def test_the_engines_own_steps_are_not_audited() -> None:
    stores = MemoryStores()
    hooks = items(stores)
    await hooks.keep(HOOK)
    await hooks.forget("pager")
    assert not hooks.all
    assert not stores.audit.entries
