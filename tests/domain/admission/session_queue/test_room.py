import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.domain.admission.session_queue.room import (
    Room,
    Standing,
    Terms,
    Visited,
    Visitor,
)

TERMS = Terms(initial_size=2, stay_s=60, session_s=600, abandon_s=30)
START_S = 1_000.0


def visit(room: Room, session: str, terms: Terms = TERMS, now_s: float = START_S) -> Visited:
    return room.visit(Visitor(session=session, chance=0.5), terms, now_s)


def crowd(room: Room, count: int, terms: Terms = TERMS) -> list[Visited]:
    return [visit(room, f"s{number}", terms) for number in range(count)]


def test_the_first_ones_are_let_in_and_the_others_wait_in_order() -> None:
    visited = crowd(Room(), 5)
    assert [one.standing for one in visited[:2]] == [Standing.INSIDE] * 2
    assert [one.position for one in visited] == [0, 0, 1, 2, 3]
    assert (visited[-1].size, visited[-1].inside, visited[-1].waiting) == (2, 2, 3)


def test_the_next_one_enters_when_somebody_leaves() -> None:
    room = Room()
    crowd(room, 4)
    assert room.leave("s0", 30, START_S)
    assert visit(room, "s3").position == 2
    assert visit(room, "s2").standing is Standing.INSIDE
    assert visit(room, "s3").position == 1
    assert not room.leave("nobody", 30, START_S)


def test_who_is_inside_stays_for_as_long_as_he_goes_on() -> None:
    room = Room()
    crowd(room, 3)
    later = visit(room, "s0", now_s=START_S + 50)
    assert later.standing is Standing.INSIDE
    assert later.age_s == 50
    visit(room, "s2", now_s=START_S + 25)
    visit(room, "s2", now_s=START_S + 50)
    assert visit(room, "s2", now_s=START_S + 61).standing is Standing.INSIDE
    assert visit(room, "s1", now_s=START_S + 61).position == 1


def test_no_session_is_inside_for_longer_than_it_may() -> None:
    room, terms = Room(), replace(TERMS, initial_size=1, session_s=100)
    visit(room, "old", terms)
    for seconds in (50, 99):
        assert visit(room, "old", terms, START_S + seconds).standing is Standing.INSIDE
    visit(room, "new", terms, START_S + 99)
    assert visit(room, "new", terms, START_S + 100).standing is Standing.INSIDE
    assert visit(room, "old", terms, START_S + 100).position == 1


def test_who_waits_and_does_not_ask_has_gone() -> None:
    room = Room()
    crowd(room, 5)
    for session in ("s0", "s1", "s4"):
        visit(room, session, now_s=START_S + 29)
    assert visit(room, "s4", now_s=START_S + 30).position == 1
    assert room.waiting == 1


def test_a_smaller_pool_puts_nobody_out() -> None:
    room = Room()
    crowd(room, 4)
    room.size = 1
    assert visit(room, "s1").standing is Standing.INSIDE
    room.leave("s0", 1, START_S)
    assert visit(room, "s2").position == 1
    room.leave("s1", 1, START_S)
    assert visit(room, "s2").standing is Standing.INSIDE


def test_a_full_line_turns_away() -> None:
    terms = replace(TERMS, most_waiting=1)
    visited = crowd(Room(), 4, terms)
    assert visited[3].standing is Standing.TURNED_AWAY
    assert visited[3].waiting == 1


def test_nobody_enters_while_it_is_held() -> None:
    room, held = Room(), replace(TERMS, held=True)
    assert visit(room, "a", held).position == 1
    assert visit(room, "a").standing is Standing.INSIDE
    assert visit(room, "a", held).standing is Standing.INSIDE


