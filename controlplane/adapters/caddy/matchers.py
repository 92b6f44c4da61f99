"""Conditions of routes as Caddy's matchers.

In one of Caddy's matchers several keys are alternatives, and one kind of matcher stands in a set
once. So each test is a matcher of its own, and `all_of` joins them. Texts are compared by regular
expressions in Go's syntax, which is RE2: `vars` would read braces in a text as its own.
Called by `table`.
"""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from controlplane.domain.routing.compiling.choices import Choice
from controlplane.domain.routing.expressions import of_template
from controlplane.domain.routing.matching import cohorts
from controlplane.domain.routing.precedence import EVERY_HOST
from controlplane.domain.routing.route import (
    Cohort,
    CohortKey,
    Condition,
    Part,
    PathMatch,
    PathMatchType,
    Route,
    TextMatchType,
)

Json = dict[str, Any]
PATH, USER, WHO = "{http.vars.sb_path}", "{http.vars.sb_sid}", "{http.vars.sb_who}"
REQUEST_NUMBER = "{http.request.header.x-request-id}"
HOST = "{http.request.hostport}"
QUERY = "{http.request.uri.query}"


def text(of: str, expression: str, name: str = "") -> Json:
    """Whether an expression is found in the value of a placeholder; groups get the name."""
    named = {"name": name} if name else {}
    return {"vars_regexp": {of: {**named, "pattern": expression}}}


def negated(*matchers: Json) -> Json:
    """Whether none of some matchers holds."""
    return {"not": list(matchers)}


def all_of(matchers: Iterable[Json]) -> Json:
    """One set of matchers that holds when all of them do."""
    joined: Json = {}
    for matcher in matchers:
        if not joined.keys() & matcher.keys():
            joined |= matcher
        else:
            joined = {**joined, "not": [*joined.get("not", ()), negated(matcher)]}
    return joined


def whole(expression: str) -> str:
    """An expression that must match all of a text."""
    return rf"\A(?:{expression})\z"


def whole_value(expression: str) -> str:
    """The same of a value, as `Values` keeps it."""
    return whole(f"=(?:{expression})")


def of_path(path: PathMatch) -> Iterator[Json]:
    """What the path in normal form must be."""
    match path.type:
        case PathMatchType.EXACT:
            yield text(PATH, whole(re.escape(path.value)))
        case PathMatchType.PATH_TEMPLATE:
            yield text(PATH, whole(of_template(path.value)))
        case PathMatchType.REGULAR_EXPRESSION:
            yield text(PATH, whole(path.value))
        case _ if path.value != "/":
            yield text(PATH, rf"\A{re.escape(path.value)}(?:/|\z)")


def of_hosts(hosts: Iterable[str]) -> Iterator[Json]:
    """What the host must be, in any case, with or without port and a dot at its end."""
    patterns = [host_expression(host) for host in hosts if host != EVERY_HOST]
    if patterns:
        yield text(HOST, rf"(?i)\A(?:{'|'.join(patterns)})\.?(?::[0-9]*)?\z")


def host_expression(host: str) -> str:
    """The regular expression of a host, or of all below one."""
    return rf"(?s:.*){re.escape(host[1:])}" if host.startswith("*") else re.escape(host)


def name_order(host: str) -> tuple[int, int, str]:
    """Sort key of hosts: names, then the longest `*.suffix`, then `*`."""
    if host == EVERY_HOST:
        return 2, 0, host
    return (1, -len(host), host) if host.startswith("*") else (0, 0, host)


def of_times(route: Route) -> Iterator[Json]:
    """Whether a route exists now."""
    if route.valid_from_s is not None:
        yield {"expression": f"int({{time.now.unix_ms}}) >= {_milliseconds(route.valid_from_s)}"}
    if route.valid_until_s is not None:
        yield {"expression": f"int({{time.now.unix_ms}}) < {_milliseconds(route.valid_until_s)}"}


def _milliseconds(time_s: float) -> int:
    return math.ceil(time_s * 1000)


@dataclass(slots=True)
class Values:
    """Values that the conditions of one table ask for; each is read once for a request."""

    _names: dict[tuple[Part, str], str] = field(default_factory=dict)

    def of_choice(self, choice: Choice) -> list[Json] | None:
        """What must hold beside host, path, method and time; None when it never can."""
        route = choice.route
        found = [self._of_condition(condition) for condition in route.conditions]
        if route.sources:
            found.append({"remote_ip": {"ranges": list(route.sources)}})
        if route.cohort is not None and not cohorts.everyone(route.cohort):
            cohort = _of_cohort(route.cohort)
            if cohort is None:
                return None
            found.append(cohort)
        if choice.digits:
            found.append(text(WHO, rf"\A(?:{choice.digits})"))
        return found

    def reading(self) -> Iterator[Json]:
        """Routes that read the values: `=` and the value, nothing where there is none."""
        for (part, name), variable in self._names.items():
            found = rf"{{http.regexp.{variable}.1}}"
            match part:
                case Part.HEADER:
                    matcher: Json = {"header": {name: []}}
                    found = f"{{http.request.header.{name}}}"
                case Part.COOKIE:
                    matcher = cookie(name, variable)
                case _:
                    pattern = rf"(?:\A|&){re.escape(name)}(?:=([^&]*)|&|\z)"
                    matcher = text(QUERY, pattern, variable)
            yield {
                "match": [matcher],
                "handle": [{"handler": "vars", f"sb_{variable}": f"={found}"}],
            }

    def _of_condition(self, condition: Condition) -> Json:
        key = (condition.part, condition.name)
        variable = self._names.setdefault(key, f"v{len(self._names)}")
        of = f"{{http.vars.sb_{variable}}}"
        match condition.type:
            case TextMatchType.PRESENT:
                return text(of, r"\A=")
            case TextMatchType.ABSENT:
                return negated(text(of, r"\A="))
            case TextMatchType.EXACT:
                return text(of, whole(f"={re.escape(condition.value)}"))
            case TextMatchType.PREFIX:
                return text(of, rf"\A={re.escape(condition.value)}")
            case TextMatchType.REGULAR_EXPRESSION:
                return text(of, whole_value(condition.value))


def cookie(name: str, group: str) -> Json:
    """The first cookie of a name, over all lines; the leftmost match is the first."""
    pattern = rf"(?:\A|;)[ \t]*{re.escape(name)}=([^;]*?)[ \t]*(?:;|\z)"
    return {"header_regexp": {"Cookie": {"name": group, "pattern": pattern}}}


def _of_cohort(cohort: Cohort) -> Json | None:
    digits = cohorts.expression(cohort)
    if not digits:
        return None
    return text(USER if cohort.by is CohortKey.USER else REQUEST_NUMBER, rf"\A(?:{digits})")
