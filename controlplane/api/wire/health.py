"""Health on the wire: endpoints by name, targets for observers, reports, the picture for people."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated

from pydantic import Field

from controlplane.api.wire.values import Text, Wire, stamp
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
from controlplane.domain.health.quorum import Opinion
from controlplane.domain.health.states import CenterState, EndpointState
from controlplane.domain.services import AllDown, CheckKind, HealthCheck

MOST_ROWS = 20_000
MOST_WORDS = 200

Name = Annotated[Text, Field(max_length=64)]


class EndpointWire(Wire):
    """Which endpoint; `cluster` is "" where it has no name."""

    service: Name
    datacenter: Name
    cluster: Name = ""
    address: Annotated[Text, Field(max_length=253)]
    port: Annotated[int, Field(ge=1, le=65_535)]

    def key(self) -> EndpointKey:
        """The domain's name of it."""
        return EndpointKey(
            service=self.service,
            datacenter=self.datacenter,
            cluster=self.cluster,
            address=self.address,
            port=self.port,
        )


class OpinionIn(EndpointWire):
    """What an observer takes an endpoint for; `words` say why it is unhealthy."""

    state: Verdict
    words: Annotated[Text, Field(max_length=MOST_WORDS)] = ""
    flapping: bool = False


class ObservationsIn(Wire):
    """Everything that one observer says: what it no longer names, it has no opinion about.
    `leaving` is its last report: it counts no more."""

    observer: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,64}$")]
    opinions: Annotated[list[OpinionIn], Field(max_length=MOST_ROWS)] = Field(default_factory=list)
    leaving: bool = False


class ObservationsTaken(Wire):
    """Answer to one report: opinions that count, those about endpoints that are not declared, and
    which generation of the fleet an observer should watch."""

    accepted: int
    unknown: int
    generation: int
    probing: str


class TargetOut(EndpointWire):
    """One endpoint to probe, and how."""

    kind: CheckKind
    path: str
    command: str
    interval_ms: int
    timeout_ms: int
    healthy_threshold: int
    unhealthy_threshold: int


class TargetsOut(Wire):
    """What an observer should probe; intervals are to be multiplied by `stretch`."""

    generation: int
    probing: str
    stretch: float
    targets: list[TargetOut]


class EndpointOut(Wire):
    """One endpoint. `usable` is whether it may get requests now."""

    endpoint: str
    state: EndpointState
    usable: bool
    flapping: bool
    since: datetime
    why: str


class ClusterOut(Wire):
    """One cluster; `failing`: its requests fail whatever its checks say."""

    cluster: str
    standby: bool
    failing: bool
    usable_share: float
    endpoints: list[EndpointOut]


class PlaceOut(Wire):
    """What a service has in one data centre; `down`: its traffic must leave it."""

    datacenter: str
    down: bool
    usable_share: float
    since: datetime
    clusters: list[ClusterOut]


class ServiceOut(Wire):
    """One service; `all_down`: nothing of it looks well, and its `policy` holds."""

    service: str
    policy: AllDown
    all_down: bool
    datacenters: list[PlaceOut]


class CenterOut(Wire):
    """One data centre; `down`: everything in it is down, and elsewhere it is not."""

    datacenter: str
    state: CenterState
    down: bool
    down_services: list[str]
    since: datetime


class ObserverOut(Wire):
    """One observer, and whether its word counts."""

    name: str
    state: ObserverState
    heard: datetime
    endpoints: int


class HealthOut(Wire):
    """Everything; `held`: too few observers can be believed, so nothing changes its state."""

    number: int
    held: bool
    datacenters: list[CenterOut]
    observers: list[ObserverOut]
    services: list[ServiceOut]


def opinions_of(
    rows: Iterable[OpinionIn], declared: Mapping[EndpointKey, HealthCheck]
) -> dict[EndpointKey, Opinion]:
    """Those about endpoints that are declared."""
    found = {}
    for row in rows:
        key = row.key()
        if key in declared:
            found[key] = Opinion(verdict=row.state, words=row.words, flapping=row.flapping)
    return found


def target_of(key: EndpointKey, check: HealthCheck) -> TargetOut:
    """One endpoint with its check."""
    return TargetOut(
        service=key.service,
        datacenter=key.datacenter,
        cluster=key.cluster,
        address=key.address,
        port=key.port,
        kind=check.kind,
        path=check.path,
        command=check.command,
        interval_ms=check.interval_ms,
        timeout_ms=check.timeout_ms,
        healthy_threshold=check.healthy_threshold,
        unhealthy_threshold=check.unhealthy_threshold,
    )


def health_of(health: Health, service: str | None) -> HealthOut:
    """The picture, of one service or of all."""
    chosen = (one for one in health.services.values() if service in (None, one.service))
    return HealthOut(
        number=health.number,
        held=health.held,
        datacenters=[_center(one) for one in health.centers.values()],
        observers=[_observer(one) for one in health.observers],
        services=[_service(one) for one in chosen],
    )


def _center(one: CenterHealth) -> CenterOut:
    return CenterOut(
        datacenter=one.datacenter,
        state=one.state,
        down=one.down,
        down_services=list(one.down_services),
        since=stamp(one.since_s),
    )


def _observer(one: ObserverHealth) -> ObserverOut:
    return ObserverOut(
        name=one.name, state=one.state, heard=stamp(one.heard_s), endpoints=one.endpoints
    )


def _service(one: ServiceHealth) -> ServiceOut:
    return ServiceOut(
        service=one.service,
        policy=one.policy,
        all_down=one.all_down,
        datacenters=[_place(place) for place in one.places],
    )


def _place(one: Place) -> PlaceOut:
    return PlaceOut(
        datacenter=one.datacenter,
        down=one.down,
        usable_share=one.usable_share,
        since=stamp(one.since_s),
        clusters=[_cluster(cluster) for cluster in one.clusters],
    )


def _cluster(one: ClusterHealth) -> ClusterOut:
    return ClusterOut(
        cluster=one.cluster,
        standby=one.standby,
        failing=one.failing,
        usable_share=one.usable_share,
        endpoints=[_endpoint(endpoint) for endpoint in one.endpoints],
    )


def _endpoint(one: EndpointHealth) -> EndpointOut:
    return EndpointOut(
        endpoint=one.key.name,
        state=one.state,
        usable=one.usable,
        flapping=one.flapping,
        since=stamp(one.since_s),
        why=one.why,
    )
