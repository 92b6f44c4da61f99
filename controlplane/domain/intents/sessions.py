"""Drains of services that keep sessions: nothing new comes at once, what is there may stay.

Called by `overlay` and by `parts`. A drain is a ramp of the weights only where users are where
their cookie hashes to; here its length is how long sessions may stay. A failover keeps none.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from controlplane.domain.intents.presence import Presence, Removal
from controlplane.domain.services import StickyMode
from controlplane.domain.snapshot import (
    CenterEndpoints,
    Content,
    EndpointsSection,
    ServiceEndpoints,
)


def for_service(service: ServiceEndpoints, taken: Iterable[Removal]) -> tuple[Removal, ...]:
    """The removals as they are for one service: without a ramp where sessions stay."""
    if service.stickiness is StickyMode.HASH:
        return tuple(taken)
    return tuple(replace(one, level=0.0) if one.draining else one for one in taken)


def stays(service: ServiceEndpoints, removal: Removal) -> bool:
    """Whether sessions of a service stay with what a removal takes."""
    return service.stickiness is StickyMode.SESSION and removal.draining


def drained(
    center: CenterEndpoints, addresses: Iterable[tuple[str, int]] | None = None
) -> CenterEndpoints:
    """A cluster of which some addresses, or all, get nothing new."""
    chosen = center.addresses if addresses is None else addresses
    return replace(center, draining=tuple(sorted({*center.draining, *chosen})))


def staying(content: Content, present: Mapping[str, Presence], taken: Iterable[Removal]) -> Content:
    """The content with data centres draining that are left, but whose sessions stay."""
    kept = list(taken)
    services = tuple(
        _staying(service, present[service.service], kept) if service.service in present else service
        for service in content.endpoints.services
    )
    if services == content.endpoints.services:
        return content
    return replace(content, endpoints=EndpointsSection(services=services))


def _staying(
    service: ServiceEndpoints, present: Presence, taken: Iterable[Removal]
) -> ServiceEndpoints:
    mine = [one for one in taken if one.target.service in ("", service.service) and one.stands]
    centers = {
        name
        for name in present.levels
        if all(stays(service, one) for one in mine if one.target.datacenter == name)
    }
    if not centers:
        return service
    return replace(
        service,
        centers=tuple(drained(c) if c.datacenter in centers else c for c in service.centers),
    )
