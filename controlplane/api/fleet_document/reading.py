"""Typed values from nodes: each rule returns a value, or reports a finding and returns a stand-in.

Called by `sections` and `services`. A stand-in never leaves the parser, because a document with
a finding makes no fleet; it lets the reading go on, so that every error shows at once.
"""

import ipaddress
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from controlplane.api.fleet_document.findings import (
    Finding,
    Findings,
    listed,
    quoted,
    suggestion,
)
from controlplane.api.fleet_document.nodes import Listing, Node, Scalar, Table

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", re.ASCII)
INTEGER = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
# What YAML reads as a number without quotes; "1e3" is one here as in JSON.
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", re.ASCII)
NULLS = frozenset({"", "~", "null", "Null", "NULL"})
NAME_RULE = "1..63 of A-Z a-z 0-9 . _ - that begin with a letter or digit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A node with its path in the document; findings go to the document's collection."""

    node: Node
    path: str
    findings: Findings

    def report(self, allowed: str, found: str | None = None) -> None:
        """Add a finding at this place; `found` defaults to what stands here."""
        self.findings.add(
            Finding(
                line=self.node.line,
                column=self.node.column,
                path=self.path or "the document",
                found=shown(self.node) if found is None else found,
                allowed=allowed,
            )
        )

    def child(self, name: str, node: Node) -> "Place":
        """The place of an entry of this table."""
        path = f"{self.path}.{name}" if self.path else name
        return Place(node=node, path=path, findings=self.findings)

    def items(self, allowed: str = "a list") -> "Iterator[Place]":
        """The places of this list's items; a finding and none when it is not a list."""
        if not isinstance(self.node, Listing):
            self.report(allowed)
            return
        for index, item in enumerate(self.node.items):
            yield Place(node=item, path=f"{self.path}[{index}]", findings=self.findings)


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
    for key, value in place.node.entries:
        name = key.text if isinstance(key, Scalar) else ""
        at_key = place.child(name[:80] or "?", key)
        if name not in names:
            hint = suggestion(name, names)
            at_key.report(f"{listed(names)}{hint}", f"an unknown key {quoted(name)}")
        elif name in known:
            at_key.report("each key once", "a second time here")
        else:
            known[name] = place.child(name, value)
    return Fields(place=place, places=known)


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


def address(place: Place) -> str:
    """An IP address in its usual form."""
    value = text_of(place)
    try:
        return str(ipaddress.ip_address(value or ""))
    except ValueError:
        place.report("an IPv4 or IPv6 address")
        return ""


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
            place.report(f"one of {listed(members)}{suggestion(value, members)}")
        return members.get(value, next(iter(kind)))

    return rule


def reference(what: str, names: Collection[str]) -> Rule[str]:
    """A name that is declared elsewhere in the document."""

    def rule(place: Place) -> str:
        value = text_of(place) or ""
        if value not in names:
            place.report(f"a declared {what}: {listed(names)}{suggestion(value, names)}")
        return value

    return rule


class Unique:
    """Reports what occurs a second time."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}

    def check(self, key: str, place: Place) -> None:
        """Report `place` when `key` was seen before; empty keys have their finding already."""
        if key and key in self._first:
            place.report("each only once", f"{quoted(key)}, which stands at {self._first[key]} too")
        elif key:
            self._first[key] = place.path
