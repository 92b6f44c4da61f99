from dataclasses import replace

import pytest

from controlplane.domain.admission.session_queue.control import whole
from controlplane.domain.admission.session_queue.policy import SessionQueuePolicy
from controlplane.domain.admission.session_queue.room import Terms, Visitor
from controlplane.domain.errors import Retryable
from gateway.admission.enforcing import Outcome
from gateway.admission.session_queue.steering import Steering
from gateway.state.memory.pools import MemoryPools
from gateway.state.ports import PoolState, Sized, Times

POLICY = SessionQueuePolicy(target_ms=500, initial_size=2)
TERMS = Terms(initial_size=2, stay_s=60, session_s=600, abandon_s=60)


async def pools_with(count: int, clock: list[float]) -> MemoryPools:
    pools = MemoryPools(lambda: clock[0])
    await pools.visit("k", [Visitor(session=f"s{each}") for each in range(count)], TERMS)
    return pools


def steering(pools: MemoryPools, grown: list[int]) -> Steering:
    return Steering(
        name="seats", policy=POLICY, pools=pools, key="k", changed=lambda: grown.append(1)
    )


async def test_one_agent_decides_and_the_other_reads_its_note() -> None:
    clock, grown, told = [0.0], [], []
    pools = await pools_with(9, clock)
    one, other = steering(pools, grown), steering(pools, told)
    for _ in range(4):
        one.seen(Outcome(status=200, took_s=0.1))
        other.seen(Outcome(status=200, took_s=0.1))
    await other.step()
    clock[0] = 5.0
    await one.step()
    assert whole(one.control) == 4
    assert grown == [1]
    await other.step()
    assert other.control == one.control
    assert told == [1]


async def test_what_never_reached_the_site_is_not_counted() -> None:
    clock: list[float] = [0.0]
    pools = await pools_with(9, clock)
    one = steering(pools, [])
    for _ in range(9):
        one.seen(Outcome(status=0, took_s=0.0, sent=False))
    clock[0] = 5.0
    await one.step()
    assert whole(one.control) == 2


@pytest.mark.parametrize("status", [0, 500, 503])
async def test_failures_shrink_the_pool(status: int) -> None:
    clock: list[float] = [0.0]
    pools = await pools_with(9, clock)
    one = steering(pools, [])
    for _ in range(9):
        one.seen(Outcome(status=status, took_s=0.0))
    clock[0] = 5.0
    await one.step()
    assert one.control.size == pytest.approx(1.0)


async def test_what_was_seen_while_the_state_was_away_is_told_later() -> None:
    clock: list[float] = [0.0]
    pools = await pools_with(9, clock)
    one = steering(pools, [])
    one.seen(Outcome(status=200, took_s=0.5))
    one.pools = _Away()
    with pytest.raises(Retryable):
        await one.step()
    one.pools = pools
    await one.step()
    clock[0] = 5.0
    state = await pools.tell("k", Times(), 5.0)
    assert state.ended is not None
    assert (state.ended.answers, state.ended.total_s) == (1, 0.5)


async def test_a_note_that_cannot_be_read_is_written_anew() -> None:
    clock: list[float] = [0.0]
    pools = await pools_with(9, clock)
    state = await pools.tell("k", Times(), 60)
    await pools.resize("k", Sized(size=3, note=b"{", number=state.number))
    one = steering(pools, [])
    await one.step()
    assert whole(one.control) == 2
    clock[0] = 5.0
    await one.step()
    assert (await pools.tell("k", Times(), 60)).note.startswith(b'{"')


async def test_a_decision_that_comes_too_late_is_not_taken_for_made() -> None:
    clock: list[float] = [0.0]
    pools = _Late(lambda: clock[0])
    await pools.visit("k", [Visitor(session=f"s{each}") for each in range(9)], TERMS)
    one = steering(pools, [])
    for _ in range(4):
        one.seen(Outcome(status=200, took_s=0.1))
    clock[0] = 5.0
    await one.step()
    assert whole(one.control) == 2


class _Away(MemoryPools):
    def __init__(self) -> None:
        super().__init__(lambda: 0.0)

    async def tell(self, key: str, times: Times, period_s: float) -> PoolState:
        raise Retryable("shared_state_away", "away")


class _Late(MemoryPools):
    async def resize(self, key: str, sized: Sized) -> bool:
        return await super().resize(key, replace(sized, number=sized.number - 1))
