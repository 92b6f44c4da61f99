"""The snapshot: the whole published configuration as sections of canonical bytes.

What is in one and how it becomes bytes. `fleet_snapshot` makes one of a fleet; intents and health
put other content in its place. Data planes and agents read `Snapshot.content` or decode the bytes
that they were served.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from controlplane.domain import canonical
from controlplane.domain.admission.adaptive_concurrency import AdaptiveConcurrencyPolicy
from controlplane.domain.admission.policy import Policy
from controlplane.domain.routing.callers.policies import CallerPolicy, Consumer
from controlplane.domain.routing.route import L4Route, Route
from controlplane.domain.routing.tls import Certificate
from controlplane.domain.routing.whitelist import Whitelist
from controlplane.domain.routing.zones import Zone
from controlplane.domain.services import (
    AllDown,
    HealthCheck,
    LoadBalancing,
    RetryPolicy,
    StickyMode,
)
from controlplane.domain.topology import EVERYWHERE, GatewayGroup


class Section(StrEnum):
    """Parts of a snapshot that are fetched, compared and cached on their own."""

    ENDPOINTS = "endpoints"
    WEIGHTS = "weights"
    ROUTES = "routes"
    ADMISSION = "admission"
    RESOLUTION = "resolution"


@dataclass(frozen=True, slots=True, kw_only=True)
class CenterEndpoints:
    """Addresses of one cluster of a service; `region` is the locality of its data centre.

    Attributes:
        cluster: "" where it is the only one of its data centre and has no name.
        weight: part of the data centre's traffic, beside its other clusters without `standby`.
        versions: of the addresses, in their order; () where none has one.
        out: addresses that get nothing while others can serve: health says so.
        draining: addresses that get nothing new, but keep the sessions that they have.
    """

    datacenter: str
    region: str
    addresses: tuple[tuple[str, int], ...]
    cluster: str = ""
    weight: int = 100
    standby: bool = False
    versions: tuple[str, ...] = ()
    out: tuple[tuple[str, int], ...] = ()
    draining: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceLimit:
    """What one gateway lets through to a service; None is no limit.

    Attributes:
        concurrent: requests that the service is to work on at once, >= 1; `waiting`: further ones
            that may wait at its endpoints, >= 0. The rest is refused.
        rate_rps: requests per second, > 0; burst: requests that may come at once, >= 1, None is a
            second's.
        adaptive: how many requests at once is learned from response times, by planes that can;
            its `least_ms` is declared.
    """

    concurrent: int | None = None
    waiting: int = 0
    rate_rps: float | None = None
    burst: float | None = None
    adaptive: AdaptiveConcurrencyPolicy | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceEndpoints:
    """How gateways reach one service.

    Strategy and capacities are not here: gateways need neither, and a change of them alone must
    not look like a change of configuration.

    Attributes:
        limit: only while an intent or a policy limits the service.
    """

    service: str
    load_balancing: LoadBalancing
    health_check: HealthCheck
    retry: RetryPolicy
    timeout_ms: int
    centers: tuple[CenterEndpoints, ...]
    limit: ServiceLimit | None = None
    stickiness: StickyMode = StickyMode.HASH
    all_down: AllDown = AllDown.HOLD


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightSet:
    """Integer weights of one service, version and source region; they sum to 10,000."""

    service: str
    weights: Mapping[str, int]
    version: str = "*"
    source_region: str = EVERYWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointsSection:
    """Content of the `endpoints` section."""

    services: tuple[ServiceEndpoints, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsSection:
    """Content of the `weights` section."""

    weights: tuple[WeightSet, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutesSection:
    """Content of the `routes` section: the gateway groups, the rules that they share, and what
    rules name: who may call, with which certificate, in which zone."""

    gateways: tuple[GatewayGroup, ...] = ()
    routes: tuple[Route, ...] = ()
    whitelists: tuple[Whitelist, ...] = ()
    l4_routes: tuple[L4Route, ...] = ()
    callers: tuple[CallerPolicy, ...] = ()
    consumers: tuple[Consumer, ...] = ()
    certificates: tuple[Certificate, ...] = ()
    zones: tuple[Zone, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PoliciesSection:
    """Content of the `admission` section; gateways read it with `admission.section`."""

    policies: tuple[Policy, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolutionSection:
    """Content of the `resolution` section; answers come with the DNS work."""

    answers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A snapshot's sections as typed values."""

    endpoints: EndpointsSection = EndpointsSection()
    weights: WeightsSection = WeightsSection()
    routes: RoutesSection = RoutesSection()
    admission: PoliciesSection = PoliciesSection()
    resolution: ResolutionSection = ResolutionSection()


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What is published.

    Attributes:
        revision: from the store, monotonic; 0 while it is not stored.
        version: hash of the sections' digests: the same content, the same version.
        sections: canonical bytes; digests: their SHA-256.
    """

    version: str
    content: Content
    sections: Mapping[Section, bytes]
    digests: Mapping[Section, str]
    revision: int = 0


def assemble(content: Content) -> Snapshot:
    """Encode content into sections, digests and version (revision 0)."""
    sections = {section: canonical.encode(getattr(content, section)) for section in Section}
    digests = {section: canonical.digest(data) for section, data in sections.items()}
    version = canonical.digest("".join(digests[section] for section in Section).encode())
    return Snapshot(version=version, content=content, sections=sections, digests=digests)


def revised(snapshot: Snapshot, content: Content) -> Snapshot:
    """A snapshot (revision 0) with other content; sections that are the same are not encoded."""
    changed = [
        section
        for section in Section
        if getattr(content, section) is not getattr(snapshot.content, section)
    ]
    sections = {**snapshot.sections}
    sections |= {section: canonical.encode(getattr(content, section)) for section in changed}
    digests = {**snapshot.digests}
    digests |= {section: canonical.digest(sections[section]) for section in changed}
    version = canonical.digest("".join(digests[section] for section in Section).encode())
    return Snapshot(version=version, content=content, sections=sections, digests=digests)


def encode(snapshot: Snapshot) -> bytes:
    """The whole content as canonical bytes, for the store and for agents."""
    # The sections are canonical already; encoding 1,000 services again takes 100 ms.
    parts = (f'"{name}":'.encode() + snapshot.sections[name] for name in sorted(Section))
    return b"{" + b",".join(parts) + b"}"


def decode(data: bytes, revision: int) -> Snapshot:
    """The snapshot again from `encode`'s bytes; Invalid when they are not one."""
    return replace(assemble(canonical.decode(Content, data)), revision=revision)
