"""The part of a fleet document about services: clusters, endpoints, shares, checks, retries."""

import re
from collections.abc import Collection

from controlplane.api.fleet_document.reading import (
    Fields,
    Place,
    Unique,
    address,
    choice,
    fields,
    integer,
    matching,
    name,
    number,
    reference,
)
from controlplane.domain.topology import (
    Cluster,
    Endpoint,
    HealthCheck,
    LoadBalancing,
    RetryPolicy,
    Service,
    StrategyName,
)

SERVICE_KEYS = (
    "name",
    "clusters",
    "strategy",
    "static_shares",
    "load_balancing",
    "health_check",
    "retry",
    "timeout_ms",
    "alarm_cpu",
)
CLUSTER_KEYS = ("datacenter", "capacity_rps", "endpoints", "servers", "idle_cpu", "full_cpu")
CHECK_KEYS = ("path", "interval_ms", "timeout_ms", "healthy_threshold", "unhealthy_threshold")

DEFAULTS = Service(name="", clusters=())
STAND_IN: tuple[Cluster, ...] = ()
PORT = integer(1, 65_535)
PERIOD_MS = integer(10, 3_600_000)
THRESHOLD = integer(1, 100)
SHARE_OF_CPU = number(0.0, 1.0)
CAPACITY_RPS = number(0.0, 1e9, above="a number above 0, up to 1e9 requests per second")
CHECK_PATH = matching(re.compile(r"/[!-~]{0,1023}", re.ASCII), "a path that begins with /")


def service(place: Place, datacenters: Collection[str]) -> Service:
    """Read one service; `datacenters` are the declared names."""
    entries = fields(place, SERVICE_KEYS)
    faults = place.findings.count
    clusters = entries.required("clusters", lambda at: _clusters(at, datacenters), STAND_IN)
    read = Service(
        name=entries.required("name", name, ""),
        clusters=clusters,
        strategy=entries.optional("strategy", choice(StrategyName), DEFAULTS.strategy),
        static_shares=entries.optional("static_shares", lambda at: _shares(at, clusters), ()),
        load_balancing=entries.optional(
            "load_balancing", choice(LoadBalancing), DEFAULTS.load_balancing
        ),
        health_check=entries.optional("health_check", _health_check, DEFAULTS.health_check),
        retry=entries.optional("retry", _retry, DEFAULTS.retry),
        timeout_ms=entries.optional("timeout_ms", PERIOD_MS, DEFAULTS.timeout_ms),
        alarm_cpu=entries.optional("alarm_cpu", SHARE_OF_CPU, DEFAULTS.alarm_cpu),
    )
    # Beside a fault in the service itself this finding would only distract.
    if read.static_shares and place.findings.count == faults:
        _check_shares(entries.places["static_shares"], read)
    return read


def _clusters(place: Place, datacenters: Collection[str]) -> tuple[Cluster, ...]:
    unique = Unique()
    found: list[Cluster] = []
    for item in place.items("a list of clusters"):
        cluster = _cluster(item, datacenters)
        unique.check(cluster.datacenter, item)
        found.append(cluster)
    if not any(cluster.endpoints for cluster in found):
        place.report("a list of clusters with at least one endpoint among them", "without any")
    return tuple(found)


def _cluster(place: Place, datacenters: Collection[str]) -> Cluster:
    entries = fields(place, CLUSTER_KEYS)
    cluster = Cluster(
        datacenter=entries.required("datacenter", reference("data centre", datacenters), ""),
        capacity_rps=entries.required("capacity_rps", CAPACITY_RPS, 1.0),
        endpoints=entries.required("endpoints", _endpoints, ()),
        servers=entries.optional("servers", integer(1, 1_000_000), None),
        idle_cpu=entries.optional("idle_cpu", SHARE_OF_CPU, None),
        full_cpu=entries.optional("full_cpu", SHARE_OF_CPU, None),
    )
    _check_cpu_order(entries, cluster)
    return cluster


def _check_cpu_order(entries: Fields, cluster: Cluster) -> None:
    idle, full = cluster.idle_cpu, cluster.full_cpu
    if idle is not None and full is not None and idle >= full:
        entries.places["full_cpu"].report(f"a number above idle_cpu, which is {idle:g}")


def _endpoints(place: Place) -> tuple[Endpoint, ...]:
    unique = Unique()
    found: list[Endpoint] = []
    for item in place.items("a list of endpoints"):
        entries = fields(item, ("address", "port"))
        endpoint = Endpoint(
            address=entries.required("address", address, ""),
            port=entries.required("port", PORT, 0),
        )
        if endpoint.address and endpoint.port:
            unique.check(f"{endpoint.address} port {endpoint.port}", item)
        found.append(endpoint)
    return tuple(found)


def _shares(place: Place, clusters: tuple[Cluster, ...]) -> tuple[tuple[str, float], ...]:
    """Shares by data centre, each declared as a cluster of the service."""
    names = fields(place, [cluster.datacenter for cluster in clusters if cluster.datacenter])
    share = number(0.0, 1e6)
    shares = {key: share(at) for key, at in names.places.items()}
    return tuple(sorted(shares.items()))


def _check_shares(place: Place, service: Service) -> None:
    shares = dict(service.static_shares)
    usable = [cluster.datacenter for cluster in service.clusters if cluster.endpoints]
    if not any(shares.get(center, 0.0) > 0 for center in usable):
        place.report(
            "at least one share above 0 in a data centre where the service has endpoints",
            "without one",
        )


def _health_check(place: Place) -> HealthCheck:
    usual = DEFAULTS.health_check
    entries = fields(place, CHECK_KEYS)
    return HealthCheck(
        path=entries.optional("path", CHECK_PATH, usual.path),
        interval_ms=entries.optional("interval_ms", PERIOD_MS, usual.interval_ms),
        timeout_ms=entries.optional("timeout_ms", PERIOD_MS, usual.timeout_ms),
        healthy_threshold=entries.optional("healthy_threshold", THRESHOLD, usual.healthy_threshold),
        unhealthy_threshold=entries.optional(
            "unhealthy_threshold", THRESHOLD, usual.unhealthy_threshold
        ),
    )


def _retry(place: Place) -> RetryPolicy:
    usual = DEFAULTS.retry
    entries = fields(place, ("attempts", "per_try_timeout_ms"))
    return RetryPolicy(
        attempts=entries.optional("attempts", integer(0, 100), usual.attempts),
        per_try_timeout_ms=entries.optional(
            "per_try_timeout_ms", PERIOD_MS, usual.per_try_timeout_ms
        ),
    )
