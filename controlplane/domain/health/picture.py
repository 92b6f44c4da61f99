"""The picture of health: everything that is known of every endpoint, for those who act on it.

Made by `judging`, kept and handed out by `engine.health.watch`. Failover reads what is down here,
data planes which endpoints are usable, people all of it. A picture is a value: the same facts make
the same one, and its times are when something came to what it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from controlplane.domain.health.states import CenterState, EndpointState
from controlplane.domain.services import AllDown


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class EndpointKey:
    """One endpoint of a service, whoever checks it."""

    service: str
    datacenter: str
    cluster: str
    address: str
    port: int

    @property
    def name(self) -> str:
        """`ADDRESS:PORT`, as in a URL."""
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"{host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointHealth:
    """One endpoint.

    Attributes:
        usable: whether it may get requests now, by its state, its neighbours and the policy.
        since_s: when it came to this state, UTC epoch seconds.
        why: in words; "" where there is nothing to say.
        flapping: whether its checks change too often to be believed.
    """

    key: EndpointKey
    state: EndpointState
    usable: bool
    since_s: float
    why: str = ""
    flapping: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterHealth:
    """One cluster of a service in a data centre.

    Attributes:
        weight, standby: as declared.
        failing: its requests fail, as gateways and clients tell, whatever its checks say.
    """

    datacenter: str
    cluster: str
    endpoints: tuple[EndpointHealth, ...]
    weight: int = 100
    standby: bool = False
    failing: bool = False

    @property
    def usable_share(self) -> float:
        """Usable endpoints of all that it has, 0..1; 0 without any."""
        usable = sum(one.usable for one in self.endpoints)
        return usable / len(self.endpoints) if self.endpoints else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What a service has in one data centre.

    Attributes:
        usable_share: usable endpoints of those that bear traffic in normal times, 0..1.
        down: none of its endpoints is usable here, and somewhere else one is well: its traffic must
            go there. Never true where the policy for all down holds, and never while nobody knows.
        since_s: when it came to be down, or up.
    """

    datacenter: str
    clusters: tuple[ClusterHealth, ...]
    usable_share: float
    down: bool
    since_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceHealth:
    """One service.

    Attributes:
        all_down: none of its endpoints looks well anywhere, so `policy` says what is usable.
    """

    service: str
    places: tuple[Place, ...]
    policy: AllDown
    all_down: bool = False

    def place(self, datacenter: str) -> Place | None:
        """What it has in a data centre; None is nothing."""
        return next((one for one in self.places if one.datacenter == datacenter), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CenterHealth:
    """One data centre.

    Attributes:
        down: everything that has endpoints here is down, and elsewhere it is not.
        down_services: services that are down here, by name.
        since_s: when `state` came to be.
    """

    datacenter: str
    state: CenterState
    down: bool
    down_services: tuple[str, ...]
    since_s: float


class ObserverState(StrEnum):
    """Whether an observer's word counts: a `silent` one has not reported for a while, a `blind` one
    sees nothing well anywhere while others do, so it is cut off itself."""

    HEARD = "heard"
    SILENT = "silent"
    BLIND = "blind"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserverHealth:
    """One observer.

    Attributes:
        heard_s: its last report, UTC epoch seconds; since_s: when it came to this state.
        endpoints: how many it has an opinion about.
        token: id of the token that it reports with; "" is its own.
    """

    name: str
    state: ObserverState
    heard_s: float
    endpoints: int
    since_s: float = 0.0
    token: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Everything, ordered by name.

    Attributes:
        held: too few observers can be believed, so nothing changes its state.
        number: grows with each picture that differs from the one before.
    """

    services: Mapping[str, ServiceHealth] = field(default_factory=dict)
    centers: Mapping[str, CenterHealth] = field(default_factory=dict)
    observers: tuple[ObserverHealth, ...] = ()
    held: bool = False
    number: int = 0

    def down(self, service: str, datacenter: str) -> bool:
        """Whether a service's traffic must leave a data centre; what is not known is not down."""
        known = self.services.get(service)
        place = None if known is None else known.place(datacenter)
        return place is not None and place.down

    def endpoints(self) -> dict[EndpointKey, EndpointHealth]:
        """Every endpoint that is known."""
        return {
            endpoint.key: endpoint
            for service in self.services.values()
            for place in service.places
            for cluster in place.clusters
            for endpoint in cluster.endpoints
        }

    def out(self) -> dict[str, frozenset[EndpointKey]]:
        """Service -> endpoints that should get no requests; who is left out has none.

        Nothing is out of a service of which nobody has seen any endpoint well yet.
        """
        found = {
            name: self.unusable(name)
            for name, one in self.services.items()
            if one.all_down or _seen_well(one)
        }
        return {name: keys for name, keys in found.items() if keys}

    def unusable(self, service: str) -> frozenset[EndpointKey]:
        """Endpoints of a service that should get no requests."""
        known = self.services.get(service)
        places = () if known is None else known.places
        return frozenset(
            endpoint.key
            for place in places
            for cluster in place.clusters
            for endpoint in cluster.endpoints
            if not endpoint.usable
        )


def _seen_well(service: ServiceHealth) -> bool:
    return any(
        endpoint.usable and endpoint.state is not EndpointState.UNKNOWN
        for place in service.places
        for cluster in place.clusters
        for endpoint in cluster.endpoints
    )
