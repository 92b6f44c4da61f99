"""DecisionStore: what was recorded comes back, newest first."""

import pytest

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
