import asyncio

from controlplane.domain.decisions import Trigger
from controlplane.engine.pokes import Pokes


async def test_a_burst_becomes_one_take() -> None:
    pokes = Pokes(quiet_s=0.01, wait_s=1.0)
    for index in range(50):
        pokes.poke(Trigger.ALARM, [f"s{index}"])
    taken = await pokes.take()
    assert len(taken) == 50
    waiting = asyncio.create_task(pokes.take())
    await asyncio.sleep(0.03)
    assert not waiting.done()
    waiting.cancel()


async def test_a_steady_stream_waits_no_longer_than_the_maximum() -> None:
    pokes = Pokes(quiet_s=0.01, wait_s=0.05)
    stop = asyncio.Event()

    async def stream() -> None:
        while not stop.is_set():
            pokes.poke(Trigger.OPERATOR)
            await asyncio.sleep(0.002)

    task = asyncio.create_task(stream())
    async with asyncio.timeout(1.0):
        assert await pokes.take()
    stop.set()
    await task


async def test_pokes_that_could_not_be_served_come_back() -> None:
    pokes = Pokes(quiet_s=0.001)
    pokes.poke(Trigger.TIMER)
    taken = await pokes.take()
    pokes.again(taken, 0.01)
    async with asyncio.timeout(1.0):
        assert await pokes.take() == taken
