"""DecisionStore: what was recorded comes back, newest first."""

from dataclasses import replace

import pytest

from controlplane.domain.decisions import Decision, Split
from controlplane.domain.errors import NotFound
from tests.ports.conftest import Stores
from tests.ports.examples import decision


async def test_nothing_recorded(stores: Stores) -> None:
    await stores.decisions.record([])
    assert await stores.decisions.recent(None, 10) == []
    assert await stores.decisions.newest() == {}


async def test_newest_first_of_one_service_or_of_all(stores: Stores) -> None:
    await stores.decisions.record([decision(1), decision(1, "video")])
    await stores.decisions.record([decision(2.5)])
    assert await stores.decisions.recent("tickets", 10) == [decision(2.5), decision(1)]
    assert await stores.decisions.recent(None, 2) == [decision(2.5), decision(1)]
    assert await stores.decisions.recent("unknown", 2) == []


async def test_reading_on_behind_one(stores: Stores) -> None:
    ones = [decision(2), decision(2, "video"), decision(1)]
    await stores.decisions.record(ones)
    first, *rest = await stores.decisions.recent(None, 9)
    assert await stores.decisions.recent(None, 9, (first.time_s, first.id)) == rest
    assert await stores.decisions.recent(None, 9, (1.0, "tickets@1000")) == []
    assert await stores.decisions.recent("tickets", 9, (2.0, "tickets@2000")) == [decision(1)]


async def test_newest_per_service(stores: Stores) -> None:
    await stores.decisions.record([decision(5), decision(1, "video")])
    await stores.decisions.record([decision(2)])
    newest = await stores.decisions.newest()
    assert newest == {"tickets": decision(5), "video": decision(1, "video")}


async def test_by_id(stores: Stores) -> None:
    await stores.decisions.record([decision(5)])
    assert await stores.decisions.by_id("tickets@5000") == decision(5)
    with pytest.raises(NotFound):
        await stores.decisions.by_id("tickets@1")


async def test_recording_again_changes_nothing(stores: Stores) -> None:
    await stores.decisions.record([decision(5)])
    await stores.decisions.record([decision(5)])
    assert len(await stores.decisions.recent(None, 10)) == 1


async def test_more_than_one_page_in_order(stores: Stores) -> None:
    made = [decision(float(n // 2), f"service-{n % 2}") for n in range(1_201)]
    await stores.decisions.record(made)
    expected = sorted(made, key=lambda d: (-d.time_s, d.id))
    for limit in (499, 500, 501, 1_000, 5_000):
        assert await stores.decisions.recent(None, limit) == expected[:limit]
    ones = [d for d in expected if d.service == "service-1"]
    assert await stores.decisions.recent("service-1", 550) == ones[:550]


def _at(time_s: float, east: float, service: str = "tickets") -> Decision:
    return replace(decision(time_s, service), decided=(east, 1 - east))


def _split(time_s: float, east: float) -> Split:
    return Split(time_s=time_s, shares={"east": east, "west": 1 - east})


async def test_the_history_has_what_changed_only(stores: Stores) -> None:
    await stores.decisions.record([_at(1, 0.5), _at(1, 0.9, "video")])
    for time_s, east in ((2, 0.5), (3, 0.55), (4, 0.55), (5, 0.5)):
        await stores.decisions.record([_at(time_s, east)])
    history = [_split(1, 0.5), _split(3, 0.55), _split(5, 0.5)]
    assert await stores.decisions.history("tickets", 0) == history
    assert await stores.decisions.history("video", 0) == [_split(1, 0.9)]
    assert await stores.decisions.history("unknown", 0) == []


async def test_the_history_begins_with_the_split_in_force(stores: Stores) -> None:
    await stores.decisions.record([_at(1, 0.5)])
    await stores.decisions.record([_at(3, 0.6)])
    for time_s, first in ((0.5, 0), (1, 0), (2.9, 0), (3, 1), (99, 1)):
        history = [_split(1, 0.5), _split(3, 0.6)][first:]
        assert await stores.decisions.history("tickets", time_s) == history


async def test_decisions_of_several_cycles_at_once(stores: Stores) -> None:
    await stores.decisions.record([_at(1, 0.5), _at(2, 0.6), _at(3, 0.6), _at(4, 0.5)])
    history = await stores.decisions.history("tickets", 0)
    assert history == [_split(1, 0.5), _split(2, 0.6), _split(4, 0.5)]


async def test_prune_drops_what_is_older_and_keeps_the_split_in_force(stores: Stores) -> None:
    for time_s, east in ((1, 0.5), (2, 0.6), (3, 0.6), (4, 0.5)):
        await stores.decisions.record([_at(time_s, east), _at(time_s, 0.3, "video")])
    assert await stores.decisions.prune(before_s=3) == 4
    assert [d.time_s for d in await stores.decisions.recent(None, 9)] == [4, 4, 3, 3]
    assert await stores.decisions.history("tickets", 0) == [_split(2, 0.6), _split(4, 0.5)]
    assert await stores.decisions.history("video", 0) == [_split(1, 0.3)]
    assert await stores.decisions.prune(before_s=3) == 0
    assert await stores.decisions.prune(before_s=99) == 4
    assert await stores.decisions.newest() == {}
    assert await stores.decisions.history("tickets", 99) == [_split(4, 0.5)]


async def test_prune_takes_more_than_one_transaction(stores: Stores) -> None:
    await stores.decisions.record([decision(float(n)) for n in range(2_500)])
    assert await stores.decisions.prune(before_s=2_400) == 2_400
    assert len(await stores.decisions.recent(None, 5_000)) == 100
