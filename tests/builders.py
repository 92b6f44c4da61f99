"""Small facts for tests: a two-centre fleet and samples that fit it."""

from dataclasses import replace

from controlplane.domain.access import AccessRole, Principal
from controlplane.domain.routing.route import PathMatch, Route
from controlplane.domain.services import Cluster, Endpoint, Service, StrategyName
from controlplane.domain.telemetry import Sample
from controlplane.domain.topology import Datacenter, Fleet, GatewayGroup, Role

OPERATOR = Principal(token_id="t1", name="operator", role=AccessRole.OPERATOR)


def cluster(
    datacenter: str, capacity_rps: float, ports: range, address: str = "127.0.0.1"
) -> Cluster:
    return Cluster(
        datacenter=datacenter,
        capacity_rps=capacity_rps,
        endpoints=tuple(Endpoint(address=address, port=port) for port in ports),
        servers=len(ports),
    )


def service(name: str = "tickets", strategy: StrategyName = StrategyName.STATIC) -> Service:
    return Service(
        name=name,
        strategy=strategy,
        clusters=(
            cluster("beijing-1", 80.0, range(9001, 9009)),
            cluster("beijing-2", 50.0, range(9101, 9106)),
        ),
    )


def fleet(*services: Service) -> Fleet:
    chosen = services or (service(),)
    return Fleet(
        datacenters=(
            Datacenter(name="beijing-1", role=Role.PRIMARY, region="north"),
            Datacenter(name="beijing-2", role=Role.SAME_CITY, region="north"),
        ),
        services=chosen,
        gateways=(GatewayGroup(name="edge", listen_port=10_000),),
        routes=tuple(
            Route(id=f"{each.name}-all", service=each.name, path=PathMatch(value=f"/{each.name}"))
            for each in chosen
        ),
    )


def sample(datacenter: str = "beijing-1", time_s: float = 1000.0, **values: float) -> Sample:
    base = Sample(
        datacenter=datacenter,
        service="tickets",
        time_s=time_s,
        received_s=time_s,
        response_time_ms=50.0,
        request_rate_rps=40.0,
        cpu_avg=0.5,
        cpu_max=0.6,
    )
    return replace(base, **values)
