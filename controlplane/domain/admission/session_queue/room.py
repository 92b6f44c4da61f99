"""Who is inside and who waits: the state machine of one queue, told the time.

A place in the line is a time: that of arrival, or a random one within the interval in which all
arrivals are drawn, or before all times for those who came before the start. Places never change
and nobody new gets one before an older one whose position is known, so that positions never rise.

Used by `gateway.state.memory` as it is; `gateway.state.redis` says the same in Lua, and one suite
tries both. Bounded by `most_waiting` and the size of the pool; who left is remembered for a time.
"""

import math
from bisect import bisect_left, insort
from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.admission.session_queue.deadlines import Deadlines

# Two arrivals within one reading of the clock have an order, too.
TICK_S = 1e-6


class Standing(StrEnum):
    """`INSIDE` is served; `WAITING` has a place; `TURNED_AWAY` got none, the line is full."""

    INSIDE = "inside"
    WAITING = "waiting"
    TURNED_AWAY = "turned_away"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The rules of a visit, from the policy.

    Attributes:
        initial_size: of a pool that nobody has sized yet.
        stay_s: without a visit for so long, whoever is inside is out.
        session_s: nobody is inside for longer.
        abandon_s: without a visit for so long, whoever waits is out.
        draw_s: interval in which arrivals are put in random order; 0 is first in, first out.
        opens_in_s: nobody enters for so long; at most 0 is open.
        most_waiting: nobody more gets a place.
        held: nobody enters.
    """

    initial_size: int
    stay_s: float
    session_s: float
    abandon_s: float
    draw_s: float = 0.0
    opens_in_s: float = 0.0
    most_waiting: int = 100_000
    held: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """One who asks. What a ticket says of him counts only where nothing is known of him, as after
    a loss of the shared state.

    Attributes:
        chance: a random number, 0 <= chance < 1, for the draw.
        place: of a ticket for waiting; 0 is none.
        age_s: since he entered, of a ticket for the inside; negative is none.
    """

    session: str
    chance: float = 0.0
    place: float = 0.0
    age_s: float = -1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Visited:
    """What became of one who asked.

    Attributes:
        position: 1 is the next; 0 is inside, turned away, or not drawn yet.
        place: in the line; 0 when he does not wait.
        age_s: since he entered; 0 when he waits.
        size, inside, waiting: of the pool and the line after it.
    """

    standing: Standing
    position: int = 0
    place: float = 0.0
    age_s: float = 0.0
    size: int = 0
    inside: int = 0
    waiting: int = 0


class Room:
    """One pool with its line."""

    __slots__ = ("_entered", "_last", "_left", "_line", "_places", "_present", "entries", "size")

    def __init__(self) -> None:
        self.size = 0
        self.entries = 0
        self._entered: dict[str, float] = {}
        self._places: dict[str, float] = {}
        self._line: list[tuple[float, str]] = []
        # When whoever is inside or waits is out, and how long whoever left is remembered.
        self._present = Deadlines()
        self._left = Deadlines()
        self._last = 1.0

    @property
    def inside(self) -> int:
        """Sessions that are served."""
        return len(self._entered)

    @property
    def waiting(self) -> int:
        """Sessions in the line."""
        return len(self._line)

    def visit(self, visitor: Visitor, terms: Terms, now_s: float) -> Visited:
        """Let somebody in, give him a place, or tell him where he stands."""
        self.sweep(now_s)
        self.size = self.size or terms.initial_size
        session = visitor.session
        if session not in self._present and not self._seat(visitor, terms, now_s):
            return self._visited(Standing.TURNED_AWAY)
        if session in self._places and self._may_enter(session, terms):
            self._unline(session)
            self._entered[session] = now_s
            self.entries += 1
        if session in self._entered:
            since_s = self._entered[session]
            self._present.put(session, min(now_s + terms.stay_s, since_s + terms.session_s))
            return self._visited(Standing.INSIDE, age_s=now_s - since_s)
        self._present.put(session, now_s + terms.abandon_s)
        place = self._places[session]
        known = _drawn(place, terms, now_s)
        position = bisect_left(self._line, (place, session)) + 1 if known else 0
        return self._visited(Standing.WAITING, position=position, place=place)

    def leave(self, session: str, remembered_s: float, now_s: float) -> bool:
        """Take somebody out; for a time his tickets give him nothing back.

        Returns:
            Whether he was inside or waited.
        """
        self.sweep(now_s)
        self._left.put(session, now_s + remembered_s)
        present = self._present.drop(session)
        if present:
            self._out(session)
        return present

    def sweep(self, now_s: float) -> None:
        """Drop everybody whose time is over."""
        for session in self._present.over(now_s):
            self._out(session)
        for _ in self._left.over(now_s):
            pass

    def _seat(self, visitor: Visitor, terms: Terms, now_s: float) -> bool:
        """Put somebody unknown where his ticket says, else at the back."""
        remembered = visitor.session in self._left
        if 0 <= visitor.age_s < terms.session_s and not remembered:
            self._entered[visitor.session] = now_s - visitor.age_s
            return True
        if self.waiting >= terms.most_waiting and self.inside + self.waiting >= self.size:
            return False
        place = visitor.place
        if not place or remembered:
            place = self._new_place(visitor.chance, terms, now_s)
        self._last = max(self._last, place)
        self._places[visitor.session] = place
        insort(self._line, (place, visitor.session))
        return True

    def _new_place(self, chance: float, terms: Terms, now_s: float) -> float:
        if terms.opens_in_s > 0:
            return max(chance, TICK_S)
        if terms.draw_s <= 0:
            return max(now_s, self._last + TICK_S)
        interval = math.floor(max(now_s, self._last) / terms.draw_s)
        return (interval + chance) * terms.draw_s

    def _may_enter(self, session: str, terms: Terms) -> bool:
        if terms.held or terms.opens_in_s > 0:
            return False
        rank = bisect_left(self._line, (self._places[session], session))
        return rank < self.size - self.inside

    def _out(self, session: str) -> None:
        if self._entered.pop(session, None) is None:
            self._unline(session)

    def _unline(self, session: str) -> None:
        place = self._places.pop(session)
        del self._line[bisect_left(self._line, (place, session))]

    def _visited(
        self, standing: Standing, position: int = 0, place: float = 0.0, age_s: float = 0.0
    ) -> Visited:
        return Visited(
            standing=standing,
            position=position,
            place=place,
            age_s=age_s,
            size=self.size,
            inside=self.inside,
            waiting=self.waiting,
        )


def _drawn(place: float, terms: Terms, now_s: float) -> bool:
    """Nobody new can come before him any more."""
    if terms.opens_in_s > 0:
        return False
    if terms.draw_s <= 0:
        return True
    return math.floor(place / terms.draw_s) < math.floor(now_s / terms.draw_s)
