"""What a plan counts with: services, their shares and expected loads, and the pools of a fleet.

Called for a forecast, for the plan of an intent and at each tick by `overlay`, so that all three
say the same of the same facts.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from controlplane.domain.failover.demand import Bearer, Demand
from controlplane.domain.intents.intent import Intent, Load
from controlplane.domain.services import Cluster, Service, ServiceClass
from controlplane.domain.snapshot import WeightSet
from controlplane.domain.topology import EVERYWHERE, Fleet, Role, resolved
from controlplane.domain.units import BASIS_POINTS

_RANKS = {each: rank for rank, each in enumerate(ServiceClass)}
# Those that bear traffic in normal times are one tier; then pools in the order of the roles.
_TIERS = {Role.PRIMARY: 0, Role.SAME_CITY: 0, Role.DISASTER_RECOVERY: 1, Role.CLOUD: 2}

# Whether a service is down in a data centre by what health knows.
Down = Callable[[str, str], bool]


def nothing_down(_service: str, _datacenter: str) -> bool:
    """The judgment of who has no picture of health."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What stands without intents.

    Attributes:
        rows: service -> its splits in force without intents, "*" first.
        loads: service -> expected requests per second; who is left out is unknown.
    """

    fleet: Fleet
    rows: Mapping[str, Sequence[WeightSet]]
    loads: Mapping[str, float]
    down: Down = nothing_down


def demands(ground: Ground, leaving: Mapping[str, Iterable[str]]) -> list[Demand]:
    """One for each service that has endpoints.

    Args:
        leaving: service -> data centres that its traffic leaves.
    """
    tiers = {center.name: _TIERS[center.role] for center in ground.fleet.datacenters}
    found = []
    for service in ground.fleet.services:
        gone = frozenset(leaving.get(service.name, ()))
        shares = shares_of(ground.rows.get(service.name, ()))
        bearers = tuple(
            Bearer(
                datacenter=cluster.datacenter,
                pool=pool_key(service, cluster),
                tier=tiers[cluster.datacenter],
                share=shares.get(cluster.datacenter, 0.0),
                leaving=cluster.datacenter in gone,
                usable=not ground.down(service.name, cluster.datacenter),
                cost=cluster.cost if cluster.pool else 1.0,
            )
            for cluster in service.centers
            if cluster.endpoints
        )
        if bearers:
            rank = _RANKS[service.class_of_service]
            rate = ground.loads.get(service.name)
            found.append(Demand(service=service.name, rank=rank, rate_rps=rate, bearers=bearers))
    return found


def capacities(fleet: Fleet) -> dict[str, float]:
    """Work per second that each pool bears, by key."""
    found = {}
    for service in fleet.services:
        for cluster in resolved(fleet, service).clusters:
            cost = cluster.cost if cluster.pool else 1.0
            found[pool_key(service, cluster)] = cluster.capacity_rps * cost
    return found


def pool_key(service: Service, cluster: Cluster) -> str:
    """Key of the machines of a service in one data centre: a shared pool's, or its own."""
    if cluster.pool:
        return f"{cluster.datacenter}/{cluster.pool}"
    return f"{cluster.datacenter}/service/{service.name}"


def shares_of(rows: Sequence[WeightSet]) -> dict[str, float]:
    """Data centre -> share; the mean where source regions have splits of their own."""
    chosen = [row for row in rows if row.source_region != EVERYWHERE] or list(rows)
    centers = {center for row in chosen for center in row.weights}
    return {
        center: math.fsum(row.weights.get(center, 0) for row in chosen)
        / (BASIS_POINTS * len(chosen))
        for center in sorted(centers)
    }


def planned_loads(intents: Iterable[Intent]) -> dict[str, float]:
    """Loads that the standing intents were planned with; of several plans the latest counts."""
    standing = sorted((one for one in intents if one.standing), key=lambda one: one.number)
    return {load.service: load.rate_rps for one in standing for load in one.loads}


def as_loads(loads: Mapping[str, float]) -> tuple[Load, ...]:
    """Loads as an intent keeps them."""
    return tuple(Load(service=name, rate_rps=rate) for name, rate in sorted(loads.items()))
