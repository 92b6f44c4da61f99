"""AuditLog: newest first, and the order of writing counts when times are equal."""

from tests.ports.conftest import Stores
from tests.ports.examples import entry


async def test_newest_first(stores: Stores) -> None:
    assert await stores.audit.recent(10) == []
    for action in ("one", "two", "three"):
        await stores.audit.append(entry(action))
    assert await stores.audit.recent(2) == [entry("three"), entry("two")]


async def test_an_entry_comes_back_whole(stores: Stores) -> None:
    odd = entry("x", reason="第一 ' \" ; --\n", before="", after="z" * 5_000)
    await stores.audit.append(odd)
    assert await stores.audit.recent(1) == [odd]


async def test_entries_are_numbered_and_read_on_below_one(stores: Stores) -> None:
    for action in ("one", "two", "three"):
        await stores.audit.append(entry(action))
    newest, *_ = await stores.audit.recent(1)
    later = await stores.audit.recent(9, newest.number)
    assert [one.action for one in later] == ["two", "one"]
    assert await stores.audit.recent(9, later[-1].number) == []
