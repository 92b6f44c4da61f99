"""From facts to the next picture: services one by one, then data centres and the whole.

Called by `engine.health.watch` whenever a fact changed. Everything is judged again from facts; of
the picture before only states and the times since which they hold are read. A service that no fact
touched may be taken over as it was.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from controlplane.domain.health.checks import Verdict
from controlplane.domain.health.picture import (
    CenterHealth,
    ClusterHealth,
    EndpointHealth,
    EndpointKey,
    Health,
    ObserverHealth,
    ObserverState,
    Place,
    ServiceHealth,
)
from controlplane.domain.health.policy import WELL, all_drained, by_state, when_all_down
from controlplane.domain.health.quorum import Report, agreed, majority_lost
from controlplane.domain.health.states import (
    CenterEvent,
    CenterState,
    EndpointEvent,
    EndpointState,
    center_after,
    endpoint_after,
)
from controlplane.domain.services import Cluster, Service

# Service, data centre, cluster.
ClusterKey = tuple[str, str, str]

EVENT_OF = {Verdict.HEALTHY: EndpointEvent.PASSED, Verdict.UNHEALTHY: EndpointEvent.FAILED}
# States that end when nobody orders them any more, and how.
_UNORDERED = {
    CenterState.DRAINING: (CenterEvent.RETURN, CenterEvent.RETURNED),
    CenterState.EVACUATED: (CenterEvent.RETURN, CenterEvent.RETURNED),
    CenterState.RETURNING: (CenterEvent.RETURNED,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What operators and failover have done, as it is now: an order that is gone is over.

    Attributes:
        endpoints: drained or forced ones.
        centers: data centres that drain, are evacuated or return.
    """

    endpoints: Mapping[EndpointKey, EndpointEvent] = field(default_factory=dict)
    centers: Mapping[str, CenterEvent] = field(default_factory=dict)


NO_ORDERS = Orders()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Everything that states are judged by.

    Attributes:
        reports: of all observers that are remembered, by name; observers: whose word counts.
        failing: clusters whose requests fail.
    """

    now_s: float
    reports: tuple[Report, ...] = ()
    observers: tuple[ObserverHealth, ...] = ()
    failing: frozenset[ClusterKey] = frozenset()
    orders: Orders = NO_ORDERS

    @property
    def held(self) -> bool:
        """Whether too few can be believed to change anything."""
        return majority_lost(self.observers)

    @property
    def believed(self) -> frozenset[str]:
        """Names of the observers whose word counts; nobody's while they are too few."""
        if self.held:
            return frozenset()
        heard = (one for one in self.observers if one.state is ObserverState.HEARD)
        return frozenset(one.name for one in heard)


def endpoint_keys(service: Service) -> Iterator[EndpointKey]:
    """Every endpoint of a service, standbys too."""
    for cluster in service.clusters:
        yield from _keys(service.name, cluster)


def judge_service(
    service: Service, evidence: Evidence, before: ServiceHealth | None
) -> ServiceHealth:
    """The health of one service."""
    known = _Before(endpoints=_by_key(before), failing=_failing(before))
    judged = [_judged_cluster(service.name, one, evidence, known) for one in service.clusters]
    endpoints = [one for cluster in judged for one in cluster.endpoints]
    usable = frozenset(chain.from_iterable(map(by_state, judged)))
    # Where only unknown ones are left, nobody knows a better place to go.
    known_better = any(one.key in usable and one.state in WELL for one in endpoints)
    all_down = not usable and not all_drained(endpoints)
    if all_down:
        usable = when_all_down(service.all_down, endpoints)
    clusters = [_with(cluster, usable) for cluster in judged]
    centers = dict.fromkeys(one.datacenter for one in clusters)
    places = (_place([one for one in clusters if one.datacenter == center]) for center in centers)
    return ServiceHealth(
        service=service.name,
        places=tuple(
            _dated(replace(place, down=place.down and known_better), evidence, before)
            for place in places
        ),
        policy=service.all_down,
        all_down=all_down,
    )


def judge_centers(
    names: Iterable[str], services: Mapping[str, ServiceHealth], before: Health, evidence: Evidence
) -> dict[str, CenterHealth]:
    """The health of the data centres, by name."""
    placed: dict[str, list[tuple[str, Place]]] = {name: [] for name in sorted(names)}
    for service, health in sorted(services.items()):
        for place in health.places:
            if place.datacenter in placed and any(one.endpoints for one in place.clusters):
                placed[place.datacenter].append((service, place))
    return {
        name: _center(name, rows, before.centers.get(name), evidence)
        for name, rows in placed.items()
    }


