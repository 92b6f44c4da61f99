"""Services as proxies: addresses of each data centre, weighted, and those that stand behind.

Called by `handlers` and `render`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from controlplane.adapters.caddy.matchers import WHO, Json, text
from controlplane.domain.findings import Observation, Severity
from controlplane.domain.instances.backups import late_standbys
from controlplane.domain.instances.counts import counted
from controlplane.domain.instances.placement import Site, placement
from controlplane.domain.instances.unlimited import unlimited
from controlplane.domain.instances.unrepeated import unbudgeted, unrepeated
from controlplane.domain.instances.usable import lost_sessions, usable
from controlplane.domain.routing.matching import cohorts
from controlplane.domain.routing.route import WHOLE, Cohort, Route
from controlplane.domain.services import LoadBalancing
from controlplane.domain.snapshot import ServiceEndpoints

# Caddy sends as many requests in a row to an address as its weight is, so small weights are best.
HEAVIEST = 100
# How far shares may be from what they should be, for that.
CLOSE = 0.002
CONNECT_TIMEOUT = "250ms"
EJECTED = "3s"
# Between two tries; the next address is another one.
PAUSE = "5ms"
# Tells Caddy whom to hash; services do not see it.
USER_HEADER = "x-signalbox-who"
_BY_USER: Json = {"policy": "header", "field": USER_HEADER}
# Requests that may be sent again when they have been sent already.
_AGAIN = (
    "{http.error.status_code} == 503 || ({http.error.status_code} in [502, 504] && "
    '{http.request.method} in ["GET", "HEAD", "OPTIONS"])'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long and how often a service is asked."""

    timeout_ms: int
    retries: int


@dataclass(slots=True, kw_only=True)
class Upstreams:
    """The services that routes ask for.

    Attributes:
        weights: service -> data centre -> basis points.
    """

    services: Mapping[str, ServiceEndpoints]
    weights: Mapping[str, Mapping[str, int]]
    _asked: dict[str, Json | None] = field(default_factory=dict)
    _services: set[str] = field(default_factory=set)

    def of(self, route: Route, version: str) -> Json | None:
        """The handler that sends requests to a service; None when nothing serves."""
        service = self.services[route.service]
        patience = Patience(
            timeout_ms=service.timeout_ms if route.timeout_ms is None else route.timeout_ms,
            retries=service.retry.attempts if route.retries is None else route.retries,
        )
        name = f"{route.service}:{version}:{patience.timeout_ms}:{patience.retries}"
        if name not in self._asked:
            self._services.add(route.service)
            self._asked[name] = self._made(service, version, patience)
        if self._asked[name] is None:
            return None
        return {"handler": "invoke", "name": name}

    def named(self) -> dict[str, Json]:
        """The proxies by name: all routes of one share its turns, and what it knows of failures."""
        return {name: {"handle": [made]} for name, made in self._asked.items() if made is not None}

    def notes(self) -> Iterator[Observation]:
        """Services that are balanced otherwise than they say."""
        for name in sorted(self._services):
            service, weights = self.services[name], self.weights.get(name, {})
            yield from late_standbys([(service, weights)], "Caddy")
            yield from lost_sessions([service], "Caddy")
            yield from unlimited([service], "Caddy")
            yield from unrepeated([service], "Caddy")
            yield from unbudgeted([service], "Caddy")
            if service.load_balancing is LoadBalancing.BOUNDED_HASH:
                yield _unbounded(name)
            if service.load_balancing is LoadBalancing.LEAST_CONNECTIONS:
                held = "its addresses take turns by weight"
                yield _otherwise(name, "least connections", held)
            sites = placement(service, weights).bearing
            if service.load_balancing.sticky and any(len(set(s.parts)) > 1 for s in sites):
                held = "the addresses of a data centre get the same part each"
                yield _otherwise(name, "a consistent hash", held)

    def _made(self, service: ServiceEndpoints, version: str, patience: Patience) -> Json | None:
        """Proxies that take over from each other, the first one first."""
        placed = usable(placement(service, self.weights.get(service.service, {}), version))
        behind = placed.standby + placed.idle
        tiers = [_turns(tier, patience) for tier in (placed.bearing, behind) if tier]
        if service.load_balancing.sticky and placed.bearing:
            hashed = _hashed(placed.bearing, patience)
            # Alone a data centre has nobody of its tier to take over.
            tiers = [hashed, *(tiers if len(placed.bearing) > 1 else tiers[1:])]
        return _chain(tiers) if tiers else None


