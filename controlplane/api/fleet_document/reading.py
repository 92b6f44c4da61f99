"""Typed values from nodes: each rule returns a value, or reports a finding and returns a stand-in.

Called by `sections` and `services`. A stand-in never leaves the parser, because a document with
a finding makes no fleet; it lets the reading go on, so that every error shows at once.
"""

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from controlplane.api.fleet_document.findings import Finding, Findings, listed, quoted
from controlplane.api.fleet_document.lookalikes import forms, printable
from controlplane.api.fleet_document.nodes import Listing, Node, Scalar, Table

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", re.ASCII)
# Without leading zeros: 010 is ten to one reader and eight to another.
INTEGER = re.compile(r"[+-]?(0|[1-9][0-9]{0,17})", re.ASCII)
# What YAML reads as a number without quotes; "1e3" is one here as in JSON.
NUMBER = re.compile(
    r"[+-]?((0|[1-9][0-9]{0,39})(\.[0-9]{0,40})?|\.[0-9]{1,40})([eE][+-]?[0-9]{1,3})?", re.ASCII
)
NULLS = frozenset({"", "~", "null", "Null", "NULL"})
SWITCH = {"true": True, "false": False}
NAME_RULE = "1..63 of A-Z a-z 0-9 . _ - that begin with a letter or digit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A node with its path in the document; findings go to the document's collection.

    Attributes:
        path: for people, `services[0].name`. pointer: the same as a JSON pointer.
    """

    node: Node
    path: str
    findings: Findings
    pointer: str = ""

    def report(self, allowed: str, found: str | None = None) -> None:
        """Add a finding at this place; `found` defaults to what stands here."""
        self.findings.add(
            Finding(
                line=self.node.line,
                column=self.node.column,
                path=self.path or "the document",
                pointer=self.pointer,
                found=shown(self.node) if found is None else found,
                allowed=allowed,
            )
        )

    def child(self, name: str, node: Node) -> "Place":
        """The place of an entry of this table."""
        shown = printable(name)
        return Place(
            node=node,
            path=f"{self.path}.{shown}" if self.path else shown,
            findings=self.findings,
            pointer=f"{self.pointer}/{name.replace('~', '~0').replace('/', '~1')}",
        )

    def items(self, allowed: str = "a list") -> "Iterator[Place]":
        """The places of this list's items; a finding and none when it is not a list."""
        if not isinstance(self.node, Listing):
            self.report(allowed)
            return
        for index, item in enumerate(self.node.items):
            yield Place(
                node=item,
                path=f"{self.path}[{index}]",
                findings=self.findings,
                pointer=f"{self.pointer}/{index}",
            )

    def suggestion(self, word: str, names: Collection[str]) -> str:
        """Words about the name that was probably meant, "" without one."""
        return self.findings.suggestion(word, names)


Rule = Callable[[Place], T]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """The known entries of one table."""

    place: Place
    places: Mapping[str, Place]

    def required(self, name: str, rule: Rule[T], stand_in: T) -> T:
        """The entry's value; a finding when it is missing."""
        place = self.places.get(name)
        if place is None:
            self.place.child(name, self.place.node).report("a value is required", "missing")
            return stand_in
        return rule(place)

    def optional(self, name: str, rule: Rule[T], default: T) -> T:
        """The entry's value, the default when it is absent or null."""
        place = self.places.get(name)
        return default if place is None or is_null(place.node) else rule(place)


def fields(place: Place, names: Collection[str]) -> Fields:
    """Read a table whose keys must be among `names`, each at most once."""
    known: dict[str, Place] = {}
    if not isinstance(place.node, Table):
        place.report(f"a mapping with {listed(names)}")
        return Fields(place=place, places=known)
    allowed = frozenset(names)
    for key, value in place.node.entries:
        name = key.text if isinstance(key, Scalar) else ""
        if name not in allowed:
            _unknown_key(place.child(name[:80] or "?", key), name, names)
        elif name in known:
            first = known[name].node.line
            place.child(name, key).report("each key once", f"here again, after line {first}")
        else:
            known[name] = place.child(name, value)
    return Fields(place=place, places=known)


def _unknown_key(place: Place, name: str, names: Collection[str]) -> None:
    hint = place.suggestion(name, names)
    place.report(f"{listed(names)}{hint}", f"an unknown key {quoted(name)}")


