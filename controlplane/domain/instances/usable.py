"""What of a placement gets traffic where a plane is told of nothing but addresses.

Called by compilers of planes that have no state for an address that health has taken out; and the
note for those that cannot keep sessions either.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from controlplane.domain.findings import Observation, Severity
from controlplane.domain.instances.placement import Placement, Site
from controlplane.domain.services import StickyMode
from controlplane.domain.snapshot import ServiceEndpoints


def usable(placed: Placement) -> Placement:
    """The placement without those that are out; the next tier bears when the first has nobody.

    When nothing is left it is the placement as it is, or nothing where the service is closed then.
    """
    if not placed.out:
        return placed
    bearing, standby, idle = map(_well, (placed.bearing, placed.standby, placed.idle))
    if not (bearing or standby or idle):
        return replace(placed, bearing=(), standby=(), idle=()) if placed.closed else placed
    if not bearing and standby:
        bearing, standby = standby, ()
    if not bearing:
        bearing, idle = idle[:1], idle[1:]
    return replace(placed, bearing=bearing, standby=standby, idle=idle)


def lost_sessions(services: Iterable[ServiceEndpoints], title: str) -> Iterator[Observation]:
    """A note for each service whose sessions a plane cannot keep.

    Args:
        title: name of the plane in sentences.
    """
    for service in services:
        if service.stickiness is StickyMode.SESSION:
            yield Observation(
                code="sessions_not_expressible",
                subject=f"service/{service.service}",
                message=f"service {service.service}: {title} keeps no sessions during a drain; "
                "use Envoy or HAProxy gateways where that matters",
                held="a drain moves its users at once",
                severity=Severity.WARNING,
            )


def _well(sites: tuple[Site, ...]) -> tuple[Site, ...]:
    return tuple(kept for site in sites if (kept := _without_out(site)).instances)


def _without_out(site: Site) -> Site:
    rows = [
        (one, part) for one, part in zip(site.instances, site.parts, strict=True) if not one.out
    ]
    return replace(
        site,
        instances=tuple(one for one, _ in rows),
        parts=tuple(part for _, part in rows),
    )
