"""The fleet: everything that an operator declares, as frozen values.

Built from a fleet file or the API (adapters and api validate and report places), read by every
layer. A fleet is a value: a change makes a new one.
"""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain

from controlplane.domain.errors import NotFound
from controlplane.domain.routing.route import Route
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


class StrategyName(StrEnum):
    """How a service's split is proposed; the guardrails dispose of each in the same way."""

    STATIC = "static"
    CAPACITY = "capacity"
    CPU_EQUALIZER = "cpu_equalizer"
    THRESHOLD = "threshold"
    OBSERVED_LAWS = "observed_laws"
    PAPER_MLP = "paper_mlp"
    PROJECTED_MLP = "projected_mlp"
    GREYBOX = "greybox"
    HYBRID = "hybrid"
    REGIONAL = "regional"


class ServiceClass(StrEnum):
    """How much a service matters when services share a pool: the last is trimmed first."""

    CRITICAL = "critical"
    STANDARD = "standard"
    BEST_EFFORT = "best-effort"


class LoadBalancing(StrEnum):
    """How an endpoint is chosen inside the weighted localities."""

    MAGLEV = "maglev"
    ROUND_ROBIN = "round_robin"


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
class Endpoint:
    """One address that serves a service."""

    address: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The endpoints of one service in one data centre, and the pool that bears its load.

    Without `pool` the machines are its own and described here; with it `Fleet.pools` does, and
    `resolved` puts the pool's figures in place.

    Attributes:
        capacity_rps: requests per second that the pool bears; > 0, but 0 beside `pool`.
        servers: parallel workers of the pool, for the queue law; None means fitted.
        idle_cpu: busy share at no load, 0..1; None means fitted.
        full_cpu: busy share at capacity, 0..1; None means fitted.
        pool: name of the shared pool, "" is a pool of its own.
        cost: work of one request in units of the shared pool's capacity; > 0.
    """

    datacenter: str
    endpoints: tuple[Endpoint, ...]
    capacity_rps: float = 0.0
    servers: int | None = None
    idle_cpu: float | None = None
    full_cpu: float | None = None
    pool: str = ""
    cost: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthCheck:
    """Active HTTP check that gateways run against each endpoint."""

    path: str = "/healthz"
    interval_ms: int = 250
    timeout_ms: int = 200
    healthy_threshold: int = 2
    unhealthy_threshold: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Retries of idempotent requests; `per_try_timeout_ms` bounds one attempt.

    Attributes:
        attempts: retries after the first try. More than the endpoints of one data centre: when it
            dies, a request may meet each of them once before it meets a living one (docs/adr/0009).
    """

    attempts: int = 12
    per_try_timeout_ms: int = 250


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionalRule:
    """What `regional` goes by; loads are 0..1, return < critical.

    Attributes:
        alpha: weight of the connections in a data centre's load, the rest is that of its database
            pool. S2 wants it above 0.5.
        critical_load: above it traffic of its region goes elsewhere.
        return_load: below it traffic comes back. The gap is what noise may do.
    """

    alpha: float = 0.7
    critical_load: float = 0.85
    return_load: float = 0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One service, split between data centres by its strategy.

    Attributes:
        static_shares: data centre -> share; the ratio of `static`, and the validated fallback of
            every other strategy. Empty means by capacity.
        class_of_service: who gives way first on a shared pool.
        alarm_cpu: level (0..1) over which a sample starts a cycle at once and `threshold` sheds.
        timeout_ms: whole request, retries included.
        dither: whether its split may be shifted a little, by chance, so that more can be learned.
    """

    name: str
    clusters: tuple[Cluster, ...]
    strategy: StrategyName = StrategyName.HYBRID
    static_shares: tuple[tuple[str, float], ...] = ()
    load_balancing: LoadBalancing = LoadBalancing.MAGLEV
    health_check: HealthCheck = HealthCheck()
    retry: RetryPolicy = RetryPolicy()
    timeout_ms: int = 15_000
    alarm_cpu: float = 0.80
    class_of_service: ServiceClass = ServiceClass.STANDARD
    regional: RegionalRule = RegionalRule()
    dither: bool = False

    def cluster(self, datacenter: str) -> Cluster:
        """The service's cluster in one data centre; NotFound when it has none there."""
        for cluster in self.clusters:
            if cluster.datacenter == datacenter:
                return cluster
        raise NotFound(
            "cluster_not_found", f"service {self.name} has no cluster in data centre {datacenter}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayGroup:
    """Gateways of one kind that get the same view (an Envoy's node.cluster is its group).

    Attributes:
        region: where their traffic comes from, for `regional` services; None is anywhere.
    """

    name: str
    listen_address: str = "127.0.0.1"
    listen_port: int = 10_000
    region: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """Everything declared. Tuples are ordered by name, data centres by role and join order."""

    datacenters: tuple[Datacenter, ...] = ()
    pools: tuple[Pool, ...] = ()
    services: tuple[Service, ...] = ()
    gateways: tuple[GatewayGroup, ...] = ()
    routes: tuple[Route, ...] = ()
    metric_sources: tuple[DeclaredSource, ...] = ()

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
    """The service with the figures of its shared pools in its clusters.

    The capacity of such a cluster is that of the whole pool in requests of this service.
    """
    if not any(cluster.pool for cluster in service.clusters):
        return service
    pools = {pool.name: pool for pool in fleet.pools}
    return replace(
        service,
        clusters=tuple(
            _on_pool(cluster, pools[cluster.pool]) if cluster.pool else cluster
            for cluster in service.clusters
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
