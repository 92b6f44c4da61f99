from dataclasses import replace

from controlplane.domain.admission.session_queue.room import Standing, Terms, Visited, Visitor
from gateway.state.ports import Sized, Times
from tests.gateway.state.conftest import Kept

# Times are short, because a real Redis has to live through them.
TERMS = Terms(initial_size=2, stay_s=60, session_s=600, abandon_s=60)


async def visit(kept: Kept, session: str, terms: Terms = TERMS, **ticket: float) -> Visited:
    visitor = replace(Visitor(session=session, chance=0.5), **ticket)
    (visited,) = await kept.state.pools.visit(kept.key(), [visitor], terms)
    return visited


async def crowd(kept: Kept, count: int, terms: Terms = TERMS) -> list[Visited]:
    visitors = [Visitor(session=f"s{number}") for number in range(count)]
    return list(await kept.state.pools.visit(kept.key(), visitors, terms))


async def test_the_first_ones_are_inside_and_the_others_wait_in_order(kept: Kept) -> None:
    visited = await crowd(kept, 5)
    assert [one.standing for one in visited] == [Standing.INSIDE] * 2 + [Standing.WAITING] * 3
    assert [one.position for one in visited] == [0, 0, 1, 2, 3]
    assert (visited[4].size, visited[4].inside, visited[4].waiting) == (2, 2, 3)
    assert visited[2].place < visited[3].place < visited[4].place
    assert (visited[0].place, visited[2].age_s) == (0, 0)


async def test_the_next_one_enters_when_somebody_leaves(kept: Kept) -> None:
    await crowd(kept, 4)
    assert await kept.state.pools.leave(kept.key(), "s0", 30)
    assert (await visit(kept, "s3")).position == 2
    assert (await visit(kept, "s2")).standing is Standing.INSIDE
    assert (await visit(kept, "s3")).position == 1
    assert not await kept.state.pools.leave(kept.key(), "nobody", 30)


async def test_who_is_silent_is_out(kept: Kept) -> None:
    short = replace(TERMS, stay_s=0.4, abandon_s=0.4)
    await crowd(kept, 4, short)
    await kept.passes(0.25)
    for session in ("s0", "s3"):
        await visit(kept, session, short)
    await kept.passes(0.25)
    entered = await visit(kept, "s3", short)
    assert entered.standing is Standing.INSIDE
    assert (await visit(kept, "s0", short)).age_s >= 0.5
    assert entered.waiting == 0


async def test_no_session_is_inside_for_longer_than_it_may(kept: Kept) -> None:
    terms = replace(TERMS, initial_size=1, session_s=0.3)
    await crowd(kept, 2, terms)
    await kept.passes(0.4)
    assert (await visit(kept, "s1", terms)).standing is Standing.INSIDE
    assert (await visit(kept, "s0", terms)).position == 1


async def test_a_full_line_turns_away_and_a_held_one_lets_nobody_in(kept: Kept) -> None:
    held = replace(TERMS, held=True, most_waiting=3)
    visited = await crowd(kept, 4, held)
    assert [one.position for one in visited] == [1, 2, 3, 0]
    assert visited[3].standing is Standing.TURNED_AWAY
    assert (await visit(kept, "s0")).standing is Standing.INSIDE


async def test_who_comes_before_the_start_is_drawn(kept: Kept) -> None:
    early = replace(TERMS, initial_size=1, opens_in_s=5)
    for session, chance in (("a", 0.9), ("b", 0.1), ("c", 0.5)):
        assert (await visit(kept, session, early, chance=chance)).position == 0
    assert (await visit(kept, "late", replace(early, opens_in_s=0))).position == 4
    positions = {
        one: (await visit(kept, one, replace(early, opens_in_s=0))).position for one in "bca"
    }
    assert positions == {"b": 0, "c": 1, "a": 2}


async def test_those_of_one_interval_are_drawn_and_told_afterwards(kept: Kept) -> None:
    drawn = replace(TERMS, initial_size=1, draw_s=10_000_000.0)
    await visit(kept, "inside", drawn)
    for session, chance in (("a", 0.8), ("b", 0.2)):
        assert (await visit(kept, session, drawn, chance=chance)).position == 0
    ordered = replace(drawn, draw_s=0.0)
    assert [(await visit(kept, one, ordered)).position for one in ("a", "b")] == [2, 1]


async def test_tickets_give_places_back_after_a_loss_but_not_to_those_who_left(kept: Kept) -> None:
    inside = await visit(kept, "in", age_s=40.0)
    assert inside.standing is Standing.INSIDE
    assert 40 <= inside.age_s < 45
    await crowd(kept, 2)
    assert (await visit(kept, "old", place=900.0)).position == 1
    assert (await visit(kept, "s1")).position == 2
    await kept.state.pools.leave(kept.key(), "old", 0.2)
    assert (await visit(kept, "old", place=900.0)).position == 2
    await kept.state.pools.leave(kept.key(), "in", 0.2)
    assert (await visit(kept, "s1")).standing is Standing.INSIDE
    assert (await visit(kept, "in", age_s=1.0)).position == 2
    await kept.state.pools.leave(kept.key(), "old", 0.2)
    await kept.passes(0.3)
    assert (await visit(kept, "old", place=900.0)).place == 900.0


async def test_one_agent_gets_what_all_have_seen_in_a_period(kept: Kept) -> None:
    pools, key = kept.state.pools, kept.key()
    await crowd(kept, 3)
    first = await pools.tell(key, Times(answers=2, total_s=0.5), 0.3)
    assert (first.ended, first.size, first.inside, first.waiting) == (None, 2, 2, 1)
    await kept.passes(0.4)
    ended = await pools.tell(key, Times(answers=1, failures=1, total_s=0.25), 0.3)
    assert ended.ended is not None
    assert (ended.ended.answers, ended.ended.failures) == (3, 1)
    assert (ended.ended.total_s, ended.ended.entered) == (0.75, 2)
    assert (ended.ended.inside, ended.ended.waiting) == (2, 1)
    assert 0.3 <= ended.ended.length_s < 2
    after = await pools.tell(key, Times(), 60)
    assert after.ended is None
    await kept.passes(0.1)
    empty = await pools.tell(key, Times(), 0.05)
    assert empty.ended is not None
    assert (empty.ended.answers, empty.ended.total_s, empty.ended.entered) == (0, 0, 0)


async def test_a_decision_about_a_period_that_is_over_is_not_carried_out(kept: Kept) -> None:
    pools, key = kept.state.pools, kept.key()
    await crowd(kept, 4)
    state = await pools.tell(key, Times(), 60)
    assert await pools.resize(key, Sized(size=3, note=b"{}", number=state.number))
    assert (await visit(kept, "s2")).standing is Standing.INSIDE
    assert (await visit(kept, "s3")).size == 3
    await kept.passes(0.05)
    later = await pools.tell(key, Times(), 0.01)
    assert later.note == b"{}"
    assert not await pools.resize(key, Sized(size=9, note=b"", number=state.number))
    assert (await visit(kept, "s3")).position == 1
