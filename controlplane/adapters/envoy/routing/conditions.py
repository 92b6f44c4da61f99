"""What a request must be like, as Envoy's RouteMatch.

Called by `expressible` and by `actions`. The path is matched without the query, headers of one name
are one text with commas, of query arguments and cookies the first counts: all as in
`matching.request`. Addresses are compared by Envoy itself, from a fact of the connection
that `sources` notes.
"""

import ipaddress
import re

from envoy.config.route.v3 import route_components_pb2 as route_pb2
from envoy.type.matcher.v3 import filter_state_pb2, string_pb2
from google.protobuf.wrappers_pb2 import UInt32Value
from xds.core.v3 import cidr_pb2

from controlplane.adapters.envoy.routing import cookies
from controlplane.adapters.envoy.sources import SOURCE_KEY
from controlplane.domain.routing.expressions import of_template
from controlplane.domain.routing.matching import cohorts
from controlplane.domain.routing.matching.request import REQUEST_ID, STICKY_COOKIE
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


def route_match(route: Route) -> route_pb2.RouteMatch:
    """Everything that must hold; the route has no functions and nothing inexpressible."""
    match = _path(route.path)
    if route.methods:
        match.headers.append(_header(":method", _one_of(route.methods)))
    for condition in route.conditions:
        _add(match, condition)
    if route.sources:
        match.filter_state.append(_sources(route.sources))
    if route.cohort is not None and not cohorts.everyone(route.cohort):
        match.headers.append(_cohort(route.cohort))
    return match


def inexpressible(condition: Condition) -> str:
    """Why Envoy cannot ask this, "" when it can."""
    if condition.part is not Part.COOKIE or condition.type is not TextMatchType.REGULAR_EXPRESSION:
        return ""
    if cookies.within_value(condition.value) is not None:
        return ""
    return (
        f"the expression {condition.value} of cookie {condition.name} has a class that may hold a "
        "semicolon, which would reach into the next cookie: name its characters"
    )


def _path(path: PathMatch) -> route_pb2.RouteMatch:
    match path.type:
        case PathMatchType.EXACT:
            return route_pb2.RouteMatch(path=path.value)
        case PathMatchType.PATH_PREFIX if path.value == "/":
            return route_pb2.RouteMatch(prefix="/")
        case PathMatchType.PATH_PREFIX:
            return route_pb2.RouteMatch(path_separated_prefix=path.value)
        case PathMatchType.PATH_TEMPLATE:
            expression = of_template(path.value)
        case PathMatchType.REGULAR_EXPRESSION:
            expression = path.value
    match = route_pb2.RouteMatch()
    match.safe_regex.regex = expression
    return match


def _add(match: route_pb2.RouteMatch, condition: Condition) -> None:
    match condition.part:
        case Part.HEADER:
            match.headers.append(_header_condition(condition))
        case Part.QUERY_PARAM:
            match.query_parameters.append(_query_condition(condition))
        case Part.COOKIE:
            match.headers.append(_cookie_condition(condition))


def _header_condition(condition: Condition) -> route_pb2.HeaderMatcher:
    if condition.type in {TextMatchType.PRESENT, TextMatchType.ABSENT}:
        absent = condition.type is TextMatchType.ABSENT
        return route_pb2.HeaderMatcher(name=condition.name, present_match=True, invert_match=absent)
    return _header(condition.name, _text(condition))


def _query_condition(condition: Condition) -> route_pb2.QueryParameterMatcher:
    if condition.type in {TextMatchType.PRESENT, TextMatchType.ABSENT}:
        present = condition.type is TextMatchType.PRESENT
        return route_pb2.QueryParameterMatcher(name=condition.name, present_match=present)
    return route_pb2.QueryParameterMatcher(name=condition.name, string_match=_text(condition))


def _cookie_condition(condition: Condition) -> route_pb2.HeaderMatcher:
    matcher = _header("cookie", _whole(cookie_expression(condition)))
    if condition.type is TextMatchType.ABSENT:
        matcher.treat_missing_header_as_empty = True
    return matcher


def cookie_expression(condition: Condition) -> str:
    """The regular expression of the whole header for a condition on one cookie."""
    name = condition.name
    match condition.type:
        case TextMatchType.ABSENT:
            return cookies.without(name)
        case TextMatchType.PRESENT:
            value = "[^;]*"
        case TextMatchType.EXACT:
            value = re.escape(condition.value)
        case TextMatchType.PREFIX:
            value = f"{re.escape(condition.value)}[^;]*"
        case TextMatchType.REGULAR_EXPRESSION:
            value = cookies.within_value(condition.value) or ""
    return cookies.with_value(name, value)


def _cohort(cohort: Cohort) -> route_pb2.HeaderMatcher:
    digits = f"(?:{cohorts.expression(cohort)})"
    if cohort.by is CohortKey.USER:
        return _header("cookie", _whole(cookies.with_value(STICKY_COOKIE, f"{digits}[^;]*")))
    return _header(REQUEST_ID, _whole(f"{digits}.*"))


def _sources(sources: tuple[str, ...]) -> filter_state_pb2.FilterStateMatcher:
    matcher = filter_state_pb2.FilterStateMatcher(key=SOURCE_KEY)
    for source in sources:
        network = ipaddress.ip_network(source, strict=False)
        matcher.address_match.ranges.append(
            cidr_pb2.CidrRange(
                address_prefix=str(network.network_address),
                prefix_len=UInt32Value(value=network.prefixlen),
            )
        )
    return matcher


def _text(condition: Condition) -> string_pb2.StringMatcher:
    match condition.type:
        case TextMatchType.EXACT:
            return string_pb2.StringMatcher(exact=condition.value)
        case TextMatchType.PREFIX:
            return string_pb2.StringMatcher(prefix=condition.value)
        case _:
            return _whole(condition.value)


def _one_of(texts: tuple[str, ...]) -> string_pb2.StringMatcher:
    if len(texts) == 1:
        return string_pb2.StringMatcher(exact=texts[0])
    return _whole("|".join(re.escape(text) for text in sorted(texts)))


def _whole(expression: str) -> string_pb2.StringMatcher:
    matcher = string_pb2.StringMatcher()
    matcher.safe_regex.regex = expression
    return matcher


def _header(name: str, value: string_pb2.StringMatcher) -> route_pb2.HeaderMatcher:
    return route_pb2.HeaderMatcher(name=name, string_match=value)
