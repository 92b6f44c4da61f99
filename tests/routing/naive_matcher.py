"""The reference: every route is asked, one after the other, and the winners are compared.

Written from the description of the rules, not from the matcher: it shares no code with it but the
values of the model.
"""

import ipaddress
import re
from collections.abc import Sequence
from functools import cmp_to_key

from controlplane.domain.routing.matching.request import Request
from controlplane.domain.routing.route import (
    CohortKey,
    Condition,
    Part,
    PathMatchType,
    Route,
    TextMatchType,
)


def winner(routes: Sequence[Route], request: Request, now_s: float) -> Route | None:
    """The route that a request gets."""
    there = [route for route in routes if _exists(route, now_s)]
    host = max(
        (h for route in there for h in route.hosts if _is_host(h, request.host)),
        key=_rank,
        default=None,
    )
    mine = [route for route in there if host in route.hosts]
    matching = [route for route in mine if _path(route, request.path) and _rest(route, request)]
    return min(matching, key=cmp_to_key(_compared), default=None)


def _exists(route: Route, now_s: float) -> bool:
    if route.valid_from_s is not None and now_s < route.valid_from_s:
        return False
    return route.valid_until_s is None or now_s < route.valid_until_s


def _is_host(rule: str, host: str) -> bool:
    if rule == "*":
        return True
    if rule.startswith("*."):
        return host.endswith(rule[1:])
    return rule == host


def _rank(rule: str) -> tuple[int, int]:
    """An exact host before every wildcard, a longer one before a shorter one."""
    return (0 if rule.startswith("*") else 1, len(rule))


def _path(route: Route, path: str) -> bool:
    rule = route.path
    match rule.type:
        case PathMatchType.EXACT:
            return path == rule.value
        case PathMatchType.PATH_PREFIX:
            return rule.value == "/" or path == rule.value or path.startswith(f"{rule.value}/")
        case PathMatchType.PATH_TEMPLATE:
            wanted, given = rule.value.split("/"), path.split("/")
            return len(wanted) == len(given) and all(
                (word == part) if not word.startswith("{") else part != ""
                for word, part in zip(wanted, given, strict=True)
            )
        case PathMatchType.REGULAR_EXPRESSION:
            return re.fullmatch(rule.value, path) is not None


def _rest(route: Route, request: Request) -> bool:
    return (
        (not route.methods or request.method in route.methods)
        and all(_condition(condition, request) for condition in route.conditions)
        and _sources(route, request)
        and _functions(route, request)
        and _cohort(route, request)
    )


def _condition(condition: Condition, request: Request) -> bool:
    text = _text(condition.part, condition.name, request)
    if condition.type is TextMatchType.ABSENT:
        return text is None
    if text is None:
        return False
    match condition.type:
        case TextMatchType.EXACT:
            return text == condition.value
        case TextMatchType.PREFIX:
            return text[: len(condition.value)] == condition.value
        case TextMatchType.REGULAR_EXPRESSION:
            return re.fullmatch(condition.value, text) is not None
    return True


def _text(part: Part, name: str, request: Request) -> str | None:
    if part is Part.HEADER:
        return request.headers.get(name)
    if part is Part.QUERY_PARAM:
        pieces, sign = request.query.split("&"), ""
    else:
        pieces, sign = re.split("; *", request.headers.get("cookie", "")), "="
    for piece in pieces:
        if piece.startswith(f"{name}="):
            return piece[len(name) + 1 :]
        if not sign and piece == name:
            return ""
    return None


def _sources(route: Route, request: Request) -> bool:
    if not route.sources:
        return True
    return any(
        ipaddress.ip_address(request.source) in ipaddress.ip_network(source)
        for source in route.sources
    )


def _functions(route: Route, request: Request) -> bool:
    for call in route.functions:
        arguments = dict(call.arguments)
        if call.name == "risk_level":
            level = request.headers.get("x-risk-level", "")
            if not (
                level.isdigit()
                and int(arguments["at_least"]) <= int(level) <= int(arguments.get("at_most", "9"))
            ):
                return False
        elif call.name == "user_agent_family":
            agent = request.headers.get("user-agent", "").lower()
            if not any(word in agent for word in ("bot", "curl/", "python")):
                return False
        else:
            raise NotImplementedError(call.name)
    return True


def _cohort(route: Route, request: Request) -> bool:
    cohort = route.cohort
    if cohort is None or (cohort.low, cohort.high) == (0, 10_000):
        return True
    if cohort.by is CohortKey.USER:
        text = _text(Part.COOKIE, "signalbox_sid", request)
    else:
        text = request.headers.get("x-request-id")
    if text is None or not re.match("[0-9a-fA-F]{4}", text):
        return False
    return cohort.low <= int(text[:4], 16) * 10_000 / 65_536 < cohort.high


def _compared(one: Route, other: Route) -> int:
    """Below zero when the first of two routes that match a request comes first."""
    of_paths = _paths_compared(one, other)
    if of_paths:
        return of_paths
    if bool(one.methods) != bool(other.methods):
        return -1 if one.methods else 1
    if _count(one) != _count(other):
        return _count(other) - _count(one)
    if one.priority != other.priority:
        return other.priority - one.priority
    return -1 if one.id < other.id else 1


def _paths_compared(one: Route, other: Route) -> int:
    expressions = [r.path.type is PathMatchType.REGULAR_EXPRESSION for r in (one, other)]
    if any(expressions):
        return expressions[0] - expressions[1]
    mine, others = _words(one), _words(other)
    for word, theirs in zip(mine, others, strict=False):
        if (word is None) != (theirs is None):
            return 1 if word is None else -1
    if len(mine) != len(others):
        return len(others) - len(mine)
    prefixes = [r.path.type is PathMatchType.PATH_PREFIX for r in (one, other)]
    return prefixes[0] - prefixes[1]


def _words(route: Route) -> list[str | None]:
    """The words of a path rule, None for a parameter."""
    if route.path.value == "/" and route.path.type is PathMatchType.PATH_PREFIX:
        return []
    return [None if word.startswith("{") else word for word in route.path.value.split("/")[1:]]


def _count(route: Route) -> int:
    return (
        len(route.conditions)
        + len(route.functions)
        + (1 if route.sources else 0)
        + (0 if route.cohort is None else 1)
    )
