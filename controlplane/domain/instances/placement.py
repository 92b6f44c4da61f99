"""What the endpoints and weights of a service mean: who gets which part, and who stands behind.

Read by the compilers of every data plane and by clients, so that a cluster's weight and a standby
mean the same everywhere.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import gcd

from controlplane.domain.services import AllDown, endpoint_name
from controlplane.domain.snapshot import CenterEndpoints, ServiceEndpoints

EVERY_VERSION = "*"
# Parts of one site sum to about this; an address has at least one of them.
SITE_PARTS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One address that serves; `cluster` and `version` are "" where there is no name.

    Attributes:
        out: it gets nothing while others can serve.
    """

    address: str
    port: int
    datacenter: str
    cluster: str = ""
    version: str = ""
    out: bool = False

    @property
    def name(self) -> str:
        """`ADDRESS:PORT`, as in a URL."""
        return endpoint_name(self.address, self.port)


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Addresses of one data centre that stand in one tier.

    Attributes:
        weight: of the service's traffic in basis points; 0 in a data centre without traffic.
        parts: of the site's traffic for each instance, about `SITE_PARTS` together, each >= 1.
    """

    datacenter: str
    region: str
    weight: int
    instances: tuple[Instance, ...]
    parts: tuple[int, ...]

    @property
    def ratio(self) -> tuple[int, ...]:
        """The parts in the smallest whole numbers; all 1 where every instance gets the same."""
        most = gcd(*self.parts)
        return tuple(part // most for part in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where the requests of a service, or of one version of it, go.

    Attributes:
        bearing: share the traffic by weight.
        standby: of the bearing data centres; each takes what its own data centre cannot serve.
        idle: in this order when nothing above can serve; a data centre's standby after itself.
        draining: nothing new goes here; those that are here may stay. In no other place.
        closed: whether nobody is asked when all look dead.
    """

    bearing: tuple[Site, ...] = ()
    standby: tuple[Site, ...] = ()
    idle: tuple[Site, ...] = ()
    draining: tuple[Site, ...] = ()
    closed: bool = False

    @property
    def tiers(self) -> tuple[tuple[Site, ...], ...]:
        """The same as priorities: a later tier gets what the earlier ones cannot serve."""
        shared = (tier for tier in (self.bearing, self.standby) if tier)
        return (*shared, *((site,) for site in self.idle))

    @property
    def out(self) -> frozenset[str]:
        """Names of instances that get nothing while others can serve."""
        every = (one for tier in self.tiers for site in tier for one in site.instances)
        return frozenset(one.name for one in every if one.out)


def placement(
    service: ServiceEndpoints, weights: Mapping[str, int], version: str = EVERY_VERSION
) -> Placement:
    """Where requests of a service go.

    Args:
        weights: data centre -> basis points; one that is left out has 0.
        version: only addresses of this version; `*` is all.
    """
    sites: dict[tuple[bool, bool], list[Site]] = {}
    draining = []
    for center in dict.fromkeys(each.datacenter for each in service.centers):
        weight = weights.get(center, 0)
        for standby in (False, True):
            clusters = [
                each
                for each in service.centers
                if each.datacenter == center and each.standby is standby
            ]
            if (site := _site(clusters, weight, version)) is not None:
                sites.setdefault((weight > 0, standby), []).append(site)
        own = [each for each in service.centers if each.datacenter == center]
        if (site := _site(own, 0, version, draining=True)) is not None:
            draining.append(site)
    idle = [*sites.get((False, False), ()), *sites.get((False, True), ())]
    return Placement(
        bearing=tuple(sites.get((True, False), ())),
        standby=tuple(sites.get((True, True), ())),
        idle=tuple(idle),
        draining=tuple(draining),
        closed=service.all_down is AllDown.CLOSED,
    )


def versions(service: ServiceEndpoints) -> tuple[str, ...]:
    """The versions that its addresses name, in order."""
    named = {version for center in service.centers for version in center.versions}
    return tuple(sorted(named - {""}))


def _site(
    clusters: Iterable[CenterEndpoints], weight: int, version: str, *, draining: bool = False
) -> Site | None:
    found = [
        (each, members)
        for each in clusters
        if (members := _members(each, version, draining=draining))
    ]
    if not found:
        return None
    total = sum(each.weight for each, _ in found)
    return Site(
        datacenter=found[0][0].datacenter,
        region=found[0][0].region,
        weight=weight,
        instances=tuple(member for _, members in found for member in members),
        parts=tuple(
            max(1, round(SITE_PARTS * each.weight / (total * len(members))))
            for each, members in found
            for _ in members
        ),
    )


def _members(cluster: CenterEndpoints, version: str, *, draining: bool) -> list[Instance]:
    named = cluster.versions or ("",) * len(cluster.addresses)
    return [
        Instance(
            address=address,
            port=port,
            datacenter=cluster.datacenter,
            cluster=cluster.cluster,
            version=own,
            out=(address, port) in cluster.out,
        )
        for (address, port), own in zip(cluster.addresses, named, strict=True)
        if version in (EVERY_VERSION, own) and ((address, port) in cluster.draining) is draining
    ]
