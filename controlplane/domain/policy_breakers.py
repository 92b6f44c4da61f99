"""Which `circuit_breaker` policies a data plane can keep in part: the rest of single endpoints.

Called by compilers of planes that count failures of each endpoint. What they cannot do, resting a
service whose endpoints fail a little each, and slow answers, stays with agents.
"""

from collections.abc import Iterable, Mapping

from controlplane.domain.admission.circuit_breaker import CircuitBreakerPolicy
from controlplane.domain.admission.policy import Mode, Policy

# Planes count every status of 500 and above; one of fewer would rest for what is no failure.
FAILURES = frozenset(CircuitBreakerPolicy().statuses)


def breakers(policies: Iterable[Policy]) -> Mapping[str, CircuitBreakerPolicy]:
    """Service -> its breaker; of several the one that opens first."""
    found: dict[str, CircuitBreakerPolicy] = {}
    for policy in policies:
        spec, attachment = policy.circuit_breaker, policy.attachment
        part = attachment.routes or attachment.regions
        if spec is None or part or policy.mode is not Mode.ENFORCE:
            continue
        if not FAILURES.issubset(spec.statuses):
            continue
        for service in attachment.services:
            found[service] = min(found.get(service, spec), spec, key=_eagerness)
    return found


def _eagerness(spec: CircuitBreakerPolicy) -> tuple[float, int, float]:
    return spec.error_ratio, spec.requests, spec.window_s
