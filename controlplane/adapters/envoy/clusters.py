"""A service as Envoy clusters, its weights as endpoint assignments.

Called by `render`. One cluster per service, and one for each version that its endpoints name; the
localities are the data centres, so that a change of weights is an endpoint push and nothing else.
Must never read weights into the cluster.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.core.v3 import base_pb2, config_source_pb2, health_check_pb2
from envoy.config.endpoint.v3 import endpoint_components_pb2, endpoint_pb2
from envoy.config.endpoint.v3.endpoint_components_pb2 import LbEndpoint
from google.protobuf.duration_pb2 import Duration
from google.protobuf.wrappers_pb2 import UInt32Value

from controlplane.adapters.envoy.failover import (
    WHOLE_PERCENT,
    balancing,
    circuit_breakers,
    health_checks,
    outlier_detection,
)
from controlplane.adapters.envoy.packing import milliseconds
from controlplane.adapters.envoy.sessions import keep
from controlplane.domain.instances.hashing import BALANCE
from controlplane.domain.instances.placement import (
    EVERY_VERSION,
    Instance,
    Placement,
    Site,
    placement,
)
from controlplane.domain.services import LoadBalancing, StickyMode
from controlplane.domain.snapshot import ServiceEndpoints

# Envoy builds a Maglev table per cluster on its main thread: with 1,000 clusters the default
# 65,537 took 1.35 s per change of all weights, a tenth of it 0.10 s. In smaller tables more users
# change between places that a drain does not concern.
SMALL_TABLE = 20_011
SMALL_TABLE_ENDPOINTS = 100
CONNECT_TIMEOUT_MS = 250
INITIAL_FETCH_TIMEOUT_S = 5
LB_POLICIES = {
    LoadBalancing.MAGLEV: cluster_pb2.Cluster.MAGLEV,
    LoadBalancing.BOUNDED_HASH: cluster_pb2.Cluster.MAGLEV,
    LoadBalancing.ROUND_ROBIN: cluster_pb2.Cluster.ROUND_ROBIN,
    LoadBalancing.LEAST_CONNECTIONS: cluster_pb2.Cluster.LEAST_REQUEST,
}


def cluster_name(service: str, version: str = EVERY_VERSION) -> str:
    """Name of the cluster of a service, or of one version of it; no name has a colon in it."""
    return service if version == EVERY_VERSION else f"{service}:{version}"


def cluster(service: ServiceEndpoints, version: str = EVERY_VERSION) -> cluster_pb2.Cluster:
    """The cluster of a service or a version of it; endpoints and weights come separately."""
    message = cluster_pb2.Cluster(
        name=cluster_name(service.service, version),
        type=cluster_pb2.Cluster.EDS,
        eds_cluster_config=cluster_pb2.Cluster.EdsClusterConfig(eds_config=over_ads()),
        connect_timeout=milliseconds(CONNECT_TIMEOUT_MS),
        common_lb_config=balancing(service.all_down),
        health_checks=health_checks(service.health_check),
        outlier_detection=outlier_detection(),
        circuit_breakers=circuit_breakers(service.limit, service.retry),
        # A removed endpoint is removed now; by default Envoy keeps it until its checks fail.
        ignore_health_on_host_removal=True,
    )
    keep(message, service)
    message.lb_policy = LB_POLICIES[service.load_balancing]
    count = sum(len(center.addresses) for center in service.centers)
    if service.load_balancing.sticky and count < SMALL_TABLE_ENDPOINTS:
        message.maglev_lb_config.table_size.value = SMALL_TABLE
    if service.load_balancing is LoadBalancing.BOUNDED_HASH:
        bound = message.common_lb_config.consistent_hashing_lb_config.hash_balance_factor
        bound.value = round(BALANCE * WHOLE_PERCENT)
    return message


def over_ads() -> config_source_pb2.ConfigSource:
    """The source of a resource that comes on the same stream."""
    return config_source_pb2.ConfigSource(
        ads=config_source_pb2.AggregatedConfigSource(),
        resource_api_version=config_source_pb2.V3,
        initial_fetch_timeout=Duration(seconds=INITIAL_FETCH_TIMEOUT_S),
    )


def assignment(
    service: ServiceEndpoints, weights: Mapping[str, int], version: str = EVERY_VERSION
) -> endpoint_pb2.ClusterLoadAssignment | None:
    """The endpoints with the weights, None when no weight is on a data centre with endpoints.

    Args:
        weights: data centre -> basis points. Those above 0 share the first priority; their
            standbys are the second. Those at 0 stand behind it, each a priority of its own in the
            declared order: they get nothing while the first can serve, and everything when it is
            dead.
        version: of those endpoints only; one that stands at weight 0 alone gets everything.

    Envoy would acknowledge an assignment without weights and answer 503; so there is none then,
    and it keeps the one that it has.
    """
    placed = placement(service, weights, version)
    if not placed.tiers or (version == EVERY_VERSION and not placed.bearing):
        return None
    message = endpoint_pb2.ClusterLoadAssignment(
        cluster_name=cluster_name(service.service, version),
        endpoints=[
            locality
            for priority, tier in enumerate((*placed.tiers, *_last(placed)))
            for locality in _localities(tier, priority)
        ],
    )
    _mark(message, service, placed)
    if placed.standby:
        # What is missing goes to the standby, no less and no more: with Envoy's usual reserve of
        # 40 % the others would take a part of it.
        message.policy.overprovisioning_factor.value = WHOLE_PERCENT
        message.policy.weighted_priority_health = True
        _weigh_hosts(message, placed)
    return message


def _last(placed: Placement) -> list[tuple[Site, ...]]:
    """What drains is a priority of its own: among others it would count as missing there."""
    return [placed.draining] if placed.draining else []


def _hosts(message: endpoint_pb2.ClusterLoadAssignment) -> Iterator[LbEndpoint]:
    return (host for locality in message.endpoints for host in locality.lb_endpoints)


def _mark(
    message: endpoint_pb2.ClusterLoadAssignment, service: ServiceEndpoints, placed: Placement
) -> None:
    """The states that Envoy cannot find out itself."""
    sites = (site for tier in placed.tiers for site in tier)
    states = [_state(site, one, service.stickiness) for site in sites for one in site.instances]
    states += [health_check_pb2.DRAINING for site in placed.draining for _ in site.instances]
    for host, state in zip(_hosts(message), states, strict=True):
        host.health_status = state


def _state(site: Site, instance: Instance, stickiness: StickyMode) -> health_check_pb2.HealthStatus:
    """Of one that does not drain.

    Sessions stay where it is healthy or draining. One at weight 0 has none to keep, so it is
    degraded: as good as others for what nobody else can serve.
    """
    if instance.out:
        return health_check_pb2.UNHEALTHY
    idle = site.weight == 0 and stickiness is StickyMode.SESSION
    return health_check_pb2.DEGRADED if idle else health_check_pb2.UNKNOWN


def _weigh_hosts(message: endpoint_pb2.ClusterLoadAssignment, placed: Placement) -> None:
    """Each host's part of all traffic: it says how much of a priority is well."""
    parts = (
        max(1, part * site.weight // WHOLE_PERCENT)
        for tier in placed.tiers
        for site in tier
        for part in site.parts
    )
    # Behind these are those that drain.
    for host, part in zip(_hosts(message), parts, strict=False):
        host.load_balancing_weight.value = part


def _localities(
    tier: Sequence[Site], priority: int
) -> Iterator[endpoint_components_pb2.LocalityLbEndpoints]:
    """A locality for each data centre, or for each of its clusters where it has several.

    Hosts of one locality with weights of their own would do as well until one cluster dies: then
    Envoy's Maglev would leave all of the data centre's traffic to the other.
    """
    clusters = [tuple(_clusters(site)) for site in tier]
    if all(len(several) == 1 for several in clusters):
        for site in tier:
            yield _locality(site.instances, site.region, priority, max(1, site.weight))
        return
    for site, several in zip(tier, clusters, strict=True):
        for instances, parts in several:
            weight = max(1, parts * site.weight // WHOLE_PERCENT)
            named = "" if len(several) == 1 else instances[0].cluster
            yield _locality(instances, site.region, priority, weight, named)


def _clusters(site: Site) -> Iterator[tuple[tuple[Instance, ...], int]]:
    """The instances of each cluster of a site, with their parts together."""
    rows = zip(site.instances, site.parts, strict=True)
    for _, own in groupby(rows, key=lambda row: row[0].cluster):
        instances, parts = zip(*own, strict=True)
        yield instances, sum(parts)


def _locality(
    instances: Sequence[Instance], region: str, priority: int, weight: int, cluster: str = ""
) -> endpoint_components_pb2.LocalityLbEndpoints:
    zone = instances[0].datacenter
    return endpoint_components_pb2.LocalityLbEndpoints(
        locality=base_pb2.Locality(region=region, zone=zone, sub_zone=cluster),
        lb_endpoints=[_endpoint(instance) for instance in instances],
        load_balancing_weight=UInt32Value(value=weight),
        priority=priority,
    )


def _endpoint(instance: Instance) -> LbEndpoint:
    endpoint = LbEndpoint()
    address = endpoint.endpoint.address.socket_address
    address.address, address.port_value = instance.address, instance.port
    return endpoint
