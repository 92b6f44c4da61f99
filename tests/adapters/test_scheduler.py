"""The calendar pokes in the loop's own thread, on time, and stops."""

import asyncio
import itertools
import threading
import time

import pytest

from controlplane.adapters import scheduler
from controlplane.adapters.scheduler import Calendar


async def test_every_pokes_in_the_loops_thread() -> None:
    calendar, times, threads = Calendar(), [], set()

    def poke() -> None:
        times.append(time.monotonic())
        threads.add(threading.get_ident())

    calendar.every(0.05, poke, "cycle")
    start = time.monotonic()
    calendar.start()
    async with asyncio.timeout(5):
        while len(times) < 3:
            await asyncio.sleep(0.01)
    calendar.stop()
    assert threads == {threading.get_ident()}
    assert times[0] - start >= 0.04
    assert times[2] - times[0] >= 0.08


async def test_nothing_is_poked_after_stop() -> None:
    calendar, pokes = Calendar(), []
    calendar.every(0.02, lambda: pokes.append(1), "cycle")
    calendar.start()
    await asyncio.sleep(0.05)
    calendar.stop()
    calendar.stop()
    count = len(pokes)
    await asyncio.sleep(0.08)
    assert len(pokes) == count


async def test_a_loop_held_up_gets_one_poke_for_many() -> None:
    calendar, pokes = Calendar(), []
    calendar.every(0.05, lambda: pokes.append(1), "cycle")
    calendar.start()
    time.sleep(0.4)  # noqa: ASYNC251  (holding the loop up is the case)
    await asyncio.sleep(0.02)
    assert len(pokes) == 1
    calendar.stop()


async def test_a_failing_poke_does_not_end_its_entry() -> None:
    calendar, pokes = Calendar(), []

    def poke() -> None:
        pokes.append(1)
        raise RuntimeError("bug")

    calendar.every(0.02, poke, "cycle")
    calendar.start()
    async with asyncio.timeout(5):
        while len(pokes) < 2:
            await asyncio.sleep(0.01)
    calendar.stop()


async def test_entries_by_name_replaced_by_the_same_name() -> None:
    calendar, pokes = Calendar(), []
    calendar.daily(3, lambda: None, "retention")
    calendar.every(3600, lambda: pokes.append("old"), "cycle")
    calendar.start()
    calendar.every(0.02, lambda: pokes.append("new"), "cycle")
    assert calendar.names() == ["cycle", "retention"]
    await asyncio.sleep(0.1)
    calendar.stop()
    assert set(pokes) == {"new"}


@pytest.mark.parametrize("hour", [-1, 24])
def test_an_hour_that_no_day_has(hour: int) -> None:
    with pytest.raises(ValueError, match=str(abs(hour))):
        Calendar().daily(hour, lambda: None, "retention")


async def test_a_timed_entry_is_told_when_it_was_due() -> None:
    calendar, due = Calendar(), []
    calendar.timed(0.05, due.append, "cycle")
    calendar.start()
    async with asyncio.timeout(5):
        while len(due) < 2:
            await asyncio.sleep(0.01)
    time.sleep(0.22)  # noqa: ASYNC251  (the calendar is held up over some due times)
    async with asyncio.timeout(5):
        while len(due) < 4:
            await asyncio.sleep(0.01)
    calendar.stop()
    steps = [round((later - earlier) / 0.05) for earlier, later in itertools.pairwise(due)]
    assert steps[0] == 1
    assert max(steps) >= 4


async def test_a_clock_that_was_set_back_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    calendar, pokes = Calendar(), []
    monkeypatch.setattr(scheduler, "LOOK_EVERY_S", 0.02)
    calendar.every(3600.05, lambda: pokes.append(1), "cycle")
    calendar.start()
    # To the entry, which is due in an hour by the clock of before, it is now that time.
    offset_s = scheduler._offset_s()
    monkeypatch.setattr(scheduler, "_offset_s", lambda: offset_s - 3600.0)
    async with asyncio.timeout(5):
        while not pokes:
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    assert pokes == [1]
    calendar.stop()
