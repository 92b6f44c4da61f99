"""What is lost where a plane knows backups of a whole service only, as HAProxy and nginx do.

Called by their compilers for the notes.
"""

from collections.abc import Iterable, Iterator, Mapping

from controlplane.domain.findings import Observation, Severity
from controlplane.domain.instances.placement import Placement, placement
from controlplane.domain.snapshot import ServiceEndpoints


def late_standbys(
    services: Iterable[tuple[ServiceEndpoints, Mapping[str, int]]], title: str
) -> Iterator[Observation]:
    """A note for each service whose standby takes over later than it should.

    Args:
        services: with their weights, data centre -> basis points.
        title: name of the plane in sentences.
    """
    for service, weights in services:
        if _is_late(placement(service, weights)):
            yield Observation(
                code="standby_waits_for_all",
                subject=f"service/{service.service}",
                message=f"service {service.service}: {title} has a standby of the whole service "
                "only, not one of each data centre; use Envoy gateways or the application's "
                "client where that matters",
                held="the standby gets traffic there when nobody else can serve; until then the "
                "others share what a cluster or data centre has lost",
                severity=Severity.INFO,
            )


def _is_late(placed: Placement) -> bool:
    places = {(one.datacenter, one.cluster) for site in placed.bearing for one in site.instances}
    return bool(placed.standby) and len(places) > 1
