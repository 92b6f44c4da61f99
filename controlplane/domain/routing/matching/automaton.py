"""Regular expressions without backtracking: time grows with the text, whatever the expression.

Thompson's construction ("Regular expression search algorithm", 1968), all states in step as in
Pike's machine, a set of states being one integer. A backtracking engine takes years for some texts
that a caller chooses; only where every next character leaves one way on (`is_deterministic`) it
tries each just once. Called by `dialect`.
"""

import string
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, auto

# What reads Python's expressions; `re` has no public name for it.
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as reader  # type: ignore[attr-defined]
from typing import Any, NamedTuple

from controlplane.domain.routing.expressions import LARGEST_PROGRAM

# Characters beyond one byte are all alike: one bit more.
_BEYOND = 256
_ANYTHING = (1 << (_BEYOND + 1)) - 1
# Steps of one expression; four times what a route may have, as a step may need some beside it.
_MOST_STEPS = 4 * LARGEST_PROGRAM
# What is remembered of one expression, each up to 2.5 KB.
_MOST_REACHED = 4_000


def _set_of(characters: Iterable[str]) -> int:
    return sum(1 << ord(one) for one in set(characters))


_WORD = _set_of(string.ascii_letters + string.digits + "_")
_CATEGORIES = {
    op.CATEGORY_DIGIT: _set_of(string.digits),
    op.CATEGORY_SPACE: _set_of(" \t\n\r\f\v"),
    op.CATEGORY_WORD: _WORD,
    op.CATEGORY_NOT_DIGIT: _ANYTHING & ~_set_of(string.digits),
    op.CATEGORY_NOT_SPACE: _ANYTHING & ~_set_of(" \t\n\r\f\v"),
    op.CATEGORY_NOT_WORD: _ANYTHING & ~_WORD,
}
_LINE_END = _set_of("\n")


class NotRegular(Exception):
    """An expression that no automaton can decide (look-around, back references and the like), or
    not in bounds."""


class _Side(Enum):
    """What assertions know of a character."""

    NONE = auto()
    LINE_END = auto()
    WORD = auto()
    OTHER = auto()


class _Here(NamedTuple):
    """What stands on both sides of a place in a text."""

    before: _Side = _Side.NONE
    after: _Side = _Side.NONE


@dataclass(slots=True)
class _Program:
    """Steps by number: a set of characters that leads to the next step, or where to go on.

    Attributes:
        sets: of each step, 0 for those that read nothing.
        onward: of each step that reads nothing, the steps behind it.
        asserts: what must hold at a step's place.
    """

    sets: list[int] = field(default_factory=list)
    onward: dict[int, list[int]] = field(default_factory=dict)
    asserts: dict[int, Any] = field(default_factory=dict)

    def step(self, characters: int = 0) -> int:
        if len(self.sets) >= _MOST_STEPS:
            raise NotRegular
        self.sets.append(characters)
        number = len(self.sets) - 1
        if not characters:
            self.onward[number] = [number + 1]
        return number

    def add(self, items: Any, flags: int) -> None:
        for kind, value in items:
            self._add_one(kind, value, flags)

    def _add_one(self, kind: Any, value: Any, flags: int) -> None:
        match kind:
            case op.LITERAL | op.NOT_LITERAL | op.ANY | op.IN:
                characters = _characters(kind, value, flags)
                # Of no character at all nothing leads on.
                number = self.step(characters)
                if not characters:
                    self.onward[number] = []
            case op.SUBPATTERN:
                _, added, removed, items = value
                self.add(items, (flags | added) & ~removed)
            case op.BRANCH:
                self._add_branches(value[1], flags)
            case op.MAX_REPEAT | op.MIN_REPEAT:
                self._add_repeated(value, flags)
            case op.AT:
                self.asserts[self.step()] = _assertion(value, flags)
            case _:
                raise NotRegular

    def _add_branches(self, branches: Any, flags: int) -> None:
        fork = self.step()
        starts, ends = [], []
        for items in branches:
            starts.append(len(self.sets))
            self.add(items, flags)
            ends.append(self.step())
        self.onward[fork] = starts
        for end in ends:
            self.onward[end] = [len(self.sets)]

    def _add_repeated(self, value: Any, flags: int) -> None:
        least, most, items = value
        if items.getwidth()[1] == 0:
            # What reads nothing may be asked once as well as a thousand times.
            least, most = min(least, 1), min(most, 1)
        for _ in range(least):
            self.add(items, flags)
        if most is op.MAXREPEAT:
            fork = self.step()
            self.add(items, flags)
            self.onward[self.step()] = [fork]
            self.onward[fork].append(len(self.sets))
            return
        forks = []
        for _ in range(most - least):
            forks.append(self.step())
            self.add(items, flags)
        for fork in forks:
            self.onward[fork].append(len(self.sets))


def _characters(kind: Any, value: Any, flags: int) -> int:
    match kind:
        case op.ANY:
            return _ANYTHING if flags & op.SRE_FLAG_DOTALL else _ANYTHING & ~_LINE_END
        case op.LITERAL:
            return _in_both_cases(1 << min(value, _BEYOND), flags)
        case op.NOT_LITERAL:
            return _ANYTHING & ~_in_both_cases(1 << min(value, _BEYOND), flags)
    found = 0
    for part, what in value:
        match part:
            case op.LITERAL:
                found |= 1 << min(what, _BEYOND)
            case op.RANGE:
                low, high = (min(one, _BEYOND) for one in what)
                found |= (1 << (high + 1)) - (1 << low)
            case op.CATEGORY:
                found |= _CATEGORIES[what]
    found = _in_both_cases(found, flags)
    return _ANYTHING & ~found if value[0][0] is op.NEGATE else found