def test_all_who_come_before_the_start_are_shuffled_and_later_ones_stand_behind() -> None:
    room, early = Room(), replace(TERMS, opens_in_s=10.0)
    chances = {"a": 0.9, "b": 0.1, "c": 0.5, "d": 0.0}
    for session, chance in chances.items():
        visited = room.visit(Visitor(session=session, chance=chance), early, START_S)
        assert visited.position == 0
        assert visited.standing is Standing.WAITING
    visit(room, "late", now_s=START_S + 10)
    now_s = START_S + 11
    assert [visit(room, one, now_s=now_s).position for one in ("late", "a")] == [5, 4]
    assert visit(room, "d", now_s=now_s).standing is Standing.INSIDE
    assert visit(room, "b", now_s=now_s).standing is Standing.INSIDE
    assert [visit(room, one, now_s=now_s).position for one in ("c", "a", "late")] == [1, 2, 3]


def test_a_draw_orders_those_of_one_interval_and_tells_positions_afterwards() -> None:
    room, drawn = Room(), replace(TERMS, initial_size=1, draw_s=10.0)
    visit(room, "inside", drawn)
    for session, chance in (("a", 0.8), ("b", 0.2)):
        visited = room.visit(Visitor(session=session, chance=chance), drawn, START_S + 1)
        assert visited.position == 0
    later = room.visit(Visitor(session="c", chance=0.0), drawn, START_S + 10)
    assert later.position == 0
    positions = {one: visit(room, one, drawn, START_S + 11).position for one in "abc"}
    assert positions == {"a": 2, "b": 1, "c": 0}


def test_tickets_give_places_back_after_a_loss() -> None:
    room = Room()
    inside = Visitor(session="in", age_s=40.0)
    assert room.visit(inside, TERMS, START_S).age_s == 40
    crowd(room, 2)
    old = room.visit(Visitor(session="old", place=900.0), TERMS, START_S)
    assert (old.position, old.place) == (1, 900.0)
    assert visit(room, "s1").position == 2
    too_old = room.visit(Visitor(session="x", age_s=600.0), TERMS, START_S)
    assert too_old.position == 3


def test_tickets_give_nothing_back_to_those_who_left() -> None:
    room = Room()
    crowd(room, 3)
    room.leave("s0", 30, START_S)
    room.leave("s2", 30, START_S)
    visit(room, "s3")
    assert room.visit(Visitor(session="s0", age_s=1.0), TERMS, START_S).position == 1
    assert room.visit(Visitor(session="s2", place=900.0), TERMS, START_S).position == 2
    room.sweep(START_S + 30)
    again = room.visit(Visitor(session="s2", place=900.0), TERMS, START_S + 30)
    assert again.place == 900.0


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    draw_s=st.sampled_from([0.0, 3.0]),
    opens_at_s=st.sampled_from([0.0, START_S + 20]),
)
def test_positions_never_rise_and_the_pool_is_never_overfull(
    seed: int, draw_s: float, opens_at_s: float
) -> None:
    rng, room, now_s = random.Random(seed), Room(), START_S
    positions: dict[str, int] = {}
    for _ in range(400):
        now_s += rng.random()
        session = f"s{rng.randrange(40)}"
        if rng.random() < 0.1:
            room.leave(session, 30, now_s)
            positions.pop(session, None)
            continue
        terms = replace(TERMS, draw_s=draw_s, opens_in_s=opens_at_s - now_s)
        visited = room.visit(Visitor(session=session, chance=rng.random()), terms, now_s)
        known = positions.get(session, 0)
        # Who did not ask for too long is somebody new.
        if visited.position and known and visited.place == positions[session + "@"]:
            assert visited.position <= known
        positions[session] = visited.position
        positions[session + "@"] = visited.place  # type: ignore[assignment]
        assert room.inside <= 2


@pytest.mark.parametrize("leaves", [True, False])
def test_thirty_join_ten_vanish_and_the_next_ten_live_ones_enter(leaves: bool) -> None:
    room, terms = Room(), replace(TERMS, initial_size=10)
    crowd(room, 30, terms)
    alive = [f"s{number}" for number in range(30) if number not in range(10, 20)]
    for seconds in range(5, 35, 5):
        for session in alive:
            visit(room, session, terms, START_S + seconds)
    for number in range(10 if leaves else 0):
        room.leave(f"s{number}", 30, START_S + 30)
    standings = [visit(room, one, terms, START_S + 31).standing for one in alive[10:]]
    assert standings == [Standing.INSIDE if leaves else Standing.WAITING] * 10
