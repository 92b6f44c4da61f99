"""Services as Traefik's load balancers: addresses of each data centre, weighted, and those behind.

Called by `table` and `render`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from controlplane.adapters.traefik.middlewares import Json
from controlplane.domain.findings import Observation, Severity
from controlplane.domain.instances.backups import late_standbys
from controlplane.domain.instances.counts import counted
from controlplane.domain.instances.placement import EVERY_VERSION, Site, placement
from controlplane.domain.instances.unlimited import unlimited
from controlplane.domain.instances.unrepeated import unbudgeted, unrepeated
from controlplane.domain.instances.usable import lost_sessions, usable
from controlplane.domain.routing.route import Route
from controlplane.domain.services import CheckKind, LoadBalancing
from controlplane.domain.snapshot import ServiceEndpoints

# Traefik takes turns smoothly, so weights may be large.
HEAVIEST = 1_000
CONNECT_TIMEOUT = "250ms"
# Traefik's strategy that hashes the address of the client.
BY_ADDRESS = "hrw"


@dataclass(slots=True, kw_only=True)
class Upstreams:
    """The services that routes ask for.

    Attributes:
        weights: service -> data centre -> basis points.
    """

    services: Mapping[str, ServiceEndpoints]
    weights: Mapping[str, Mapping[str, int]]
    _made: dict[str, Json | None] = field(default_factory=dict)
    _patience: dict[str, Json] = field(default_factory=dict)
    _asked: set[str] = field(default_factory=set)

    def of(self, route: Route) -> str | None:
        """Name of what serves a route, by its versions; None when nothing serves."""
        self._asked.add(route.service)
        timeout_ms = route.timeout_ms or self.services[route.service].timeout_ms
        parts = {
            one.version: one.weight
            for one in route.versions
            if one.weight > 0 and self._version(route.service, one.version, timeout_ms)
        }
        if not parts:
            return self._version(route.service, EVERY_VERSION, timeout_ms)
        names = {v: self._version(route.service, v, timeout_ms) for v in parts}
        if len(parts) == 1:
            return next(iter(names.values()))
        split = [{"name": names[v], "weight": weight} for v, weight in sorted(parts.items())]
        name = f"{route.service}:{'+'.join(f'{v}={w}' for v, w in sorted(parts.items()))}"
        name = f"{name}:{timeout_ms}"
        self._made[name] = {"highestRandomWeight": {"services": split}}
        return name

    def retries(self, route: Route) -> int:
        """How often a service is asked again."""
        if route.retries is not None:
            return route.retries
        return self.services[route.service].retry.attempts

    def named(self) -> dict[str, Json]:
        """The load balancers by name."""
        return {name: made for name, made in sorted(self._made.items()) if made is not None}

    def transports(self) -> dict[str, Json]:
        """How long services are waited for, by name."""
        return dict(sorted(self._patience.items()))

    def notes(self) -> Iterator[Observation]:
        """Services that are balanced otherwise than they say."""
        for name in sorted(self._asked):
            service = self.services[name]
            yield from late_standbys([(service, self.weights.get(name, {}))], "Traefik")
            yield from lost_sessions([service], "Traefik")
            yield from unlimited([service], "Traefik")
            yield from unrepeated([service], "Traefik")
            yield from unbudgeted([service], "Traefik")
            if service.load_balancing is LoadBalancing.LEAST_CONNECTIONS:
                yield _otherwise(name, "its addresses take turns by weight")
            if service.load_balancing.sticky:
                yield _otherwise(name, "it is hashed by the address of the client")

    def _version(self, service: str, version: str, timeout_ms: int) -> str | None:
        """Name of the load balancer of one version; None when it has no address."""
        name = f"{service}:{version}:{timeout_ms}"
        if name not in self._made:
            self._made[name] = self._balanced(self.services[service], version, timeout_ms)
        return None if self._made[name] is None else name

    def _balanced(self, service: ServiceEndpoints, version: str, timeout_ms: int) -> Json | None:
        placed = usable(placement(service, self.weights.get(service.service, {}), version))
        behind = (*placed.standby, *placed.idle)
        tiers = [tier for tier in (placed.bearing, behind) if tier]
        made = [self._turns(service, tier, timeout_ms) for tier in tiers]
        if len(made) < 2:
            return made[0] if made else None
        names = [f"{service.service}:{version}:{timeout_ms}:{n}" for n in ("first", "behind")]
        self._made |= dict(zip(names, made, strict=True))
        return {"failover": {"service": names[0], "fallback": names[1]}}

    def _turns(self, service: ServiceEndpoints, sites: tuple[Site, ...], timeout_ms: int) -> Json:
        transport = f"wait-{timeout_ms}ms"
        self._patience[transport] = {
            "forwardingTimeouts": {
                "dialTimeout": CONNECT_TIMEOUT,
                "responseHeaderTimeout": f"{timeout_ms}ms",
            }
        }
        made: Json = {
            "servers": list(_servers(sites)),
            "serversTransport": transport,
            "passHostHeader": True,
        }
        if service.load_balancing.sticky:
            made["strategy"] = BY_ADDRESS
        check = service.health_check
        if check.kind is CheckKind.HTTP:
            made["healthCheck"] = {
                "path": check.path,
                "interval": f"{check.interval_ms}ms",
                "timeout": f"{check.timeout_ms}ms",
            }
        return {"loadBalancer": made}


def _servers(sites: tuple[Site, ...]) -> Iterator[Json]:
    for site, weights in counted(sites, HEAVIEST):
        for instance, weight in zip(site.instances, weights, strict=True):
            yield {"url": f"http://{instance.name}", "weight": weight}


def _otherwise(service: str, held: str) -> Observation:
    return Observation(
        code="balancing_not_expressible",
        subject=f"service/{service}",
        message=f"service {service}: Traefik knows neither users nor, by weight, how busy an "
        "address is; balance it by round_robin, or use another kind of gateway",
        held=held,
        severity=Severity.WARNING,
    )
