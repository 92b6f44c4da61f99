import pytest

from gateway.state.memory.windows import MemoryWindows
from gateway.state.ports import WindowRule
from tests.gateway.state.conftest import Kept

LONG = WindowRule(window_s=1_000, limit=3)
SHORT = WindowRule(window_s=0.2, limit=2)


async def test_nothing_is_added_beyond_the_limit(kept: Kept) -> None:
    windows = kept.state.windows
    counts = [await windows.add(kept.key(), 1, LONG) for _ in range(4)]
    assert [one.added for one in counts] == [True, True, True, False]
    assert [one.count for one in counts] == [1, 2, 3, 3]
    # The slot of now leaves a window and at most one slot later.
    assert 1_000 <= counts[3].retry_after_s <= 1_100
    assert (await windows.add(kept.key("other"), 3, LONG)).added


async def test_what_never_fits_is_told_so(kept: Kept) -> None:
    refused = await kept.state.windows.add(kept.key(), 4, LONG)
    assert not refused.added
    assert refused.retry_after_s == float("inf")


async def test_without_a_limit_it_only_counts(kept: Kept) -> None:
    rule = WindowRule(window_s=1_000)
    for _ in range(5):
        last = await kept.state.windows.add(kept.key(), 2.5, rule)
    assert last.count == pytest.approx(12.5)
    assert (await kept.state.windows.add(kept.key(), 0, rule)).count == pytest.approx(12.5)


async def test_what_is_older_than_the_window_is_gone(kept: Kept) -> None:
    windows = kept.state.windows
    await windows.add(kept.key(), 2, SHORT)
    assert not (await windows.add(kept.key(), 1, SHORT)).added
    await kept.passes(0.25)
    assert (await windows.add(kept.key(), 0, SHORT)).count == 0
    assert (await windows.add(kept.key(), 2, SHORT)).added
    await kept.passes(0.5)
    assert (await windows.add(kept.key(), 2, SHORT)).added


async def test_the_leaving_slot_counts_by_its_share() -> None:
    clock = [100.0]
    windows = MemoryWindows(lambda: clock[0])
    rule = WindowRule(window_s=10, slots=2)
    await windows.add("key", 8, rule)
    clock[0] = 110.0
    assert (await windows.add("key", 0, rule)).count == 8
    clock[0] = 112.5
    assert (await windows.add("key", 0, rule)).count == 4
    clock[0] = 115.0
    assert (await windows.add("key", 0, rule)).count == 0
