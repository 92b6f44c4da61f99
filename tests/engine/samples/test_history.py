from controlplane.engine.samples.history import History, Resolution, Span
from tests.fakes.stores import MemoryStores
from tests.ports.examples import sample

EVER = Span(since_s=0.0, until_s=1e12)


async def _aged() -> tuple[MemoryStores, History]:
    """Ten minutes with two samples each, the first half condensed."""
    stores = MemoryStores()
    await stores.samples.append([sample(30.0 * n) for n in range(20)])
    assert await stores.minutes.condense(300.0) == 10
    return stores, History(stores.minutes, stores.samples)


async def test_means_come_first_and_then_what_is_raw() -> None:
    _, history = await _aged()
    found = await history.newest("tickets", EVER, 100)
    minutes = [(Resolution.MINUTE, 60.0 * n + 30.0) for n in range(5)]
    raw = [(Resolution.RAW, 30.0 * n) for n in range(10, 20)]
    assert [(resolution, one.time_s) for resolution, one in found] == minutes + raw
    assert await history.newest("other", EVER, 100) == []


async def test_a_span_has_both_ends_and_the_newest_are_kept() -> None:
    _, history = await _aged()
    found = await history.newest("tickets", Span(since_s=90.0, until_s=330.0), 100)
    assert [one.time_s for _, one in found] == [90.0, 150.0, 210.0, 270.0, 300.0, 330.0]
    found = await history.newest("tickets", Span(since_s=90.0, until_s=330.0), 2)
    assert [one.time_s for _, one in found] == [300.0, 330.0]
    assert await history.newest("tickets", Span(since_s=31.0, until_s=80.0), 9) == []


async def test_page_by_page_it_is_one_list_by_time() -> None:
    _, history = await _aged()
    times: list[float] = []
    after = (0.0, "")
    while page := await history.page("tickets", after):
        times += [one.time_s for one in page]
        after = (page[-1].time_s, page[-1].datacenter)
    assert times == sorted(set(times))
    assert len(times) == 15


async def test_a_late_sample_waits_for_its_minute_and_is_not_told_out_of_order() -> None:
    stores, history = await _aged()
    await stores.samples.append([sample(61.0)])
    found = await history.newest("tickets", EVER, 100)
    assert [one.time_s for _, one in found] == sorted(one.time_s for _, one in found)
    assert len(found) == 15
    await stores.minutes.condense(300.0)
    assert len(await history.newest("tickets", EVER, 100)) == 15
