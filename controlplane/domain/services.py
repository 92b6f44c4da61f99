"""Services as they are declared: their clusters, how endpoints are chosen, checked and asked again,
and how their traffic is split.

Frozen values, part of a `topology.Fleet`. Read by every layer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain
from typing import ClassVar

from controlplane.domain.errors import NotFound


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
    """How an endpoint is chosen inside the weighted localities.

    `maglev` hashes the user; `bounded_hash` does too, but gives none more than 1.25 times the
    mean of the requests in work.
    """

    MAGLEV = "maglev"
    BOUNDED_HASH = "bounded_hash"
    ROUND_ROBIN = "round_robin"
    LEAST_CONNECTIONS = "least_connections"

    @property
    def sticky(self) -> bool:
        """Whether a user stays on an endpoint."""
        return self in (LoadBalancing.MAGLEV, LoadBalancing.BOUNDED_HASH)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One address that serves a service, in a version of it where that matters."""

    address: str
    port: int
    version: str = ""


def endpoint_name(address: str, port: int) -> str:
    """`ADDRESS:PORT`, as in a URL: IPv6 in brackets."""
    host = f"[{address}]" if ":" in address else address
    return f"{host}:{port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Endpoints of one service in one data centre, and the pool that bears their load.

    Without `pool` the machines are its own and described here; with it `Fleet.pools` does, and
    `topology.resolved` puts the pool's figures in place. Of several clusters in one data centre
    each has its own name, and those without `standby` name the same pool or none.

    Attributes:
        capacity_rps: requests per second that the pool bears; > 0, but 0 beside `pool`.
        servers: parallel workers of the pool, for the queue law; None means fitted.
        idle_cpu: busy share at no load, 0..1; None means fitted.
        full_cpu: busy share at capacity, 0..1; None means fitted.
        pool: name of the shared pool, "" is a pool of its own.
        cost: work of one request in units of the shared pool's capacity; > 0.
        weight: part of the data centre's traffic, in proportion to its other clusters; >= 1.
        standby: gets traffic only when the others of its data centre cannot serve.
    """

    datacenter: str
    endpoints: tuple[Endpoint, ...]
    capacity_rps: float = 0.0
    servers: int | None = None
    idle_cpu: float | None = None
    full_cpu: float | None = None
    pool: str = ""
    cost: float = 1.0
    name: str = ""
    weight: int = 100
    standby: bool = False


class CheckKind(StrEnum):
    """What an active check does: ask a path for 200, connect, or run a named command for exit 0."""

    HTTP = "http"
    TCP = "tcp"
    COMMAND = "command"


class AllDown(StrEnum):
    """What holds when no endpoint of a service looks well, in every layer.

    `hold` goes on as it was, `open` uses every endpoint, `closed` uses none.
    """

    HOLD = "hold"
    OPEN = "open"
    CLOSED = "closed"


class StickyMode(StrEnum):
    """What becomes of users when a data centre is drained.

    `hash`: a user is where its cookie hashes to, so a drain is a ramp of the weights. `session`: a
    user stays with the endpoint that it was given until the drain's deadline; no new one comes.
    """

    HASH = "hash"
    SESSION = "session"


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthCheck:
    """Active check of each endpoint, by observers and, as far as they can, by gateways.

    Attributes:
        path: of `http`; any answer but 200 is a failure.
        command: name of a command that observers know, for `command`; gateways cannot run it.
        interval_ms: from start to start. Thresholds are results in a row.
    """

    path: str = "/healthz"
    interval_ms: int = 250
    timeout_ms: int = 200
    healthy_threshold: int = 2
    unhealthy_threshold: int = 2
    kind: CheckKind = CheckKind.HTTP
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Retries of idempotent requests; `per_try_timeout_ms` bounds one attempt.

    Attributes:
        attempts: retries after the first try. More than the endpoints of one data centre: when it
            dies, a request may meet each of them once before it meets a living one (docs/adr/0009).
        server_errors: whether any answer of 500 or above is tried again elsewhere, too, and not
            only 502, 503 and 504. A page that is broken everywhere is asked `attempts` + 1 times.
        budget: retries of all requests over requests, 0.01..10; None is as many as there are
            failures. With 0.2 a service that fails everywhere gets 1.2 attempts for one request,
            and one whose larger data centre has just died does not serve everybody.
    """

    SPARSE: ClassVar[tuple[str, ...]] = ("server_errors", "budget")

    attempts: int = 12
    per_try_timeout_ms: int = 250
    server_errors: bool = False
    budget: float | None = None


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
        clusters: one or several for each data centre, of which at least one is no standby.
        static_shares: data centre -> share; the ratio of `static`, and the validated fallback of
            every other strategy. Empty means by capacity.
        class_of_service: who gives way first on a shared pool.
        alarm_cpu: level (0..1) over which a sample starts a cycle at once and `threshold` sheds.
        timeout_ms: whole request, retries included.
        dither: whether its split may be shifted a little, by chance, so that more can be learned.
        all_down: what holds when none of its endpoints looks well.
        stickiness: what a drain does to its users.
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
    all_down: AllDown = AllDown.HOLD
    stickiness: StickyMode = StickyMode.HASH

    @property
    def centers(self) -> tuple[Cluster, ...]:
        """One cluster for each data centre: what those that bear traffic are together.

        This is what is decided about. Standbys are no capacity, so they are not in it.
        """
        bearing = [cluster for cluster in self.clusters if not cluster.standby]
        names = dict.fromkeys(cluster.datacenter for cluster in bearing)
        if len(names) == len(self.clusters):
            return self.clusters
        return tuple(_together([c for c in bearing if c.datacenter == name]) for name in names)

    def cluster(self, datacenter: str) -> Cluster:
        """What the service has in one data centre together; NotFound when it has nothing there."""
        found = [c for c in self.clusters if c.datacenter == datacenter and not c.standby]
        if found:
            return _together(found)
        raise NotFound(
            "cluster_not_found", f"service {self.name} has no cluster in data centre {datacenter}"
        )


def _together(clusters: Sequence[Cluster]) -> Cluster:
    """Clusters of one data centre as one; machines that one of them leaves open are open."""
    first = clusters[0]
    if len(clusters) == 1:
        return first
    servers = [cluster.servers for cluster in clusters if cluster.servers is not None]
    return replace(
        first,
        name="",
        endpoints=tuple(chain.from_iterable(cluster.endpoints for cluster in clusters)),
        capacity_rps=sum(cluster.capacity_rps for cluster in clusters),
        servers=sum(servers) if len(servers) == len(clusters) else None,
        idle_cpu=_mean([(c.idle_cpu, c.capacity_rps) for c in clusters]),
        full_cpu=_mean([(c.full_cpu, c.capacity_rps) for c in clusters]),
    )


def _mean(readings: Sequence[tuple[float | None, float]]) -> float | None:
    """Mean by capacity; None when a reading is missing, or nothing has a capacity of its own."""
    known = [(value, weight) for value, weight in readings if value is not None]
    total = sum(weight for _, weight in known)
    if len(known) < len(readings) or total == 0:
        return None
    return sum(value * weight for value, weight in known) / total
