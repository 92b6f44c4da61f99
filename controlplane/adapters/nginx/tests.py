"""Conditions of routes as maps whose value is 1 where they hold, each written once.

nginx computes a map when it is asked for, and once for a request. Called by `table`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from controlplane.adapters.nginx.quoting import without_names, word
from controlplane.domain.routing.compiling.choices import Choice
from controlplane.domain.routing.compiling.pcre import first_part, whole
from controlplane.domain.routing.matching import cohorts
from controlplane.domain.routing.route import (
    Cohort,
    CohortKey,
    Condition,
    Part,
    Route,
    TextMatchType,
)

# Digits of a time in seconds, from 2001 to 2286.
DIGITS_OF_NOW = 10


class Wanted(NamedTuple):
    """A variable, and what it must be for a route to take a request: `1` or `0`."""

    variable: str
    value: str


@dataclass(slots=True)
class Tests:
    """All maps that the locations need, in the order in which they were asked for."""

    _maps: dict[str, str] = field(default_factory=dict)
    _values: dict[tuple[Part, str], str] = field(default_factory=dict)

    def of_choice(self, choice: Choice) -> list[Wanted] | None:
        """What must hold beside host, path and method; None when it never can."""
        found = [*self._of_route(choice.route)]
        if choice.digits:
            found.append(self._holds("$sb_who", f"^(?:{choice.digits})"))
        return None if _NEVER in found else [one for one in found if one != _ALWAYS]

    def maps(self) -> Iterator[str]:
        """Their lines."""
        for (part, name), variable in self._values.items():
            yield f"# {part} {name}"
            yield from _reading(part, name, variable)
        for body, variable in self._maps.items():
            yield body.replace(_ITSELF, variable)

    def _of_route(self, route: Route) -> Iterator[Wanted]:
        for condition in route.conditions:
            yield self._of_condition(condition)
        if route.sources:
            inside = " ".join(f"{source} 1;" for source in route.sources)
            yield Wanted(self._kept(f"geo {_ITSELF} {{ default 0; {inside} }}"), "1")
        if route.cohort is not None and not cohorts.everyone(route.cohort):
            yield self._of_cohort(route.cohort)
        if route.valid_from_s is not None:
            yield self._before(route.valid_from_s, "0")
        if route.valid_until_s is not None:
            yield self._before(route.valid_until_s, "1")

    def _of_cohort(self, cohort: Cohort) -> Wanted:
        digits = cohorts.expression(cohort)
        if not digits:
            return _NEVER
        return self._holds(
            "$sb_sid" if cohort.by is CohortKey.USER else "$sb_rid", f"^(?:{digits})"
        )

    def _before(self, time_s: float, wanted: str) -> Wanted:
        digits = str(-int(-time_s // 1))
        if len(digits) != DIGITS_OF_NOW:
            is_before = len(digits) > DIGITS_OF_NOW
            return _ALWAYS if is_before == (wanted == "1") else _NEVER
        smaller = "|".join(
            f"{digits[:n]}[0-{int(digit) - 1}]" for n, digit in enumerate(digits) if digit != "0"
        )
        return Wanted(self._holds("$msec", f"^(?:{smaller})").variable, wanted)

    def _of_condition(self, condition: Condition) -> Wanted:
        value = self._value(condition.part, condition.name)
        match condition.type:
            case TextMatchType.PRESENT:
                return self._holds(value, "^=")
            case TextMatchType.ABSENT:
                return Wanted(self._holds(value, "^=").variable, "0")
            case TextMatchType.EXACT:
                return self._holds(value, whole(f"={re.escape(condition.value)}"))
            case TextMatchType.PREFIX:
                return self._holds(value, f"^={re.escape(condition.value)}")
            case TextMatchType.REGULAR_EXPRESSION:
                expression = without_names(condition.value)
                return self._holds(value, whole(f"=(?:{expression})"))

    def _holds(self, source: str, expression: str) -> Wanted:
        body = f"map {source} {_ITSELF} {{ {word('~' + expression)} 1; default 0; }}"
        return Wanted(self._kept(body), "1")

    def _kept(self, body: str) -> str:
        return self._maps.setdefault(body, f"$sb_c{len(self._maps)}")

    def _value(self, part: Part, name: str) -> str:
        return self._values.setdefault((part, name), f"$sb_v{len(self._values)}")


_ITSELF = "\0"
_NEVER, _ALWAYS = Wanted("never", "1"), Wanted("always", "1")


def _reading(part: Part, name: str, variable: str) -> Iterator[str]:
    """`=` and the value, or "" where there is none. An empty header is none for nginx."""
    if part is Part.HEADER:
        source = f"$http_{name.replace('-', '_')}"
        yield f'map {source} {variable} {{ "" ""; default "={source}"; }}'
        return
    source, separator = ("$http_cookie", ";") if part is Part.COOKIE else ("$args", "&")
    inside = f"{variable[1:]}_is"
    yield (
        f"map {source} {variable} {{ {named_first(name, separator, inside)} "
        f'"=${inside}"; default ""; }}'
    )


def named_first(name: str, separator: str, variable: str) -> str:
    """The pattern that puts the first value of a name into a variable."""
    expression = first_part(name, separator).replace("([^", f"(?<{variable}>[^", 1)
    return word("~" + expression)
