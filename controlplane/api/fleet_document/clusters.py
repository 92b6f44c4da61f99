"""The part of a fleet document about clusters: where they are, their machines, their endpoints."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from controlplane.api.fleet_document.addresses import address
from controlplane.api.fleet_document.reading import (
    Fields,
    Place,
    Unique,
    fields,
    integer,
    name,
    number,
    reference,
    switch,
)
from controlplane.domain.services import Cluster, Endpoint

MACHINE_KEYS = ("capacity_rps", "servers", "idle_cpu", "full_cpu")
CLUSTER_KEYS = (
    "datacenter",
    "name",
    "weight",
    "standby",
    "endpoints",
    *MACHINE_KEYS,
    "pool",
    "cost",
)

DEFAULTS = Cluster(datacenter="", endpoints=())
NO_ENDPOINTS: tuple[Endpoint, ...] = ()
PORT = integer(1, 65_535)
WEIGHT = integer(1, 1_000)
SHARE_OF_CPU = number(0.0, 1.0)
CAPACITY_RPS = number(0.0, 1e9, above="a number above 0, up to 1e9 requests per second")
COST = number(0.0, 1e6, above="a number above 0, up to 1e6 units of work")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sites:
    """Where clusters can be: declared data centres, and shared pools with their data centre."""

    datacenters: Collection[str]
    pools: Mapping[str, str]


def machines(entries: Fields) -> tuple[int | None, float | None, float | None]:
    """Servers, idle and full CPU of a pool, shared or a cluster's own."""
    servers = entries.optional("servers", integer(1, 1_000_000), None)
    idle = entries.optional("idle_cpu", SHARE_OF_CPU, None)
    full = entries.optional("full_cpu", SHARE_OF_CPU, None)
    if idle is not None and full is not None and idle >= full:
        entries.places["full_cpu"].report(f"a number above idle_cpu, which is {idle:g}")
    return servers, idle, full


def clusters(place: Place, sites: Sites) -> tuple[Cluster, ...]:
    """Read the clusters of one service of a fleet with these sites."""
    unique = Unique()
    found: list[Cluster] = []
    faults = place.findings.count
    for item in place.items("a list of clusters"):
        cluster = _cluster(item, sites)
        unique.check(_label(cluster), item)
        found.append(cluster)
    if not any(cluster.endpoints for cluster in found if not cluster.standby):
        place.report("at least one endpoint among its clusters", "without an endpoint")
    # Beside a fault in one of them this finding would only distract.
    elif place.findings.count == faults:
        _check_together(place, found)
    return tuple(found)


def _label(cluster: Cluster) -> str:
    return f"{cluster.datacenter} {cluster.name}" if cluster.name else cluster.datacenter


def _check_together(place: Place, found: Sequence[Cluster]) -> None:
    """Of one data centre one at least bears traffic, and those that do share a pool or none."""
    for center in dict.fromkeys(cluster.datacenter for cluster in found):
        bearing = {(c.pool, c.cost) for c in found if c.datacenter == center and not c.standby}
        if not bearing:
            place.report(f"a cluster in {center} that is no standby", "standbys only")
        if len(bearing) > 1:
            place.report(
                f"clusters in {center} with one pool and cost, or each with machines of its own; "
                "standbys may differ",
                "several",
            )


def _cluster(place: Place, sites: Sites) -> Cluster:
    entries = fields(place, CLUSTER_KEYS)
    standby = entries.optional("standby", switch, DEFAULTS.standby)
    cluster = Cluster(
        datacenter=entries.required("datacenter", reference("data centre", sites.datacenters), ""),
        endpoints=entries.required("endpoints", _endpoints, NO_ENDPOINTS),
        pool=entries.optional("pool", reference("pool", sites.pools), ""),
        name=entries.optional("name", name, DEFAULTS.name),
        weight=entries.optional("weight", WEIGHT, DEFAULTS.weight),
        standby=standby,
    )
    if standby and "weight" in entries.places:
        entries.places["weight"].report("no weight beside standby: it takes what the others leave")
    if cluster.pool:
        _check_pool(entries, cluster.datacenter, sites.pools.get(cluster.pool, cluster.datacenter))
        return replace(cluster, cost=entries.optional("cost", COST, DEFAULTS.cost))
    if "cost" in entries.places:
        entries.places["cost"].report("cost beside pool only: it counts in the pool's capacity")
    return _with_machines(cluster, entries)


def _with_machines(cluster: Cluster, entries: Fields) -> Cluster:
    servers, idle_cpu, full_cpu = machines(entries)
    # No decision counts on a standby, so its capacity need not be known.
    capacity_rps = (
        entries.optional("capacity_rps", CAPACITY_RPS, DEFAULTS.capacity_rps)
        if cluster.standby
        else entries.required("capacity_rps", CAPACITY_RPS, 1.0)
    )
    return replace(
        cluster, capacity_rps=capacity_rps, servers=servers, idle_cpu=idle_cpu, full_cpu=full_cpu
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
        entries = fields(item, ("address", "port", "version"))
        endpoint = Endpoint(
            address=entries.required("address", address, ""),
            port=entries.required("port", PORT, 0),
            version=entries.optional("version", name, ""),
        )
        if endpoint.address and endpoint.port:
            unique.check(f"{endpoint.address} port {endpoint.port}", item)
        found.append(endpoint)
    return tuple(found)
