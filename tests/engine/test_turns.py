"""One after another, and nobody waits for what has just failed."""

import asyncio

import pytest

from controlplane.domain.errors import Conflict, ControlPlaneError, Retryable
from controlplane.engine.turns import Turns


class Writer:
    """Writes that end as the test says, and what came of each."""

    def __init__(self) -> None:
        self.turns = Turns()
        self.go_on = asyncio.Event()
        self.tried = 0

    async def write(self, error: ControlPlaneError | None = None) -> int:
        async with self.turns:
            self.tried += 1
            await self.go_on.wait()
            if error is not None:
                raise error
            return self.tried


async def test_one_after_another() -> None:
    writer = Writer()
    tasks = [asyncio.create_task(writer.write()) for _ in range(3)]
    await asyncio.sleep(0)
    assert writer.tried == 1
    writer.go_on.set()
    assert await asyncio.gather(*tasks) == [1, 2, 3]


async def test_who_waited_behind_an_outage_hears_of_it_at_once() -> None:
    writer = Writer()
    outage = Retryable("store_unavailable", "full", {"reason": "full"}, after_s=3.0)
    tasks = [asyncio.create_task(writer.write(outage)) for _ in range(5)]
    await asyncio.sleep(0)
    writer.go_on.set()
    for told in await asyncio.gather(*tasks, return_exceptions=True):
        assert isinstance(told, Retryable)
        assert (told.message, told.details, told.after_s) == ("full", {"reason": "full"}, 3.0)
    assert writer.tried == 1
    assert await writer.write() == 2


async def test_other_errors_are_their_own() -> None:
    writer = Writer()
    failing = asyncio.create_task(writer.write(Conflict("a_code", "words")))
    waiting = asyncio.create_task(writer.write())
    await asyncio.sleep(0)
    writer.go_on.set()
    with pytest.raises(Conflict):
        await failing
    assert await waiting == 2
