"""What planes do not do about retries, as findings: try errors again, or keep to a budget."""

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


def unbudgeted(services: Iterable[ServiceEndpoints], title: str) -> Iterator[Observation]:
    """A note for each service whose retries have a budget.

    Args:
        title: name of the plane in sentences.
    """
    for service in services:
        if service.retry.budget is not None:
            yield Observation(
                code="retry_budget_not_expressible",
                subject=f"service/{service.service}",
                message=f"service {service.service}: {title} counts the retries of each request "
                "and not those of all; lower retry.attempts where that matters, or use Envoy",
                held=f"a request is tried {service.retry.attempts} times again there",
            )
