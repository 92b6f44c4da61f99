"""Many wishes at once are one; a wish during the work is another."""

import asyncio

from controlplane.engine.errands import Errand


async def test_many_pokes_at_once_are_one_and_one_during_the_work_is_another() -> None:
    started: list[int] = []
    go_on = asyncio.Event()

    async def work() -> None:
        started.append(len(started))
        await go_on.wait()

    errand = Errand(work)
    task = asyncio.create_task(errand.run())
    await asyncio.sleep(0)
    assert started == []
    for _ in range(3):
        errand.poke()
    await asyncio.sleep(0.01)
    assert started == [0]
    errand.poke()
    errand.poke()
    go_on.set()
    await asyncio.sleep(0.01)
    assert started == [0, 1]
    task.cancel()
