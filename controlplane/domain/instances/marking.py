"""What health takes out of a snapshot's content: addresses that get nothing while others can serve.

Called by the engine right before a snapshot is published. Marks are put over what is declared and
decided, so a picture in which all is well leaves the content as it is.
"""

from collections.abc import Mapping
from dataclasses import replace

from controlplane.domain.health.picture import EndpointKey
from controlplane.domain.snapshot import CenterEndpoints, Content, ServiceEndpoints

Out = Mapping[str, frozenset[EndpointKey]]


def marked(content: Content, out: Out) -> Content:
    """The content with these endpoints out.

    Args:
        out: service -> endpoints that should get nothing; who is left out has none.
    """
    section = content.endpoints
    if not any(each.service in out for each in section.services):
        return content
    services = tuple(_service(each, out.get(each.service)) for each in section.services)
    return replace(content, endpoints=replace(section, services=services))


def shunned(content: Content, out: Out) -> Content:
    """The content with these endpoints as if they were drained, to ask who is left without them."""
    section = marked(content, out).endpoints
    services = tuple(
        replace(
            each,
            centers=tuple(
                replace(one, draining=(*one.draining, *one.out)) if one.out else one
                for one in each.centers
            ),
        )
        for each in section.services
    )
    return replace(content, endpoints=replace(section, services=services))


def _service(service: ServiceEndpoints, out: frozenset[EndpointKey] | None) -> ServiceEndpoints:
    if not out:
        return service
    named = {(key.datacenter, key.cluster, key.address, key.port) for key in out}
    centers = tuple(_center(center, named) for center in service.centers)
    return replace(service, centers=centers)


def _center(center: CenterEndpoints, named: set[tuple[str, str, str, int]]) -> CenterEndpoints:
    found = tuple(
        address
        for address in center.addresses
        if (center.datacenter, center.cluster, *address) in named and address not in center.draining
    )
    return replace(center, out=found) if found else center