def _chain(tiers: list[Json]) -> Json:
    first, *rest = tiers
    if not rest:
        return first
    failed = {"handler": "static_response", "status_code": "{http.error.status_code}"}
    behind = [
        {"match": [{"expression": _AGAIN}], "handle": [_chain(rest)], "terminal": True},
        {"handle": [failed]},
    ]
    routes = [{"handle": [first]}]
    return {"handler": "subroute", "routes": routes, "errors": {"routes": behind}}


def _hashed(sites: tuple[Site, ...], patience: Patience) -> Json:
    """A data centre by the number of the user, and in it an address by his hash."""
    total = sum(site.weight for site in sites)
    routes: list[Json] = []
    low = taken = 0
    for site in sites[:-1]:
        taken += site.weight
        high = round(taken * WHOLE / total)
        digits = cohorts.expression(Cohort(low=low, high=high))
        low = high
        if digits:
            proxy = _proxy((site,), patience, _BY_USER)
            wanted = [text(WHO, rf"\A(?:{digits})")]
            routes.append({"match": wanted, "handle": [proxy], "terminal": True})
    routes.append({"handle": [_proxy(sites[-1:], patience, _BY_USER)]})
    named = {"handler": "headers", "request": {"set": {USER_HEADER: [WHO]}}}
    return {"handler": "subroute", "routes": [{"handle": [named]}, *routes]}


def _turns(sites: tuple[Site, ...], patience: Patience) -> Json:
    policy = {"policy": "weighted_round_robin", "weights": smallest_weights(sites)}
    return _proxy(sites, patience, policy)


def _proxy(sites: tuple[Site, ...], patience: Patience, policy: Json) -> Json:
    return {
        "handler": "reverse_proxy",
        "upstreams": [{"dial": one.name} for site in sites for one in site.instances],
        "load_balancing": {
            "selection_policy": policy,
            "retries": patience.retries,
            "try_interval": PAUSE,
        },
        "headers": {"request": {"delete": [USER_HEADER]}},
        "health_checks": {"passive": {"fail_duration": EJECTED, "max_fails": 1}},
        "transport": {
            "protocol": "http",
            "dial_timeout": CONNECT_TIMEOUT,
            "response_header_timeout": f"{patience.timeout_ms}ms",
        },
    }


def smallest_weights(sites: tuple[Site, ...]) -> list[int]:
    """Small whole numbers that give each address about its share."""
    parts = [max(site.weight, 1) * part / sum(site.parts) for site in sites for part in site.parts]
    found: list[int] = []
    for heaviest in range(1, HEAVIEST + 1):
        found = [weight for _, weights in counted(sites, heaviest) for weight in weights]
        pairs = zip(found, parts, strict=True)
        if all(abs(w / sum(found) - part / sum(parts)) <= CLOSE for w, part in pairs):
            break
    return found


def _unbounded(service: str) -> Observation:
    return Observation(
        code="bound_not_expressible",
        subject=f"service/{service}",
        message=f"service {service}: Caddy has no bound for a consistent hash; use maglev to say "
        "so, or another kind of gateway",
        held="it is hashed without a bound: an endpoint may get more than its part",
        severity=Severity.INFO,
    )


def _otherwise(service: str, way: str, held: str) -> Observation:
    return Observation(
        code="balancing_not_expressible",
        subject=f"service/{service}",
        message=f"service {service}: Caddy has {way} without weights only; balance it by "
        "round_robin, or use another kind of gateway",
        held=held,
        severity=Severity.WARNING,
    )
