from gateway.state.ports import Bounds
from tests.gateway.state.conftest import Kept


async def test_a_counter_stays_within_its_bounds(kept: Kept) -> None:
    counters, stock = kept.state.counters, Bounds(low=0, start=2)
    sold = [await counters.add(kept.key(), -1, stock) for _ in range(3)]
    assert [one.added for one in sold] == [True, True, False]
    assert [one.value for one in sold] == [1, 0, 0]
    quota = Bounds(high=2)
    given = [await counters.add(kept.key("quota"), 1, quota) for _ in range(3)]
    assert [(one.value, one.added) for one in given] == [(1, True), (2, True), (2, False)]


async def test_reading_makes_no_counter(kept: Kept) -> None:
    read = await kept.state.counters.add(kept.key(), 0, Bounds(start=7))
    assert read.value == 7
    assert (await kept.state.counters.add(kept.key(), 0, Bounds(start=8))).value == 8


async def test_a_value_outside_bounds_that_changed_comes_back(kept: Kept) -> None:
    counters = kept.state.counters
    await counters.add(kept.key(), 10, Bounds())
    assert not (await counters.add(kept.key(), 1, Bounds(high=5))).added
    assert (await counters.add(kept.key(), -1, Bounds(high=5))).value == 9


async def test_its_time_runs_from_the_first_change(kept: Kept) -> None:
    counters, bounds = kept.state.counters, Bounds(ttl_s=0.2)
    await counters.add(kept.key(), 1, bounds)
    await kept.passes(0.15)
    await counters.add(kept.key(), 1, bounds)
    await kept.passes(0.1)
    assert (await counters.add(kept.key(), 0, bounds)).value == 0
