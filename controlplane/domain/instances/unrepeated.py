"""Services whose errors a plane does not try again elsewhere, as findings.

Asked by planes that retry what did not reach an endpoint, and no answer.
"""

from collections.abc import Iterable, Iterator

from controlplane.domain.findings import Observation
from controlplane.domain.snapshot import ServiceEndpoints


def unrepeated(services: Iterable[ServiceEndpoints], title: str) -> Iterator[Observation]:
    """A note for each service that asks for it.

    Args:
        title: name of the plane in sentences.
    """
    for service in services:
        if service.retry.server_errors:
            yield Observation(
                code="retry_not_expressible",
                subject=f"service/{service.service}",
                message=f"service {service.service}: {title} retries requests that no endpoint "
                "answered, and no answers; use Envoy, HAProxy or nginx where that matters",
                held="an answer of 500 or above is passed on",
            )
