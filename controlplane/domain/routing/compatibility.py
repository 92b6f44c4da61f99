"""Compatibility: whether two routes can be meant by one request, and whether one takes all of the
other's. Host and path are not asked here. Used to find conflicts.

Both answers are safe, not complete: "can meet" may be wrong only towards yes, "takes" only
towards no.
"""

import ipaddress
from itertools import product

from controlplane.domain.routing.expressions import compiled
from controlplane.domain.routing.matching.cohorts import bounds, everyone
from controlplane.domain.routing.route import Condition, Route, TextMatchType


def can_meet(one: Route, other: Route) -> bool:
    """Whether some request may fulfil what both ask for."""
    pairs = product(one.conditions, other.conditions)
    return (
        _times_meet(one, other)
        and _groups_meet(one.gateways, other.gateways)
        and _groups_meet(one.methods, other.methods)
        and not any(_exclude(mine, theirs) for mine, theirs in pairs)
        and _sources_meet(one.sources, other.sources)
        and _cohorts_meet(one, other)
    )


def takes(first: Route, second: Route) -> bool:
    """Whether every request that fulfils what the second asks for fulfils the first's, too."""
    return (
        _time_within(second, first)
        and _group_within(second.gateways, first.gateways)
        and _group_within(second.methods, first.methods)
        and all(_follows(condition, second) for condition in first.conditions)
        and _sources_within(second.sources, first.sources)
        and set(first.functions) <= set(second.functions)
        and _cohort_within(second, first)
    )


def contradiction(route: Route) -> str:
    """Why no request can ever fulfil what a route asks for; "" when some may."""
    for at, condition in enumerate(route.conditions):
        for other in route.conditions[at + 1 :]:
            if _exclude(condition, other):
                return f"two conditions on {condition.part} {condition.name} exclude each other"
    if route.cohort is not None:
        low, high = bounds(route.cohort)
        if low >= high:
            return "its cohort is empty"
    return ""


def _exclude(one: Condition, other: Condition) -> bool:
    """Whether no value fulfils both conditions."""
    if (one.part, one.name) != (other.part, other.name):
        return False
    if TextMatchType.ABSENT in {one.type, other.type}:
        return one.type is not other.type
    if one.type is TextMatchType.EXACT:
        return not _fulfils(one.value, other)
    if other.type is TextMatchType.EXACT:
        return not _fulfils(other.value, one)
    if one.type is other.type is TextMatchType.PREFIX:
        return not (one.value.startswith(other.value) or other.value.startswith(one.value))
    return False


def _fulfils(value: str, condition: Condition) -> bool:
    match condition.type:
        case TextMatchType.EXACT:
            return value == condition.value
        case TextMatchType.PREFIX:
            return value.startswith(condition.value)
        case TextMatchType.REGULAR_EXPRESSION:
            return compiled(condition.value).matches(value)
        case _:
            return condition.type is TextMatchType.PRESENT


def _follows(condition: Condition, route: Route) -> bool:
    """Whether a condition holds whenever the conditions of a route do."""
    return any(_implies(given, condition) for given in route.conditions)


def _implies(given: Condition, condition: Condition) -> bool:
    if given == condition:
        return True
    if (given.part, given.name) != (condition.part, condition.name):
        return False
    if given.type is TextMatchType.EXACT:
        return _fulfils(given.value, condition)
    if condition.type is TextMatchType.PRESENT:
        return given.type is not TextMatchType.ABSENT
    prefix = TextMatchType.PREFIX
    return given.type is condition.type is prefix and given.value.startswith(condition.value)


def _groups_meet(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Of methods and of gateways () is all."""
    return not one or not other or not set(one).isdisjoint(other)


def _group_within(inner: tuple[str, ...], outer: tuple[str, ...]) -> bool:
    return not outer or (bool(inner) and set(inner) <= set(outer))


def _window(route: Route) -> tuple[float, float]:
    began, ended = route.valid_from_s, route.valid_until_s
    return (
        float("-inf") if began is None else began,
        float("inf") if ended is None else ended,
    )


def _times_meet(one: Route, other: Route) -> bool:
    (began, ended), (other_began, other_ended) = _window(one), _window(other)
    return max(began, other_began) < min(ended, other_ended)


def _time_within(inner: Route, outer: Route) -> bool:
    (began, ended), (outer_began, outer_ended) = _window(inner), _window(outer)
    return outer_began <= began and ended <= outer_ended


def _sources_meet(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    if not one or not other:
        return True
    pairs = product(map(_network, one), map(_network, other))
    return any(mine.version == theirs.version and mine.overlaps(theirs) for mine, theirs in pairs)


def _sources_within(inner: tuple[str, ...], outer: tuple[str, ...]) -> bool:
    if not outer:
        return True
    outside = [_network(text) for text in outer]
    return bool(inner) and all(
        any(_is_subnet(network, other) for other in outside) for network in map(_network, inner)
    )


_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def _network(text: str) -> _Network:
    return ipaddress.ip_network(text, strict=False)


def _is_subnet(inner: _Network, outer: _Network) -> bool:
    if inner.version != outer.version or inner.prefixlen < outer.prefixlen:
        return False
    return inner.network_address in outer


def _cohorts_meet(one: Route, other: Route) -> bool:
    mine, theirs = one.cohort, other.cohort
    if mine is None or theirs is None or mine.by is not theirs.by:
        return True
    (low, high), (other_low, other_high) = bounds(mine), bounds(theirs)
    return max(low, other_low) < min(high, other_high)


def _cohort_within(inner: Route, outer: Route) -> bool:
    wide, narrow = outer.cohort, inner.cohort
    if wide is None or everyone(wide):
        return True
    if narrow is None or narrow.by is not wide.by or everyone(narrow):
        return False
    return wide.low <= narrow.low and narrow.high <= wide.high
