"""The canonical order of a fleet: the order of input never shows in what follows from it.

Called wherever a fleet comes in or goes out as a document.
"""

from dataclasses import replace

from controlplane.domain.topology import ROLE_ORDER, Datacenter, Fleet, Service


def normalized(fleet: Fleet) -> Fleet:
    """The same fleet in canonical order, so that the order of input never shows.

    Data centres by role, join order and name, which is the order in which idle ones join; a
    service's clusters follow that order; endpoints by address and port; the rest by name.
    """
    centers = tuple(sorted(fleet.datacenters, key=_joining))
    position = {center.name: index for index, center in enumerate(centers)}
    return Fleet(
        datacenters=centers,
        pools=tuple(sorted(fleet.pools, key=lambda p: p.name)),
        services=tuple(
            _normalized_service(service, position)
            for service in sorted(fleet.services, key=lambda s: s.name)
        ),
        gateways=tuple(sorted(fleet.gateways, key=lambda g: g.name)),
        routes=tuple(sorted(fleet.routes, key=lambda r: r.id)),
        metric_sources=tuple(
            replace(source, queries=tuple(sorted(source.queries)))
            for source in sorted(fleet.metric_sources, key=lambda s: s.name)
        ),
    )


def _joining(center: Datacenter) -> tuple[int, int, str]:
    return ROLE_ORDER.index(center.role), center.join_order, center.name


def _normalized_service(service: Service, position: dict[str, int]) -> Service:
    clusters = sorted(service.clusters, key=lambda c: position.get(c.datacenter, len(position)))
    return replace(
        service,
        clusters=tuple(
            replace(c, endpoints=tuple(sorted(c.endpoints, key=lambda e: (e.address, e.port))))
            for c in clusters
        ),
        static_shares=tuple(sorted(service.static_shares)),
    )
