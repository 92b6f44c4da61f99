"""Services as backend sections: servers of each data centre, weighted.

Called by `render`. Weights change over the runtime socket, so they stand in the file as `weight N`
and nowhere else. HAProxy counts weights to 256, so a share is exact to about 0.4 % of the largest.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from controlplane.adapters.haproxy import limits
from controlplane.adapters.haproxy.actions import of_request, of_response
from controlplane.adapters.haproxy.quoting import word
from controlplane.adapters.haproxy.targets import Target, service_section
from controlplane.domain.canonical import digest
from controlplane.domain.instances.counts import counted
from controlplane.domain.instances.hashing import BALANCE
from controlplane.domain.instances.placement import Instance, Placement, Site, placement
from controlplane.domain.instances.usable import usable
from controlplane.domain.services import CheckKind, LoadBalancing, StickyMode
from controlplane.domain.snapshot import ServiceEndpoints, ServiceLimit

HEAVIEST = 256
CONNECT_TIMEOUT_MS = 250
# Of the digest of an address, which is nobody's business.
COOKIE_LENGTH = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """A service and the weights of its data centres in one region.

    Attributes:
        by_source: the rate of each client's address; None is no limit.
    """

    service: ServiceEndpoints
    weights: Mapping[str, int]
    by_source: ServiceLimit | None = None


def section(target: Target, reach: Reach | None) -> Iterator[str]:
    """The lines of one section; `reach` is None for answers without a service."""
    yield f"backend {target.name}"
    if target.route is not None:
        yield from of_request(target.route)
        yield from of_response(target.route)
    if reach is not None:
        yield from limits.of_request(reach.service, reach.by_source)
        yield from _balancing(reach.service)
        yield from _cookie(reach.service)
        yield from _patience(target, reach.service)
        yield from _servers(target, reach)


def _balancing(service: ServiceEndpoints) -> Iterator[str]:
    if service.load_balancing.sticky:
        yield "balance hash var(txn.who)"
        yield "hash-type consistent"
    elif service.load_balancing is LoadBalancing.LEAST_CONNECTIONS:
        yield "balance leastconn"
    else:
        yield "balance roundrobin"
    if service.load_balancing is LoadBalancing.BOUNDED_HASH:
        yield f"hash-balance-factor {round(BALANCE * 100)}"
    yield "option allbackups"


def _cookie(service: ServiceEndpoints) -> Iterator[str]:
    """Sessions stay with the server that the cookie names, also at weight 0."""
    if service.stickiness is StickyMode.SESSION:
        named = f"signalbox_at_{service.service}"
        yield f'cookie {named} insert indirect nocache httponly attr "SameSite=Lax"'


def _patience(target: Target, service: ServiceEndpoints) -> Iterator[str]:
    route, retry = target.route, service.retry
    timeout_ms, attempts = service.timeout_ms, retry.attempts
    if route is not None and route.timeout_ms is not None:
        timeout_ms = route.timeout_ms
    if route is not None and route.retries is not None:
        attempts = route.retries
    yield f"timeout connect {CONNECT_TIMEOUT_MS}ms"
    yield f"timeout server {timeout_ms}ms"
    yield f"timeout queue {timeout_ms}ms"
    yield f"retries {attempts}"
    errors = "500 502 503 504" if retry.server_errors else "502 503 504"
    yield f"retry-on conn-failure empty-response response-timeout {errors}"
    yield "option redispatch 1"
    # Others may be sent twice only while no server has seen them.
    yield "http-request disable-l7-retry if !{ method GET HEAD OPTIONS }"


def _servers(target: Target, reach: Reach) -> Iterator[str]:
    check = reach.service.health_check
    is_own = target.route is None
    if is_own:
        if check.kind is CheckKind.HTTP:
            yield f"option httpchk GET {word(check.path)}"
        yield f"timeout check {check.timeout_ms}ms"
    placed = placement(reach.service, reach.weights, target.version)
    shares = _shares(placed)
    limit = _limit(target, sum(len(site.instances) for site, *_ in shares))
    seen: dict[str, int] = {}
    for site, heavy, backup in shares:
        for instance, weight in zip(site.instances, heavy, strict=True):
            seen[site.datacenter] = seen.get(site.datacenter, 0) + 1
            server = f"{site.datacenter}.{seen[site.datacenter]}"
            watch = _watch(check.interval_ms, check.healthy_threshold, check.unhealthy_threshold)
            if check.kind is CheckKind.COMMAND:
                # Observers run it, and take out what fails.
                watch = ""
            elif not is_own:
                watch = f"track {service_section(target.service, target.version)}/{server}"
            last = "backup" if backup else ""
            named = _session(reach.service, placed, site, instance)
            words = (f"server {server} {instance.name} weight {weight}", watch, limit, named, last)
            yield " ".join(one for one in words if one)


def _shares(placed: Placement) -> list[tuple[Site, list[int], bool]]:
    """Each site with the weights of its servers, and whether it is a backup.

    Nothing new goes to what health takes out and to what drains, unless nobody else is there.
    """
    ignored = usable(placed) == placed
    found = [
        (
            site,
            [
                0 if one.out and not ignored else part
                for one, part in zip(site.instances, share, strict=True)
            ],
            backup,
        )
        for backup, sites in ((False, placed.bearing), (True, placed.standby + placed.idle))
        for site, share in counted(sites, HEAVIEST)
    ]
    return [*found, *((site, [0] * len(site.instances), False) for site in placed.draining)]


def _session(service: ServiceEndpoints, placed: Placement, site: Site, instance: Instance) -> str:
    """What the cookie says for a server: nothing where a data centre at weight 0 keeps none."""
    if service.stickiness is StickyMode.HASH or site in placed.idle:
        return ""
    return f"cookie {digest(instance.name.encode())[:COOKIE_LENGTH]}"


def _watch(interval_ms: int, rise: int, fall: int) -> str:
    return f"check inter {interval_ms}ms rise {rise} fall {fall}"


def _limit(target: Target, servers: int) -> str:
    """Requests at once that each server gets, of the route's."""
    queue = None if target.route is None else target.route.queue
    return "" if queue is None else f"maxconn {max(1, queue.concurrent // max(servers, 1))}"
