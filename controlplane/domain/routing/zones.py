"""Zones: groups of gateways with a place in the network, and what they may do there.

A site has an external zone (from the internet), an internal one, and one for ticketing that takes
requests from the internal zone only. What a zone does not do is left out on its gateways.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

from controlplane.domain.routing.route import L4Route, Route

Traffic = TypeVar("Traffic", Route, L4Route)


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


def missing_functions(route: Route | L4Route, zone: Zone) -> tuple[ZoneFunction, ...]:
    """What a route needs and the zone does not do; () serves it."""
    if not zone.functions:
        return ()
    return tuple(need for need in _needs(route) if need not in zone.functions)


def served(
    routes: Iterable[Traffic], zones: Iterable[Zone], groups: Mapping[str, str]
) -> tuple[Traffic, ...]:
    """The routes with only those gateway groups whose zone does what they need.

    A route that no group may have is left out.

    Args:
        groups: every declared gateway group -> its zone, "" for none.
    """
    limited = {zone.name: zone for zone in zones if zone.functions}
    if not any(zone in limited for zone in groups.values()):
        return tuple(routes)
    return tuple(kept for route in routes if (kept := _limited(route, limited, groups)) is not None)


def _limited(
    route: Traffic, limited: Mapping[str, Zone], groups: Mapping[str, str]
) -> Traffic | None:
    wanted = route.gateways or tuple(sorted(groups))
    kept = tuple(name for name in wanted if not _lacks(route, limited.get(groups.get(name, ""))))
    if kept == wanted:
        return route
    return replace(route, gateways=kept) if kept else None


def _lacks(route: Route | L4Route, zone: Zone | None) -> bool:
    return zone is not None and bool(missing_functions(route, zone))


def _needs(route: Route | L4Route) -> Iterator[ZoneFunction]:
    if isinstance(route, L4Route):
        yield ZoneFunction.L4
        return
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