def _in_both_cases(characters: int, flags: int) -> int:
    if not flags & op.SRE_FLAG_IGNORECASE:
        return characters
    upper, lower = _set_of(string.ascii_uppercase), _set_of(string.ascii_lowercase)
    distance = ord("a") - ord("A")
    return characters | (characters & upper) << distance | (characters & lower) >> distance


def _assertion(value: Any, flags: int) -> Any:
    if not flags & op.SRE_FLAG_MULTILINE:
        return value
    by_line = {op.AT_BEGINNING: op.AT_BEGINNING_LINE, op.AT_END: op.AT_END_LINE}
    return by_line.get(value, value)


def _holds(assertion: Any, here: _Here) -> bool:
    match assertion:
        case op.AT_BEGINNING | op.AT_BEGINNING_STRING:
            return here.before is _Side.NONE
        case op.AT_END | op.AT_END_STRING:
            return here.after is _Side.NONE
        case op.AT_BEGINNING_LINE:
            return here.before in (_Side.NONE, _Side.LINE_END)
        case op.AT_END_LINE:
            return here.after in (_Side.NONE, _Side.LINE_END)
        case op.AT_BOUNDARY:
            return (here.before is _Side.WORD) != (here.after is _Side.WORD)
        case _:
            return (here.before is _Side.WORD) == (here.after is _Side.WORD)


_ANYWHERE = _Here()


class Automaton:
    """One expression, ready to be asked.

    Args:
        expression: as Python's engine reads it, with ASCII classes.

    Raises:
        NotRegular: no automaton can decide it.
        re.error: it is no expression.
    """

    __slots__ = ("_end", "_forks", "_program", "_reached")

    def __init__(self, expression: str) -> None:
        tree = reader.parse(expression, op.SRE_FLAG_ASCII)
        self._program = _Program()
        self._program.add(tree, tree.state.flags)
        self._end = self._program.step()
        self._program.onward[self._end] = []
        self._forks = sum(1 << step for step in self._program.onward)
        # Where assertions are, what a step leads to depends on the place.
        self._reached: dict[tuple[int, _Here], int] = {}

    @property
    def is_deterministic(self) -> bool:
        """Whether after each text at most one way leads on, so that trying one after the other
        never has to go back far. False also when that is not known."""
        program = self._program
        if program.asserts:
            return False
        behind = (n + 1 for n, characters in enumerate(program.sets) if characters)
        return all(self._one_way(start) for start in (0, *behind))

    def _one_way(self, start: int) -> bool:
        taken = 0
        seen = {start}
        waiting = [start]
        while waiting:
            number = waiting.pop()
            characters = self._program.sets[number]
            if taken & characters:
                return False
            taken |= characters
            for step in self._program.onward.get(number, ()):
                if step in seen:
                    # Two ways to one step, even if they read the same.
                    return False
                seen.add(step)
                waiting.append(step)
        return True

    def matches(self, text: str) -> bool:
        """Whether it matches all of a text."""
        codes = [min(ord(one), _BEYOND) for one in text]
        *places, end = self._places(codes)
        known: dict[tuple[int, int, _Here], int] = {}
        reading = {code: self._reading(code) for code in set(codes)}
        states = 1
        for code, here in zip(codes, places, strict=True):
            key = (states, code, here)
            after = known.get(key)
            if after is None:
                after = (self._without_reading(states, here) & reading[code]) << 1
                known[key] = after
            if not after:
                return False
            states = after
        return bool(self._without_reading(states, end) >> self._end & 1)

    def _places(self, codes: list[int]) -> list[_Here]:
        """Before each character, and at the end."""
        if not self._program.asserts:
            return [_ANYWHERE] * (len(codes) + 1)
        sides = [_Side.NONE, *map(_side, codes), _Side.NONE]
        return list(map(_Here, sides, sides[1:]))

    def _reading(self, code: int) -> int:
        """The steps that read a character."""
        return sum(
            1 << n for n, characters in enumerate(self._program.sets) if characters >> code & 1
        )

    def _without_reading(self, states: int, here: _Here) -> int:
        """The steps that are reached from some before the next character, with these."""
        found = states
        left = states & self._forks
        while left:
            first = (left & -left).bit_length() - 1
            reached = self._from_fork(first, here)
            found |= reached
            # What is reached is reached with all that it leads to.
            left &= ~reached
        return found

    def _from_fork(self, fork: int, here: _Here) -> int:
        found = self._reached.get((fork, here))
        if found is None:
            if len(self._reached) >= _MOST_REACHED:
                self._reached.clear()
            found = self._reached[fork, here] = self._from_one(fork, here)
        return found

    def _from_one(self, start: int, here: _Here) -> int:
        program = self._program
        seen = 1 << start
        waiting = [start]
        while waiting:
            number = waiting.pop()
            if number in program.asserts and not _holds(program.asserts[number], here):
                continue
            for step in program.onward.get(number, ()):
                if not seen >> step & 1:
                    seen |= 1 << step
                    waiting.append(step)
        return seen


def _side(code: int) -> _Side:
    if code == ord("\n"):
        return _Side.LINE_END
    return _Side.WORD if _WORD >> code & 1 else _Side.OTHER
