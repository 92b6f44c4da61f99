"""Conditions of routes as Traefik's rules.

Traefik compares paths with all escapes decoded but those of reserved characters, headers line by
line, and query arguments decoded: `docs/proxies.md` says what differs. Texts are quoted as Go's.
Called by `table` and `expressible`.
"""

import json
import re
from collections.abc import Iterable
from urllib.parse import unquote_plus

from controlplane.domain.routing.expressions import of_template
from controlplane.domain.routing.matching import cohorts
from controlplane.domain.routing.matching.request import STICKY_COOKIE
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

# Characters of RFC 3986, section 2.2, and the percent sign: their escapes stay as they are.
RESERVED = frozenset(b":/?#[]@!$&'()*+,;=%")
_ESCAPE = re.compile(rb"%([0-9A-F]{2})")
# Expressions that reach no further than a cookie's value.
_SHORT = re.compile(r"[A-Za-z0-9_|()-]+", re.ASCII)
EVERYTHING = 'PathPrefix("/")'
# What no path may have: an escaped slash, a backslash, control characters, brackets.
_NOWHERE = r"%2F|[\\\x00-\x1f\x7f\[\]]"
REFUSAL = f"PathRegexp({json.dumps(_NOWHERE)})"


def rule(hosts: Iterable[str], route: Route) -> str:
    """Everything that must hold of a request; the route has no functions and nothing strange."""
    tests = [*of_hosts(hosts), *of_path(route.path)]
    tests += any_of(f"Method({quoted(method)})" for method in route.methods)
    tests += [_condition(one) for one in route.conditions]
    if route.cohort is not None:
        tests += _user(route.cohort) or ()
    tests += any_of(f"ClientIP({quoted(source)})" for source in route.sources)
    return " && ".join(tests) or EVERYTHING


def of_hosts(hosts: Iterable[str]) -> list[str]:
    """What the host must be; Traefik takes off the port and puts it in lower case."""
    return any_of(_host(host) for host in hosts if host != EVERY_HOST)


def of_path(path: PathMatch) -> list[str]:
    """What the path must be; nothing for every path."""
    value = path.value
    match path.type:
        case PathMatchType.EXACT:
            return [f"Path({quoted(decoded(value))})"]
        case PathMatchType.PATH_TEMPLATE:
            segments = "/".join(_segment(one) for one in value.split("/"))
            return [f"PathRegexp({quoted(whole(of_template(segments)))})"]
        case PathMatchType.REGULAR_EXPRESSION:
            return [f"PathRegexp({quoted(whole(value))})"]
    if value == "/":
        return []
    text = decoded(value)
    return any_of((f"Path({quoted(text)})", f"PathPrefix({quoted(f'{text}/')})"))


def strange(route: Route) -> str:
    """Why Traefik cannot compare a route; "" when it can."""
    if route.cohort is not None and _user(route.cohort) is None:
        return "it draws no requests: give the cohort by user, or release by header or gateways"
    words = (_strange_path(route.path), *map(_strange_condition, route.conditions))
    return next(filter(None, words), "")


def _strange_path(path: PathMatch) -> str:
    if path.type is PathMatchType.REGULAR_EXPRESSION:
        return "it decodes escapes before it asks expressions" if "%" in path.value else ""
    try:
        decoded(path.value)
    except UnicodeDecodeError:
        return "the escapes of its path are no UTF-8"
    return ""


def _user(cohort: Cohort) -> list[str] | None:
    """Whether a user's cookie is in a cohort; None of requests, which Traefik gives no id."""
    if cohorts.everyone(cohort):
        return []
    digits = cohorts.expression(cohort)
    if cohort.by is not CohortKey.USER or not digits:
        return None
    one = rf"(?:^|;)[ \t]*{STICKY_COOKIE}=(?:{digits})"
    return [f'HeaderRegexp("cookie", {quoted(one)})']


def _strange_condition(condition: Condition) -> str:
    if condition.name == "host" and condition.part is Part.HEADER:
        return "the header host cannot be asked for, give the route hosts"
    expression = condition.type is TextMatchType.REGULAR_EXPRESSION
    if condition.part is Part.COOKIE and expression and not _SHORT.fullmatch(condition.value):
        return f"the expression of cookie {condition.name} may reach into the next cookie"
    return ""


def decoded(path: str) -> str:
    """A path in normal form as Traefik compares it; UnicodeDecodeError when it is no text."""
    return _ESCAPE.sub(_unescaped, path.encode()).decode()


def _unescaped(found: re.Match[bytes]) -> bytes:
    byte = bytes.fromhex(found.group(1).decode())
    return found.group() if byte[0] in RESERVED else byte


def _segment(text: str) -> str:
    return text if text.startswith("{") else decoded(text)


def _host(host: str) -> str:
    if not host.startswith("*"):
        return f"Host({quoted(host)})"
    below = rf"^.+{re.escape(host[1:])}\.?$"
    return f"HostRegexp({quoted(below)})"


def _condition(condition: Condition) -> str:
    name = quoted(condition.name)
    if condition.type is TextMatchType.ABSENT:
        return f"!{_found(condition, name)}"
    return _found(condition, name)


def _found(condition: Condition, name: str) -> str:
    match condition.part:
        case Part.COOKIE:
            value = _value(condition, "[^;]*")
            one = rf"(?:^|;)[ \t]*{re.escape(condition.name)}={value}[ \t]*(?:;|$)"
            return f'HeaderRegexp("cookie", {quoted(one)})'
        case Part.QUERY_PARAM if condition.type is TextMatchType.EXACT:
            return f"Query({name}, {quoted(unquote_plus(condition.value))})"
        case Part.QUERY_PARAM:
            return f"QueryRegexp({name}, {quoted(_all_of_value(condition))})"
        case _ if condition.type is TextMatchType.EXACT:
            return f"Header({name}, {quoted(condition.value)})"
        case _:
            return f"HeaderRegexp({name}, {quoted(_all_of_value(condition))})"


def _all_of_value(condition: Condition) -> str:
    return f"^{_value(condition, '.*')}$"


def _value(condition: Condition, anything: str) -> str:
    match condition.type:
        case TextMatchType.EXACT:
            return re.escape(condition.value)
        case TextMatchType.PREFIX:
            return re.escape(condition.value) + anything
        case TextMatchType.REGULAR_EXPRESSION:
            return f"(?:{condition.value})"
        case _:
            return anything


def any_of(tests: Iterable[str]) -> list[str]:
    """Tests of which one must hold, as one test; none for none."""
    found = list(tests)
    if len(found) < 2:
        return found
    return [f"({' || '.join(found)})"]


def whole(expression: str) -> str:
    """An expression that must match all of a text."""
    return f"^(?:{expression})$"


def quoted(text: str) -> str:
    """A text as Go quotes it."""
    return json.dumps(text, ensure_ascii=False)
