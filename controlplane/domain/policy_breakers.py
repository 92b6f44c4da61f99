"""Which `circuit_breaker` policies a data plane can keep in part: the rest of single endpoints.

Called by compilers of planes that count failures of each endpoint. What they cannot do, resting a
service whose endpoints fail a little each, and slow answers, stays with agents.
"""

from collections.abc import Iterable, Iterator, Mapping

from controlplane.domain.admission.circuit_breaker import CircuitBreakerPolicy
from controlplane.domain.admission.policy import Policy
from controlplane.domain.findings import Observation, Severity
from controlplane.domain.services import AllDown
from controlplane.domain.snapshot import Content, ServiceEndpoints

# Planes count every status of 500 and above; one of fewer would rest for what is no failure.
FAILURES = frozenset(CircuitBreakerPolicy().statuses)


def breakers(policies: Iterable[Policy]) -> Mapping[str, CircuitBreakerPolicy]:
    """Service -> its breaker; of several the one that opens first."""
    found: dict[str, CircuitBreakerPolicy] = {}
    for policy in policies:
        spec = policy.circuit_breaker
        if spec is None or not FAILURES.issubset(spec.statuses):
            continue
        for service in policy.whole_services:
            found[service] = min(found.get(service, spec), spec, key=_eagerness)
    return found


def kept_in_part(content: Content, title: str) -> Iterator[Observation]:
    """A note for each breaker of which a plane that rests endpoints leaves something undone.

    Args:
        title: name of the plane in sentences.
    """
    for service, spec in _declared(content):
        undone = []
        if service.all_down is not AllDown.CLOSED:
            undone.append(
                "asks all endpoints again while all of them rest (all_down: closed ends it)"
            )
        if spec.slow_ms is not None:
            undone.append("counts no slow answers")
        if undone:
            words = f"{title} rests single endpoints, and {' and '.join(undone)}"
            yield _note(service, words, Severity.INFO)


def unkept(content: Content, title: str) -> Iterator[Observation]:
    """A note for each breaker, of a plane that keeps none; `title` as above."""
    for service, _ in _declared(content):
        yield _note(service, f"{title} rests nobody for failed answers", Severity.WARNING)


def _declared(content: Content) -> Iterator[tuple[ServiceEndpoints, CircuitBreakerPolicy]]:
    found = breakers(content.admission.policies)
    for service in content.endpoints.services:
        if service.service in found:
            yield service, found[service.service]


def _note(service: ServiceEndpoints, words: str, severity: Severity) -> Observation:
    return Observation(
        code="breaker_not_expressible",
        subject=f"service/{service.service}",
        message=f"service {service.service} has a circuit_breaker policy: {words}; the agent's own "
        "proxy keeps the whole of it",
        held="requests beyond that go to the service",
        severity=severity,
    )


def _eagerness(spec: CircuitBreakerPolicy) -> tuple[float, int, float]:
    return spec.error_ratio, spec.requests, spec.window_s
