"""A service in two data centres, and what observers say of its endpoints."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from controlplane.domain.health.checks import Verdict
from controlplane.domain.health.judging import (
    NO_ORDERS,
    ClusterKey,
    Evidence,
    Orders,
    endpoint_keys,
    judge_centers,
    judge_service,
)
from controlplane.domain.health.picture import EndpointKey, Health, ServiceHealth
from controlplane.domain.health.quorum import Opinion, QuorumRules, Report, observers
from controlplane.domain.services import AllDown, Cluster, Endpoint, Service

RULES = QuorumRules()
CENTERS = ("east", "west")


def service(all_down: AllDown = AllDown.HOLD, clusters: tuple[Cluster, ...] = ()) -> Service:
    usual = (cluster("east", 2), cluster("west", 2))
    return Service(name="shop", clusters=clusters or usual, all_down=all_down)


def cluster(datacenter: str, count: int, name: str = "", standby: bool = False) -> Cluster:
    first = {"east": 10, "west": 20}.get(datacenter, 30) + (5 if name else 0)
    return Cluster(
        datacenter=datacenter,
        name=name,
        capacity_rps=100.0,
        standby=standby,
        endpoints=tuple(Endpoint(address="10.0.0.1", port=first + n) for n in range(count)),
    )


def saying(
    declared: Service, unhealthy: Iterable[int] = (), unknown: Iterable[int] = ()
) -> dict[EndpointKey, Opinion]:
    """Opinions about all endpoints of a service: healthy but for these ports."""
    bad, new = set(unhealthy), set(unknown)
    return {
        key: Opinion(verdict=Verdict.UNHEALTHY, words="refused")
        if key.port in bad
        else Opinion(verdict=Verdict.UNKNOWN if key.port in new else Verdict.HEALTHY)
        for key in endpoint_keys(declared)
    }


def evidence(
    opinions: Mapping[str, Mapping[EndpointKey, Opinion]],
    now_s: float = 100.0,
    failing: frozenset[ClusterKey] = frozenset(),
    orders: Orders = NO_ORDERS,
) -> Evidence:
    reports = tuple(
        Report(observer=name, heard_s=now_s, opinions=said) for name, said in opinions.items()
    )
    return Evidence(
        now_s=now_s,
        reports=reports,
        observers=observers(reports, now_s, RULES),
        failing=failing,
        orders=orders,
    )


def next_picture(declared: Service, facts: Evidence, before: Health | None = None) -> Health:
    """The picture of a site with this service alone."""
    earlier = before or Health()
    found: dict[str, ServiceHealth] = {
        declared.name: judge_service(declared, facts, earlier.services.get(declared.name))
    }
    return replace(
        earlier,
        services=found,
        centers=judge_centers(CENTERS, found, earlier, facts),
        observers=facts.observers,
        held=facts.held,
    )
