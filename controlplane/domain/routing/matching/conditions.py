"""Conditions of a route as predicates over a request. Called by the matcher."""

import ipaddress
from collections.abc import Callable, Mapping

from controlplane.domain.routing.expressions import Expression, compiled
from controlplane.domain.routing.matching.request import Request
from controlplane.domain.routing.route import Condition, Part, TextMatchType

Predicate = Callable[[Request], bool]


def of_condition(condition: Condition) -> Predicate:
    """Whether a request fulfils a condition on a header, query argument or cookie."""
    read = _READERS[condition.part]
    holds = _text(condition)
    name = condition.name

    def fulfilled(request: Request) -> bool:
        return holds(read(request).get(name))

    return fulfilled


def of_sources(sources: tuple[str, ...]) -> Predicate:
    """Whether the caller's address is in one of some networks (CIDR)."""
    networks = [ipaddress.ip_network(source, strict=False) for source in sources]

    def fulfilled(request: Request) -> bool:
        address = _address(request.source)
        return address is not None and any(address in network for network in networks)

    return fulfilled


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """An address; IPv4 within IPv6 is IPv4."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _headers(request: Request) -> Mapping[str, str]:
    return request.headers


def _query_params(request: Request) -> Mapping[str, str]:
    return request.query_params


def _cookies(request: Request) -> Mapping[str, str]:
    return request.cookies


_READERS: Mapping[Part, Callable[[Request], Mapping[str, str]]] = {
    Part.HEADER: _headers,
    Part.QUERY_PARAM: _query_params,
    Part.COOKIE: _cookies,
}


def _text(condition: Condition) -> Callable[[str | None], bool]:
    value = condition.value
    match condition.type:
        case TextMatchType.EXACT:
            return lambda text: text == value
        case TextMatchType.PREFIX:
            return lambda text: text is not None and text.startswith(value)
        case TextMatchType.PRESENT:
            return lambda text: text is not None
        case TextMatchType.ABSENT:
            return lambda text: text is None
        case _:
            return _whole(compiled(value))


def _whole(expression: Expression) -> Callable[[str | None], bool]:
    return lambda text: text is not None and expression.matches(text)
