"""Precedence: which of several routes comes first, whatever the order in which they were written.

The matcher and every compiler order routes by `order`, so that they cannot differ. The reasons
stand in docs/adr/0023.
"""

from collections.abc import Iterable, Iterator
from enum import IntEnum, StrEnum

from controlplane.domain.radix.pattern import Pattern
from controlplane.domain.routing.route import PathMatch, PathMatchType, Route

EVERY_HOST = "*"


class Rank(IntEnum):
    """Place of one path segment, or of the end of a path, in the order of patterns."""

    LITERAL_OR_WHOLE = 0
    PARAMETER = 1
    PREFIX_END = 2


def pattern(path: PathMatch) -> Pattern | None:
    """The path rule as segments, None standing for a parameter; None for an expression."""
    if path.type is PathMatchType.REGULAR_EXPRESSION:
        return None
    segments: list[str | None] = list(path.value[1:].split("/"))
    if path.type is PathMatchType.PATH_PREFIX:
        return Pattern(tuple(segments) if path.value != "/" else (), whole=False)
    if path.type is PathMatchType.PATH_TEMPLATE:
        segments = [None if is_parameter(part) else part for part in segments]
    return Pattern(tuple(segments), whole=True)


def is_parameter(segment: str | None) -> bool:
    """Whether a segment of a template stands for any segment."""
    return segment is not None and segment.startswith("{") and segment.endswith("}")


def path_order(path: PathMatch) -> tuple[int, ...]:
    """Sort key of a path rule: compared segment by segment, expressions after all others."""
    rule = pattern(path)
    return (Rank.PREFIX_END + 1,) if rule is None else pattern_order(rule)


def pattern_order(rule: Pattern) -> tuple[int, ...]:
    """Sort key of patterns: of those that match a path the tree finds the smallest first."""
    ranks = [Rank.PARAMETER if part is None else Rank.LITERAL_OR_WHOLE for part in rule.segments]
    return (*ranks, Rank.LITERAL_OR_WHOLE if rule.whole else Rank.PREFIX_END)


def order_at_one_path(route: Route) -> tuple[bool, int, int, str]:
    """Sort key of routes with one path, and of expressions among each other."""
    return not route.methods, -route.condition_count, -route.priority, route.id


def order(route: Route) -> tuple[tuple[int, ...], tuple[bool, int, int, str]]:
    """Sort key of the routes of one host: of those that match a request the smallest wins."""
    return path_order(route.path), order_at_one_path(route)


def ordered(routes: Iterable[Route]) -> list[Route]:
    """Routes of one host, first things first."""
    return sorted(routes, key=order)


def by_host(routes: Iterable[Route]) -> dict[str, list[Route]]:
    """Host -> its routes in order; hosts are in order of name."""
    tables: dict[str, list[Route]] = {}
    for route in routes:
        for host in dict.fromkeys(route.hosts):
            tables.setdefault(host, []).append(route)
    return {host: ordered(tables[host]) for host in sorted(tables)}


def host_patterns(host: str) -> Iterator[str]:
    """Hosts of rules that match a host, the most specific first: itself, `*.suffix`, `*`."""
    yield host
    at = host.find(".")
    while at >= 0:
        yield f"*{host[at:]}"
        at = host.find(".", at + 1)
    yield EVERY_HOST


class Difference(StrEnum):
    """What puts one of two routes that match a request before the other."""

    HOST = "its host is more specific"
    EXPRESSION = "a path comes before an expression"
    PATH = "its path comes first: literal before parameter, longer before shorter, whole first"
    METHODS = "it names methods"
    CONDITIONS = "it has more conditions"
    PRIORITY = "its priority is higher"
    ID = "its id comes first, and nothing else tells them apart"


def difference(first: Route, second: Route) -> Difference:
    """Why the first of two routes of one host comes before the second."""
    expression = PathMatchType.REGULAR_EXPRESSION
    if path_order(first.path) != path_order(second.path):
        return Difference.EXPRESSION if second.path.type is expression else Difference.PATH
    if bool(first.methods) != bool(second.methods):
        return Difference.METHODS
    if first.condition_count != second.condition_count:
        return Difference.CONDITIONS
    return Difference.ID if first.priority == second.priority else Difference.PRIORITY
