"""The demo's fleet: one service per lane on the data centres of the layout.

Each lane has its own workers and route, so lanes differ only by their strategy.
"""

from collections.abc import Mapping

from controlplane.demo.layout import HOST, Layout
from controlplane.demo.options import CAPACITY_LANE, EQUAL_LANE, LEARNED_LANE, STATIC_RATIOS
from controlplane.domain.routing.route import PathMatch, Route
from controlplane.domain.services import (
    Cluster,
    Endpoint,
    HealthCheck,
    RetryPolicy,
    Service,
    StrategyName,
)
from controlplane.domain.topology import Datacenter, Fleet, GatewayGroup, Role

GROUP = "edge"
PRIMARY, SECONDARY = "primary", "secondary"
# A request may hold a worker for 600 ms and wait for one; 250 ms would retry ordinary requests.
PER_TRY_TIMEOUT_MS = 2_000
# Above what the rig reaches, so the alarm speaks of trouble and not of every peak.
ALARM_CPU = 0.95


def lane_names() -> tuple[str, ...]:
    """All lanes, the learned one first."""
    return (LEARNED_LANE, EQUAL_LANE, CAPACITY_LANE, *STATIC_RATIOS)


def demo_fleet(layout: Layout, learned: Service) -> Fleet:
    """The whole fleet, with the learned lane as given."""
    ratios: Mapping[str, float] = {EQUAL_LANE: 0.5, **STATIC_RATIOS}
    services = [learned, lane_service(layout, CAPACITY_LANE, StrategyName.CAPACITY)]
    services += [
        lane_service(layout, name, StrategyName.STATIC, ratio) for name, ratio in ratios.items()
    ]
    return Fleet(
        datacenters=(
            Datacenter(name=PRIMARY, role=Role.PRIMARY, region="north"),
            Datacenter(name=SECONDARY, role=Role.SAME_CITY, region="north"),
        ),
        services=tuple(services),
        gateways=(GatewayGroup(name=GROUP, listen_address=HOST, listen_port=layout.envoy_port),),
        routes=tuple(
            Route(id=name, service=name, path=PathMatch(value=f"/{name}")) for name in lane_names()
        ),
    )


def lane_service(
    layout: Layout, name: str, strategy: StrategyName, ratio: float | None = None
) -> Service:
    """One lane as a service; `ratio` is the primary's static share, None is by capacity."""
    shares = () if ratio is None else ((PRIMARY, ratio), (SECONDARY, round(1 - ratio, 6)))
    return Service(
        name=name,
        strategy=strategy,
        static_shares=shares,
        clusters=tuple(_cluster(layout, name, center) for center in (PRIMARY, SECONDARY)),
        health_check=HealthCheck(path="/hc"),
        retry=RetryPolicy(per_try_timeout_ms=PER_TRY_TIMEOUT_MS),
        timeout_ms=5_000,
        alarm_cpu=ALARM_CPU,
    )


def _cluster(layout: Layout, lane: str, center: str) -> Cluster:
    workers = layout.datacenter(center).workers
    return Cluster(
        datacenter=center,
        capacity_rps=1000.0 * workers / layout.demand.mean_ms,
        servers=workers,
        idle_cpu=0.0,
        full_cpu=1.0,
        endpoints=tuple(
            Endpoint(address=HOST, port=port) for port in layout.endpoint_ports(center, lane)
        ),
    )
