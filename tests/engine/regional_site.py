"""A fleet of two regional servers, each with the gateways of its region."""

from controlplane.domain.services import Service, StrategyName
from controlplane.domain.topology import Datacenter, Fleet, GatewayGroup, Role
from tests.builders import cluster

REGIONS = ("north", "south")
FULL_RPS = 100.0


def regional_fleet(strategy: StrategyName = StrategyName.REGIONAL) -> Fleet:
    return Fleet(
        datacenters=(
            Datacenter(name="dc-north", role=Role.PRIMARY, region="north"),
            Datacenter(name="dc-south", role=Role.SAME_CITY, region="south"),
        ),
        services=(
            Service(
                name="stations",
                strategy=strategy,
                clusters=tuple(
                    cluster(f"dc-{name}", 2 * FULL_RPS, range(9000, 9001)) for name in REGIONS
                ),
            ),
        ),
        gateways=tuple(GatewayGroup(name=f"edge-{name}", region=name) for name in REGIONS),
    )
