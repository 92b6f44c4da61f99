"""The snapshot of a fleet: what is declared and decided, as it is published without intents.

Called by the loop at each publication. The one way from a fleet to a snapshot, so the order of
input, restarts and replicas cannot change the version.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from controlplane.domain.errors import Invalid
from controlplane.domain.fleet_order import normalized
from controlplane.domain.policy_limits import service_limits
from controlplane.domain.routing.route import Route
from controlplane.domain.routing.zones import served
from controlplane.domain.services import Cluster, Service
from controlplane.domain.snapshot import (
    CenterEndpoints,
    Content,
    EndpointsSection,
    PoliciesSection,
    RoutesSection,
    ServiceEndpoints,
    Snapshot,
    WeightSet,
    WeightsSection,
    assemble,
)
from controlplane.domain.topology import EVERYWHERE, Fleet, RegionShares
from controlplane.domain.units import to_basis_points

NO_REGIONS: Mapping[str, RegionShares] = MappingProxyType({})


def build(
    fleet: Fleet,
    shares: Mapping[str, Mapping[str, float]],
    regions: Mapping[str, RegionShares] = NO_REGIONS,
) -> Snapshot:
    """Make the snapshot of a fleet with the decided shares.

    Args:
        fleet: in any order.
        shares: service -> data centre -> share (>= 0); a data centre that is left out gets 0.
        regions: service -> the same for source regions that have a split of their own.

    Returns:
        A snapshot with revision 0.

    Raises:
        Invalid: a service has no positive share, or none on a data centre with an endpoint.
    """
    facts = normalized(fleet)
    places = {center.name: center.region for center in facts.datacenters}
    groups = {group.name: group.zone for group in facts.gateways}
    limits = service_limits(facts.policies)
    content = Content(
        endpoints=EndpointsSection(
            services=tuple(
                replace(_endpoints(service, places), limit=limits.get(service.name))
                for service in facts.services
            )
        ),
        weights=WeightsSection(
            weights=tuple(
                _weights(service, region, split)
                for service in facts.services
                for region, split in (
                    (EVERYWHERE, shares[service.name]),
                    *sorted(regions.get(service.name, {}).items()),
                )
            )
        ),
        routes=RoutesSection(
            gateways=facts.gateways,
            routes=served(map(_without_checks, facts.routes), facts.zones, groups),
            whitelists=facts.whitelists,
            l4_routes=served(facts.l4_routes, facts.zones, groups),
            callers=facts.callers,
            consumers=facts.consumers,
            certificates=facts.certificates,
            zones=facts.zones,
        ),
        admission=PoliciesSection(policies=facts.policies),
    )
    return assemble(content)


def _without_checks(route: Route) -> Route:
    """Checks are run before a publication; no gateway needs them."""
    return replace(route, checks=()) if route.checks else route


def _endpoints(service: Service, places: Mapping[str, str]) -> ServiceEndpoints:
    centers = tuple(
        CenterEndpoints(
            datacenter=cluster.datacenter,
            region=places[cluster.datacenter],
            addresses=tuple((e.address, e.port) for e in cluster.endpoints),
            cluster=cluster.name,
            weight=cluster.weight,
            standby=cluster.standby,
            versions=_versions(cluster),
        )
        for cluster in service.clusters
    )
    return ServiceEndpoints(
        service=service.name,
        load_balancing=service.load_balancing,
        health_check=service.health_check,
        retry=service.retry,
        timeout_ms=service.timeout_ms,
        centers=centers,
        stickiness=service.stickiness,
        all_down=service.all_down,
    )


def _versions(cluster: Cluster) -> tuple[str, ...]:
    versions = tuple(endpoint.version for endpoint in cluster.endpoints)
    return versions if any(versions) else ()


def _weights(service: Service, region: str, shares: Mapping[str, float]) -> WeightSet:
    centers = service.centers
    usable = {c.datacenter: shares.get(c.datacenter, 0.0) for c in centers if c.endpoints}
    if not any(share > 0 for share in usable.values()):
        raise Invalid(
            "no_positive_weight",
            f"service {service.name} has no positive share on a data centre with endpoints; "
            f"declare an endpoint or give one of {sorted(usable)} a share",
        )
    absent = {c.datacenter: 0 for c in centers if not c.endpoints}
    return WeightSet(
        service=service.name,
        source_region=region,
        weights={**to_basis_points(usable), **absent},
    )
