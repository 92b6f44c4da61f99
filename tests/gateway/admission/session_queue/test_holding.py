import asyncio
from collections.abc import Sequence

from controlplane.domain.admission.session_queue.room import Room, Standing, Terms, Visited, Visitor
from controlplane.domain.errors import Retryable
from gateway.admission.session_queue.holding import MOST_AT_ONCE, SPARE, Holding

TERMS = Terms(initial_size=1, stay_s=1_000, session_s=1_000, abandon_s=1_000)


class Door:
    """A room that counts how many are asked for at once, and may be away."""

    def __init__(self) -> None:
        self.room = Room()
        self.asked: list[int] = []
        self.away = False
        self._now_s = 1_000.0

    async def visit(self, visitors: Sequence[Visitor]) -> list[Visited]:
        if self.away:
            raise Retryable("shared_state_away", "away")
        self.asked.append(len(visitors))
        self._now_s += 0.001
        return [self.room.visit(visitor, TERMS, self._now_s) for visitor in visitors]

    async def join(self, holding: Holding, session: str) -> Visited:
        visitor = Visitor(session=session)
        (visited,) = await self.visit([visitor])
        if visited.standing is Standing.INSIDE:
            return visited
        return await holding.wait(visitor, visited, 5.0)


async def test_those_who_came_later_do_not_hide_those_who_wait_longer() -> None:
    """A position that was told long ago is higher than one of a newcomer behind it."""
    door = Door()
    holding = Holding(door.visit, 0.01, 100.0)
    elsewhere = [Visitor(session=f"e{number}") for number in range(60)]
    await door.visit(elsewhere)
    waits = asyncio.create_task(door.join(holding, "waits"))
    await asyncio.sleep(0)
    for one in elsewhere:
        door.room.leave(one.session, 1.0, door._now_s)
    await door.visit([Visitor(session="inside", age_s=1.0)])
    behind = [asyncio.create_task(door.join(holding, f"b{n}")) for n in range(20)]
    await asyncio.sleep(0.05)
    door.room.leave("inside", 1.0, door._now_s)
    assert (await asyncio.wait_for(waits, 1)).standing is Standing.INSIDE
    await holding.close()
    await asyncio.gather(*behind)


async def test_few_calls_are_made_for_many_who_wait() -> None:
    door = Door()
    holding = Holding(door.visit, 0.01, 0.05)
    await door.join(holding, "inside")
    tasks = [asyncio.create_task(door.join(holding, f"s{n}")) for n in range(MOST_AT_ONCE + 50)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    door.asked.clear()
    await asyncio.sleep(0.2)
    assert set(door.asked) <= {1 + SPARE, MOST_AT_ONCE, 50}
    assert door.asked
    assert len(door.asked) <= 30
    await holding.close()
    assert {one.standing for one in await asyncio.gather(*tasks)} == {Standing.WAITING}


async def test_who_waits_goes_on_waiting_while_the_state_is_away() -> None:
    door = Door()
    holding = Holding(door.visit, 0.01, 100.0)
    await door.join(holding, "inside")
    waiting = asyncio.create_task(door.join(holding, "next"))
    await asyncio.sleep(0.02)
    door.away = True
    door.room.leave("inside", 1.0, 2_000.0)
    await asyncio.sleep(0.05)
    assert not waiting.done()
    door.away = False
    assert (await asyncio.wait_for(waiting, 1)).standing is Standing.INSIDE
    await holding.close()


async def test_nothing_runs_where_nobody_waits() -> None:
    holding = Holding(Door().visit, 0.01, 1.0)
    holding.freed()
    await holding.close()
    assert len(holding) == 0


async def test_nobody_waits_where_nobody_asks_any_more() -> None:
    """His first question was under way while the policy changed."""
    door = Door()
    holding = Holding(door.visit, 0.01, 0.05)
    await door.join(holding, "inside")
    await holding.close()
    async with asyncio.timeout(1):
        assert (await door.join(holding, "late")).standing is Standing.WAITING
