"""The note for planes that cannot limit a service as a whole.

Called by their compilers. The note stands as long as an intent or a policy limits one.
"""

from collections.abc import Iterable, Iterator

from controlplane.domain.findings import Observation
from controlplane.domain.snapshot import ServiceEndpoints


def unlimited(services: Iterable[ServiceEndpoints], title: str) -> Iterator[Observation]:
    """A note for each service with a limit.

    Args:
        title: name of the plane in sentences.
    """
    for service in services:
        if service.limit is not None:
            yield Observation(
                code="limit_not_expressible",
                subject=f"service/{service.service}",
                message=f"service {service.service}: {title} does not limit a service as a whole; "
                "close it there with the preset block, or give its routes a slow queue",
                held="every request is let through there",
            )


def unlearned(services: Iterable[ServiceEndpoints], title: str) -> Iterator[Observation]:
    """A note for each service whose limit is to be learned, of a plane that keeps declared ones
    only; `title` as above."""
    for service in services:
        if service.limit is not None and service.limit.adaptive is not None:
            yield Observation(
                code="limit_not_expressible",
                subject=f"service/{service.service}",
                message=f"service {service.service}: {title} does not learn how many requests a "
                "service works on at once, as an adaptive_concurrency policy says; send them "
                "through the agent's own proxy, or give the service's routes a slow queue",
                held="as many requests at once as come are let through there",
            )
