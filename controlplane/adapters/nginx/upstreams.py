"""Services as upstreams: servers of each data centre, weighted.

Called by `locations` and `render`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from controlplane.adapters.nginx.quoting import name
from controlplane.domain.findings import Observation, Severity
from controlplane.domain.instances.backups import late_standbys
from controlplane.domain.instances.counts import counted
from controlplane.domain.instances.placement import placement
from controlplane.domain.instances.unrepeated import unbudgeted
from controlplane.domain.instances.usable import lost_sessions, usable
from controlplane.domain.routing.compiling.choices import EVERY_VERSION
from controlplane.domain.services import LoadBalancing
from controlplane.domain.snapshot import ServiceEndpoints

HEAVIEST = 1_000
# Each weight of a consistent hash is 160 places on its circle.
HEAVIEST_ON_CIRCLE = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long and how often a service is asked, and whether another one after an error."""

    timeout_ms: int
    retries: int
    server_errors: bool


@dataclass(slots=True, kw_only=True)
class Upstreams:
    """The upstreams that locations ask for.

    Attributes:
        weights: service -> data centre -> basis points.
    """

    services: Mapping[str, ServiceEndpoints]
    weights: Mapping[str, Mapping[str, int]]
    _asked: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def of(self, service: str, version: str) -> str | None:
        """Name of the upstream of a service or a version of it; None when nothing serves."""
        key = (service, version)
        if key not in self._asked:
            self._asked[key] = list(self._servers(service, version))
        return _name(service, version) if self._asked[key] else None

    def asked(self) -> Iterator[ServiceEndpoints]:
        """The services that locations asked for, by name."""
        return (self.services[one] for one in sorted({service for service, _ in self._asked}))

    def patience(self, service: str) -> Patience:
        """How long and how often a service is asked."""
        found = self.services[service]
        return Patience(
            timeout_ms=found.timeout_ms,
            retries=found.retry.attempts,
            server_errors=found.retry.server_errors,
        )

    def lines(self) -> Iterator[str]:
        """The upstreams."""
        for service, version in sorted(key for key, servers in self._asked.items() if servers):
            yield f"upstream {_name(service, version)} {{"
            if self._is_hashed(service):
                yield "    hash $sb_who consistent;"
            elif self.services[service].load_balancing is LoadBalancing.LEAST_CONNECTIONS:
                yield "    least_conn;"
            yield from (f"    {server}" for server in self._asked[service, version])
            yield "    keepalive 64;"
            yield "}"

    def without_standby(self) -> Iterable[Observation]:
        """Services whose standby cannot stand behind a consistent hash, or takes over late."""
        for service in sorted({service for service, _ in self._asked}):
            weights = self.weights.get(service, {})
            yield from unbudgeted([self.services[service]], "nginx")
            placed = placement(self.services[service], weights)
            if not self._is_hashed(service):
                yield from late_standbys([(self.services[service], weights)], "nginx")
            elif placed.standby or placed.idle:
                yield Observation(
                    code="standby_not_expressible",
                    subject=f"service/{service}",
                    message=f"service {service}: nginx has no standby beside a consistent hash; "
                    "balance it by round_robin, or use another kind of gateway",
                    held="clusters and data centres without weight get nothing, even when the "
                    "others are dead",
                    severity=Severity.WARNING,
                )

    def without_sessions(self) -> Iterable[Observation]:
        """Services whose sessions end with a drain's beginning."""
        return lost_sessions(self.asked(), "nginx")

    def without_bound(self) -> Iterable[Observation]:
        """Services whose hash is to be bounded, which nginx cannot."""
        for service in sorted({service for service, _ in self._asked}):
            if self.services[service].load_balancing is LoadBalancing.BOUNDED_HASH:
                yield Observation(
                    code="bound_not_expressible",
                    subject=f"service/{service}",
                    message=f"service {service}: nginx has no bound for a consistent hash; use "
                    "maglev to say so, or another kind of gateway",
                    held="it is hashed without a bound: an endpoint may get more than its part",
                    severity=Severity.INFO,
                )

    def _is_hashed(self, service: str) -> bool:
        return self.services[service].load_balancing.sticky

    def _servers(self, service: str, version: str) -> Iterator[str]:
        is_hashed = self._is_hashed(service)
        given = self.weights.get(service, {})
        placed = usable(placement(self.services[service], given, version))
        heaviest = HEAVIEST_ON_CIRCLE if is_hashed else HEAVIEST
        behind = () if is_hashed else placed.standby + placed.idle
        for backup, sites in (("", placed.bearing), (" backup", behind)):
            for site, weights in counted(sites, heaviest):
                for instance, weight in zip(site.instances, weights, strict=True):
                    out = "max_fails=3 fail_timeout=3s"
                    yield f"server {instance.name} weight={weight} {out}{backup};"


def _name(service: str, version: str) -> str:
    return name("s", service if version == EVERY_VERSION else f"{service}:{version}")
