"""The fleet: everything that an operator declares, as frozen values.

Built from a fleet file or the API (adapters and api validate and report places), read by every
layer. A fleet is a value: a change makes a new one.
"""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain

from controlplane.domain.admission.agent_door import AgentDoor
from controlplane.domain.admission.policy import Policy
from controlplane.domain.errors import NotFound
from controlplane.domain.routing.callers.policies import CallerPolicy, Consumer
from controlplane.domain.routing.life.release import Release
from controlplane.domain.routing.route import L4Route, Route
from controlplane.domain.routing.tls import Certificate
from controlplane.domain.routing.whitelist import Whitelist
from controlplane.domain.routing.zones import Zone
from controlplane.domain.services import Cluster, Service
from controlplane.domain.sources import DeclaredSource

# In place of a source region: traffic of every region that has no split of its own.
EVERYWHERE = "*"
# Source region -> data centre -> share.
RegionShares = Mapping[str, Mapping[str, float]]


class Role(StrEnum):
    """What a data centre is for; also its order when traffic needs more room."""

    PRIMARY = "primary"
    SAME_CITY = "same-city"
    DISASTER_RECOVERY = "disaster-recovery"
    CLOUD = "cloud"


@dataclass(frozen=True, slots=True, kw_only=True)
class Datacenter:
    """One site.

    Attributes:
        region: the locality region that gateways see.
        join_order: place among the data centres of one role, lowest first; equal ones by name.
    """

    name: str
    role: Role
    region: str
    join_order: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Machines of one data centre that bear the load of several services.

    Attributes:
        capacity_rps: requests of cost 1 per second that it bears; > 0.
        servers, idle_cpu, full_cpu: as in `Cluster`.
    """

    name: str
    datacenter: str
    capacity_rps: float
    servers: int | None = None
    idle_cpu: float | None = None
    full_cpu: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayGroup:
    """Gateways of one kind that get the same view (an Envoy's node.cluster is its group).

    Attributes:
        region: where their traffic comes from, for `regional` services; None is anywhere.
        tls_port: where they speak TLS; None is nowhere.
        zone: "" is none: they do everything, for anybody.
        agent: whom they ask about each request; None is nobody.
    """

    name: str
    listen_address: str = "127.0.0.1"
    listen_port: int = 10_000
    region: str | None = None
    tls_port: int | None = None
    zone: str = ""
    agent: AgentDoor | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """Everything declared. Tuples are ordered by name, data centres by role and join order.

    Attributes:
        releases: drafts, gray and retired routes; no document has them, a file leaves them alone.
    """

    datacenters: tuple[Datacenter, ...] = ()
    pools: tuple[Pool, ...] = ()
    services: tuple[Service, ...] = ()
    gateways: tuple[GatewayGroup, ...] = ()
    routes: tuple[Route, ...] = ()
    whitelists: tuple[Whitelist, ...] = ()
    l4_routes: tuple[L4Route, ...] = ()
    callers: tuple[CallerPolicy, ...] = ()
    consumers: tuple[Consumer, ...] = ()
    certificates: tuple[Certificate, ...] = ()
    zones: tuple[Zone, ...] = ()
    policies: tuple[Policy, ...] = ()
    metric_sources: tuple[DeclaredSource, ...] = ()
    releases: tuple[Release, ...] = ()

    def service(self, name: str) -> Service:
        """The service of that name; NotFound otherwise."""
        # By order first: the intake asks for each sample, and there may be 1,000 services.
        near = bisect_left(self.services, name, key=lambda service: service.name)
        for service in chain(self.services[near : near + 1], self.services):
            if service.name == name:
                return service
        raise NotFound("service_not_found", f"service {name} is not declared in the fleet")


ROLE_ORDER = tuple(Role)


def resolved(fleet: Fleet, service: Service) -> Service:
    """The service with one cluster for each data centre, and the figures of shared pools in them.

    The capacity of one on a shared pool is that of the whole pool in requests of this service.
    """
    centers = service.centers
    if centers is service.clusters and not any(cluster.pool for cluster in centers):
        return service
    pools = {pool.name: pool for pool in fleet.pools}
    return replace(
        service,
        clusters=tuple(
            _on_pool(cluster, pools[cluster.pool]) if cluster.pool else cluster
            for cluster in centers
        ),
    )


def _on_pool(cluster: Cluster, pool: Pool) -> Cluster:
    return replace(
        cluster,
        capacity_rps=pool.capacity_rps / cluster.cost,
        servers=pool.servers,
        idle_cpu=pool.idle_cpu,
        full_cpu=pool.full_cpu,
    )