def _keys(service: str, cluster: Cluster) -> Iterator[EndpointKey]:
    for one in cluster.endpoints:
        yield EndpointKey(
            service=service,
            datacenter=cluster.datacenter,
            cluster=cluster.name,
            address=one.address,
            port=one.port,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Before:
    """What the last picture said of a service."""

    endpoints: Mapping[EndpointKey, EndpointHealth]
    failing: frozenset[ClusterKey]


def _by_key(before: ServiceHealth | None) -> dict[EndpointKey, EndpointHealth]:
    return {one.key: one for cluster in _clusters(before) for one in cluster.endpoints}


def _failing(before: ServiceHealth | None) -> frozenset[ClusterKey]:
    name = "" if before is None else before.service
    return frozenset(
        (name, one.datacenter, one.cluster) for one in _clusters(before) if one.failing
    )


def _clusters(before: ServiceHealth | None) -> Iterator[ClusterHealth]:
    for place in () if before is None else before.places:
        yield from place.clusters


def _judged_cluster(
    service: str, cluster: Cluster, evidence: Evidence, before: _Before
) -> ClusterHealth:
    """One cluster; which of its endpoints are usable is asked when all clusters are known."""
    failing = before.failing if evidence.held else evidence.failing
    return ClusterHealth(
        datacenter=cluster.datacenter,
        cluster=cluster.name,
        endpoints=tuple(
            _judged(key, evidence, before.endpoints.get(key)) for key in _keys(service, cluster)
        ),
        weight=cluster.weight,
        standby=cluster.standby,
        failing=(service, cluster.datacenter, cluster.name) in failing,
    )


def _judged(key: EndpointKey, evidence: Evidence, before: EndpointHealth | None) -> EndpointHealth:
    agreement = agreed(key, evidence.reports, evidence.believed)
    state = EndpointState.UNKNOWN if before is None else before.state
    ordered = evidence.orders.endpoints.get(key, EndpointEvent.RELEASED)
    # Without an order only one that had one moves: the table knows no other way out.
    state = endpoint_after(state, ordered)
    if agreement.verdict is not None:
        state = endpoint_after(state, EVENT_OF[agreement.verdict])
    same = before if before is not None and before.state is state else None
    if same is not None and agreement.verdict is None:
        return same
    return EndpointHealth(
        key=key,
        state=state,
        usable=False,
        since_s=evidence.now_s if same is None else same.since_s,
        why=agreement.words,
        flapping=agreement.flapping,
    )


def _with(cluster: ClusterHealth, usable: frozenset[EndpointKey]) -> ClusterHealth:
    endpoints = (replace(one, usable=one.key in usable) for one in cluster.endpoints)
    return replace(cluster, endpoints=tuple(endpoints))


def _place(clusters: Sequence[ClusterHealth]) -> Place:
    """What a service has in one data centre; down as far as the others may be up."""
    endpoints = [one for cluster in clusters for one in cluster.endpoints]
    bearing = [one for one in clusters if one.endpoints and not one.standby]
    weight = sum(one.weight for one in bearing)
    share = sum(one.weight * one.usable_share for one in bearing) / weight if weight else 0.0
    return Place(
        datacenter=clusters[0].datacenter,
        clusters=tuple(clusters),
        usable_share=share,
        down=not all_drained(endpoints) and not any(one.usable for one in endpoints),
        since_s=0.0,
    )


def _dated(place: Place, evidence: Evidence, before: ServiceHealth | None) -> Place:
    earlier = None if before is None else before.place(place.datacenter)
    if earlier is None or earlier.down is not place.down:
        return replace(place, since_s=evidence.now_s)
    return replace(place, since_s=earlier.since_s)


def _center(
    name: str,
    rows: Sequence[tuple[str, Place]],
    before: CenterHealth | None,
    evidence: Evidence,
) -> CenterHealth:
    down = tuple(service for service, place in rows if place.down)
    impaired = down or any(place.usable_share < 1 for _, place in rows)
    earlier = CenterState.SERVING if before is None else before.state
    ordered = evidence.orders.centers.get(name)
    state = earlier
    for event in _UNORDERED.get(state, ()) if ordered is None else (ordered,):
        state = center_after(state, event)
    state = center_after(state, CenterEvent.IMPAIRED if impaired else CenterEvent.SOUND)
    since_s = before.since_s if before is not None and state is earlier else evidence.now_s
    return CenterHealth(
        datacenter=name,
        state=state,
        down=bool(down) and len(down) == len(rows),
        down_services=down,
        since_s=since_s,
    )
