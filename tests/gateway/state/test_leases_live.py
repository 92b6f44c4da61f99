"""Tokens: one holder, waiters in order, nobody frees another's; in memory and in Redis."""

import asyncio

from controlplane.domain.admission.overload.line import Full, Granted, Terms, Waiting
from tests.gateway.state.conftest import Kept

TERMS = Terms(token_s=0.6, wait_s=0.4, claim_s=0.1, most_waiting=2)
LONG = Terms(token_s=30.0, wait_s=30.0, claim_s=30.0)


async def granted(kept: Kept, who: str, terms: Terms = TERMS) -> int:
    taken = await kept.state.leases.take(kept.key("a"), who, terms)
    assert isinstance(taken, Granted), taken
    return taken.fence


async def waiting(kept: Kept, who: str, terms: Terms = TERMS) -> Waiting:
    taken = await kept.state.leases.take(kept.key("a"), who, terms)
    assert isinstance(taken, Waiting), taken
    return taken


async def test_waiters_get_the_token_in_order_of_arrival(kept: Kept) -> None:
    leases, key = kept.state.leases, kept.key("a")
    fence = await granted(kept, "one", LONG)
    assert fence == await granted(kept, "one", LONG)
    assert 29 < (await waiting(kept, "two", LONG)).again_s <= 30
    assert (await waiting(kept, "three", LONG)).ahead == 1
    assert await leases.release(key, "one", fence)
    assert (await waiting(kept, "three", LONG)).ahead == 1
    later = await granted(kept, "two", LONG)
    assert later > fence
    assert await leases.release(key, "two", later)
    assert await granted(kept, "three", LONG) > later


async def test_a_late_holder_frees_nobodys_token(kept: Kept) -> None:
    leases, key = kept.state.leases, kept.key("a")
    fence = await granted(kept, "one")
    await kept.passes(0.65)
    later = await granted(kept, "two")
    assert not await leases.release(key, "one", fence)
    assert not await leases.release(key, "two", fence)
    assert isinstance(await leases.take(key, "three", TERMS), Waiting)
    assert await leases.release(key, "two", later)
    assert not await leases.release(key, "two", later)


async def test_who_is_late_or_dead_is_passed_over(kept: Kept) -> None:
    leases, key = kept.state.leases, kept.key("a")
    fence = await granted(kept, "one")
    await waiting(kept, "late")
    await kept.passes(0.2)
    await waiting(kept, "dead")
    await kept.passes(0.25)
    await waiting(kept, "three")
    await leases.release(key, "one", fence)
    left = await waiting(kept, "three")
    assert left.ahead == 1
    assert left.again_s <= 0.101
    await kept.passes(0.12)
    await granted(kept, "three")


async def test_a_line_has_an_end_and_who_leaves_makes_room(kept: Kept) -> None:
    leases, key = kept.state.leases, kept.key("a")
    fence = await granted(kept, "one", TERMS)
    await waiting(kept, "two")
    await waiting(kept, "three")
    assert isinstance(await leases.take(key, "four", TERMS), Full)
    await leases.leave(key, "two")
    assert (await waiting(kept, "four")).ahead == 1
    await leases.release(key, "one", fence)
    await leases.leave(key, "three")
    await granted(kept, "four")


async def test_an_answer_for_everybody_empties_the_line(kept: Kept) -> None:
    leases, key = kept.state.leases, kept.key("a")
    fence = await granted(kept, "one", LONG)
    await waiting(kept, "two", LONG)
    assert not await leases.finish(key, "two", fence)
    assert (await waiting(kept, "three", LONG)).ahead == 1
    assert await leases.finish(key, "one", fence)
    await granted(kept, "four", LONG)


async def test_keys_do_not_know_each_other(kept: Kept) -> None:
    first = await granted(kept, "one")
    taken = await kept.state.leases.take(kept.key("b"), "two", TERMS)
    assert isinstance(taken, Granted)
    assert taken.fence > first


async def test_fences_are_times(kept: Kept) -> None:
    before = await kept.state.leases.now_us()
    fence = await granted(kept, "one")
    assert before <= fence <= await kept.state.leases.now_us() + 1


async def test_who_listens_is_woken_by_a_token_that_is_free(kept: Kept) -> None:
    leases, key = kept.state.leases, kept.key("a")
    with leases.listen(key) as rung, leases.listen(key) as other:
        await asyncio.sleep(0.2)
        rung.clear()
        fence = await granted(kept, "one", LONG)
        await waiting(kept, "two", LONG)
        await waiting(kept, "three", LONG)
        assert not rung.is_set()
        await leases.release(key, "one", fence)
        await asyncio.wait_for(rung.wait(), 2)
        assert other.is_set()
        rung.clear()
        await leases.leave(key, "two")
        await asyncio.wait_for(rung.wait(), 2)


async def test_of_many_who_ask_at_once_one_gets_it(kept: Kept) -> None:
    leases, key = kept.state.leases, kept.key("a")
    taken = await asyncio.gather(*(leases.take(key, f"w{n}", LONG) for n in range(50)))
    assert sum(isinstance(one, Granted) for one in taken) == 1
    assert sorted(one.ahead for one in taken if isinstance(one, Waiting)) == list(range(49))
