"""The part of a fleet document about services: clusters, endpoints, shares, checks, retries."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from controlplane.api.fleet_document.addresses import address, path
from controlplane.api.fleet_document.reading import (
    Fields,
    Place,
    Unique,
    choice,
    fields,
    integer,
    name,
    number,
    reference,
    switch,
)
from controlplane.domain.topology import (
    Cluster,
    Endpoint,
    HealthCheck,
    LoadBalancing,
    RegionalRule,
    RetryPolicy,
    Service,
    ServiceClass,
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
    "class_of_service",
    "regional",
    "dither",
)
MACHINE_KEYS = ("capacity_rps", "servers", "idle_cpu", "full_cpu")
CLUSTER_KEYS = ("datacenter", "endpoints", *MACHINE_KEYS, "pool", "cost")
REGIONAL_KEYS = ("alpha", "critical_load", "return_load")
CHECK_KEYS = ("path", "interval_ms", "timeout_ms", "healthy_threshold", "unhealthy_threshold")

DEFAULTS = Service(name="", clusters=())
STAND_IN: tuple[Cluster, ...] = ()
NO_ENDPOINTS: tuple[Endpoint, ...] = ()
PORT = integer(1, 65_535)
PERIOD_MS = integer(10, 3_600_000)
THRESHOLD = integer(1, 100)
SHARE_OF_CPU = number(0.0, 1.0)
CAPACITY_RPS = number(0.0, 1e9, above="a number above 0, up to 1e9 requests per second")
LOAD = number(0.0, 1.0, above="a number above 0, up to 1")
COST = number(0.0, 1e6, above="a number above 0, up to 1e6 units of work")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sites:
    """Where clusters can be: declared data centres, and shared pools with their data centre."""

    datacenters: Collection[str]
    pools: Mapping[str, str]


def service(place: Place, sites: Sites) -> Service:
    """Read one service of a fleet with these sites."""
    entries = fields(place, SERVICE_KEYS)
    faults = place.findings.count
    clusters = entries.required("clusters", lambda at: _clusters(at, sites), STAND_IN)
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
        class_of_service=entries.optional(
            "class_of_service", choice(ServiceClass), DEFAULTS.class_of_service
        ),
        regional=entries.optional("regional", _regional, DEFAULTS.regional),
        dither=entries.optional("dither", switch, DEFAULTS.dither),
    )
    # Beside a fault in the service itself this finding would only distract.
    if read.static_shares and place.findings.count == faults:
        _check_shares(entries.places["static_shares"], read)
    return read


def machines(entries: Fields) -> tuple[int | None, float | None, float | None]:
    """Servers, idle and full CPU of a pool, shared or a cluster's own."""
    servers = entries.optional("servers", integer(1, 1_000_000), None)
    idle = entries.optional("idle_cpu", SHARE_OF_CPU, None)
    full = entries.optional("full_cpu", SHARE_OF_CPU, None)
    if idle is not None and full is not None and idle >= full:
        entries.places["full_cpu"].report(f"a number above idle_cpu, which is {idle:g}")
    return servers, idle, full


def _clusters(place: Place, sites: Sites) -> tuple[Cluster, ...]:
    unique = Unique()
    found: list[Cluster] = []
    for item in place.items("a list of clusters"):
        cluster = _cluster(item, sites)
        unique.check(cluster.datacenter, item)
        found.append(cluster)
    if not any(cluster.endpoints for cluster in found):
        place.report("at least one endpoint among its clusters", "without an endpoint")
    return tuple(found)


def _cluster(place: Place, sites: Sites) -> Cluster:
    entries = fields(place, CLUSTER_KEYS)
    datacenter = entries.required("datacenter", reference("data centre", sites.datacenters), "")
    endpoints = entries.required("endpoints", _endpoints, NO_ENDPOINTS)
    pool = entries.optional("pool", reference("pool", sites.pools), "")
    if pool:
        _check_pool(entries, datacenter, sites.pools.get(pool, datacenter))
        cost = entries.optional("cost", COST, 1.0)
        return Cluster(datacenter=datacenter, endpoints=endpoints, pool=pool, cost=cost)
    if "cost" in entries.places:
        entries.places["cost"].report("cost beside pool only: it counts in the pool's capacity")
    servers, idle_cpu, full_cpu = machines(entries)
    return Cluster(
        datacenter=datacenter,
        endpoints=endpoints,
        capacity_rps=entries.required("capacity_rps", CAPACITY_RPS, 1.0),
        servers=servers,
        idle_cpu=idle_cpu,
        full_cpu=full_cpu,
    )


def _check_pool(entries: Fields, datacenter: str, home: str) -> None:
    """A pool bears load in its own data centre, and describes its machines itself."""
    if datacenter and home and datacenter != home:
        entries.places["pool"].report(f"a pool of data centre {datacenter}", f"one of {home}")
    for key in MACHINE_KEYS:
        if key in entries.places:
            entries.places[key].report("nothing here: the pool says it", "a second statement")


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


def _regional(place: Place) -> RegionalRule:
    usual = DEFAULTS.regional
    entries = fields(place, REGIONAL_KEYS)
    faults = place.findings.count
    rule = RegionalRule(
        alpha=entries.optional("alpha", number(0.0, 1.0), usual.alpha),
        critical_load=entries.optional("critical_load", LOAD, usual.critical_load),
        return_load=entries.optional("return_load", LOAD, usual.return_load),
    )
    if rule.return_load >= rule.critical_load and place.findings.count == faults:
        at = entries.places.get("return_load", place)
        at.report(
            f"a return_load below critical_load, which is {rule.critical_load:g}",
            f"{rule.return_load:g}",
        )
    return rule


def _health_check(place: Place) -> HealthCheck:
    usual = DEFAULTS.health_check
    entries = fields(place, CHECK_KEYS)
    return HealthCheck(
        path=entries.optional("path", path, usual.path),
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
