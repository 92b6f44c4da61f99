"""Zones: groups of gateways with a place in the network, and what they may do there.

A site has an external zone (from the internet), an internal one, and one for ticketing that takes
requests from the internal zone only. What a zone does not do is left out on its gateways.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.routing.route import Route


class ZoneFunction(StrEnum):
    """What gateways do beside passing the requests of known callers to services."""

    ANONYMOUS = "anonymous"
    ANSWERS = "answers"
    L4 = "l4"
    REWRITES = "rewrites"
    SLOW_QUEUE = "slow_queue"
    TRANSFORMS = "transforms"


@dataclass(frozen=True, slots=True, kw_only=True)
class Zone:
    """One zone.

    Attributes:
        functions: () is all of them. Without `anonymous` every route needs authentication,
            without `answers` there is neither redirect nor fixed response.
        sources: addresses (CIDR) of those who may connect, gateways of another zone for one; ()
            is anybody.
    """

    name: str
    functions: tuple[ZoneFunction, ...] = ()
    sources: tuple[str, ...] = ()


def missing_functions(route: Route, zone: Zone) -> tuple[ZoneFunction, ...]:
    """What a route needs and the zone does not do; () serves it."""
    if not zone.functions:
        return ()
    return tuple(need for need in _needs(route) if need not in zone.functions)


def _needs(route: Route) -> Iterator[ZoneFunction]:
    if not route.authentication:
        yield ZoneFunction.ANONYMOUS
    if route.redirect is not None or route.response is not None:
        yield ZoneFunction.ANSWERS
    if any((route.rewrite, route.request_headers, route.response_headers)):
        yield ZoneFunction.REWRITES
    if route.queue is not None:
        yield ZoneFunction.SLOW_QUEUE
    if route.transform:
        yield ZoneFunction.TRANSFORMS