def shown(node: Node) -> str:
    """What stands at a node, for a finding."""
    if isinstance(node, Scalar):
        text = quoted(node.text)
        return "empty" if is_null(node) else text if node.plain else f"the text {text}"
    return "a list" if isinstance(node, Listing) else "a mapping"


def is_null(node: Node) -> bool:
    """Whether nothing, or a plain null, stands there."""
    return isinstance(node, Scalar) and node.plain and node.text in NULLS


def text_of(place: Place) -> str | None:
    """The scalar's text, None when it is no scalar or null."""
    node = place.node
    return node.text if isinstance(node, Scalar) and not is_null(node) else None


def name(place: Place) -> str:
    """A name that can be part of addresses, labels and resource names."""
    value = text_of(place)
    if value is None or NAME.fullmatch(value) is None:
        place.report(NAME_RULE)
        return ""
    return value


def matching(pattern: re.Pattern[str], allowed: str) -> Rule[str]:
    """A text that matches the whole pattern."""

    def rule(place: Place) -> str:
        value = text_of(place)
        if value is None or pattern.fullmatch(value) is None:
            place.report(allowed)
            return ""
        return value

    return rule


def integer(low: int, high: int) -> Rule[int]:
    """A whole number within `low`..`high`."""

    def rule(place: Place) -> int:
        node = place.node
        if isinstance(node, Scalar) and node.plain and INTEGER.fullmatch(node.text):
            value = int(node.text)
            if low <= value <= high:
                return value
        place.report(f"a whole number within {low}..{high}")
        return low

    return rule


def switch(place: Place) -> bool:
    """true or false, without quotes."""
    node = place.node
    if isinstance(node, Scalar) and node.plain and node.text in SWITCH:
        return SWITCH[node.text]
    place.report("true or false")
    return False


def number(low: float, high: float, *, above: str = "") -> Rule[float]:
    """A number within `low`..`high`; with `above`, its words, `low` itself is not allowed."""

    def rule(place: Place) -> float:
        value = _float(place.node)
        if low <= value <= high and not (above and value == low):
            return value
        place.report(above or f"a number within {low:g}..{high:g}")
        return high

    return rule


def _float(node: Node) -> float:
    plain = isinstance(node, Scalar) and node.plain
    if plain and isinstance(node, Scalar) and NUMBER.fullmatch(node.text):
        return float(node.text)
    return math.nan


def choice(kind: type[E]) -> Rule[E]:
    """One of an enum's values."""
    members = {member.value: member for member in kind}

    def rule(place: Place) -> E:
        value = text_of(place) or ""
        if value not in members:
            place.report(f"one of {listed(members)}{place.suggestion(value, members)}")
        return members.get(value, next(iter(kind)))

    return rule


def reference(what: str, names: Collection[str]) -> Rule[str]:
    """A name that is declared elsewhere in the document."""

    def rule(place: Place) -> str:
        value = text_of(place) or ""
        if value not in names:
            place.report(f"a declared {what}: {listed(names)}{place.suggestion(value, names)}")
        return value

    return rule


class Unique:
    """Reports what occurs a second time."""

    def __init__(self) -> None:
        self._first: dict[str, Place] = {}

    def check(self, key: str, place: Place) -> None:
        """Report `place` when `key` was seen before; empty keys have their finding already."""
        if key and key in self._first:
            where = _where(self._first[key])
            place.report("each only once", f"{quoted(key)}, which stands at {where} too")
        elif key:
            self._first[key] = place


class UniqueNames:
    """Reports names that occur a second time, or that a person takes for an earlier one."""

    def __init__(self) -> None:
        self._exact = Unique()
        self._seen: dict[str, tuple[str, Place]] = {}

    def check(self, place: Place) -> None:
        """Report `place`, where a name stands, beside an earlier one that is the same or alike."""
        name = text_of(place) or ""
        if not name:
            return
        self._exact.check(name, place)
        for form in forms(name):
            first, at_first = self._seen.setdefault(form, (name, place))
            if first != name:
                place.report(
                    "names that differ in more than case or look-alike characters",
                    f"{quoted(name)}, which looks like {quoted(first)} at {_where(at_first)}",
                )
                return


def _where(place: Place) -> str:
    return f"{place.path} (line {place.node.line})"
