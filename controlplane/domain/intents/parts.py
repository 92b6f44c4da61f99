"""Removals of clusters and endpoints from a snapshot's content.

Called by `overlay` before whole data centres are moved: when a removal leaves nothing that bears
traffic in a data centre, it amounts to the data centre for that service.
"""

from collections.abc import Sequence
from dataclasses import replace

from controlplane.domain.intents.intent import Target
from controlplane.domain.intents.presence import Removal
from controlplane.domain.intents.sessions import drained, stays
from controlplane.domain.services import endpoint_name
from controlplane.domain.snapshot import (
    CenterEndpoints,
    Content,
    EndpointsSection,
    ServiceEndpoints,
)

# A cluster that is being drained keeps its weight in so many parts.
_FINER = 100


def without(content: Content, taken: Sequence[Removal]) -> tuple[Content, tuple[Removal, ...]]:
    """The content without the parts that are taken, and the removals of whole data centres.

    An endpoint goes at once when its removal begins: no weight of its own says less. Its requests
    under way end where they are.
    """
    wholes = tuple(one for one in taken if not _partial(one))
    some = [one for one in taken if _partial(one) and one.stands]
    if not some:
        return content, wholes
    services = list(content.endpoints.services)
    for index, service in enumerate(services):
        mine = [one for one in some if one.target.service == service.service]
        for removal in mine:
            left = _applied(service, removal)
            center = removal.target.datacenter
            if any(_bears(each, center) for each in left):
                service = replace(service, centers=left)
            else:
                target = Target(service=service.service, datacenter=center)
                wholes = (*wholes, replace(removal, target=target))
        services[index] = service
    ordered = sorted(wholes, key=lambda one: (one.begun, one.number), reverse=True)
    section = EndpointsSection(services=tuple(services))
    return replace(content, endpoints=section), tuple(ordered)


def _partial(removal: Removal) -> bool:
    return bool(removal.target.cluster or removal.target.endpoint)


def _bears(center: CenterEndpoints, datacenter: str) -> bool:
    left = set(center.addresses) - set(center.draining)
    return center.datacenter == datacenter and bool(left) and not center.standby


def _applied(service: ServiceEndpoints, removal: Removal) -> tuple[CenterEndpoints, ...]:
    centers, target = service.centers, removal.target
    if not removal.begun:
        return centers
    if stays(service, removal):
        return tuple(_drained(each, target) if _named(each, target) else each for each in centers)
    if target.endpoint:
        return tuple(
            _without_endpoint(each, target.endpoint) if _named(each, target) else each
            for each in centers
        )
    mine = [each for each in centers if _named(each, target)]
    if not mine:
        return centers
    if removal.level <= 0:
        return tuple(each for each in centers if not _named(each, target))
    return tuple(_weighed(each, removal) for each in centers)


def _drained(center: CenterEndpoints, target: Target) -> CenterEndpoints:
    if not target.endpoint:
        return drained(center)
    return drained(
        center, [one for one in center.addresses if endpoint_name(*one) == target.endpoint]
    )


def _named(center: CenterEndpoints, target: Target) -> bool:
    return center.datacenter == target.datacenter and target.cluster in ("", center.cluster)


def _weighed(center: CenterEndpoints, removal: Removal) -> CenterEndpoints:
    """Weights are in proportion, so all of the data centre's become finer to say a part of one."""
    if center.datacenter != removal.target.datacenter or center.standby:
        return center
    level = removal.level if _named(center, removal.target) else 1.0
    return replace(center, weight=max(1, round(center.weight * _FINER * level)))


def _without_endpoint(center: CenterEndpoints, endpoint: str) -> CenterEndpoints:
    kept = [
        index
        for index, address in enumerate(center.addresses)
        if endpoint_name(*address) != endpoint
    ]
    return replace(
        center,
        addresses=tuple(center.addresses[index] for index in kept),
        versions=tuple(center.versions[index] for index in kept) if center.versions else (),
    )
