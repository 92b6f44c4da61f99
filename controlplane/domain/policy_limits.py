"""What data planes can enforce of a policy by themselves, without asking an agent.

A local `rate_limit` of one service as a whole, without keys, is a limit of that service, which
planes have already for intents: `service_limits`, called when a snapshot is made. So is the limit
that `adaptive_concurrency` learns for whole services, where the least response time is declared.
A rate whose key is the source is for planes that can count addresses: `source_limits`, called by
their compilers. An agent that is asked, too, keeps the same limit: each gateway by itself, as
`local` says.
"""

from collections.abc import Iterable, Iterator, Mapping

from controlplane.domain.admission.policy import Policy
from controlplane.domain.admission.rate_limit import Scope, burst
from controlplane.domain.snapshot import ServiceLimit


def service_limits(policies: Iterable[Policy]) -> Mapping[str, ServiceLimit]:
    """Service -> what its policies let through; of several the strictest."""
    policies = tuple(policies)
    found = _rates(policies, ())
    for policy in policies:
        for service, limit in _learned(policy):
            found[service] = stricter(found.get(service), limit)
    return found


def source_limits(policies: Iterable[Policy]) -> Mapping[str, ServiceLimit]:
    """Service -> the rate that its policies let through from each client's address."""
    return _rates(policies, ("source",))


def _rates(policies: Iterable[Policy], key: tuple[str, ...]) -> dict[str, ServiceLimit]:
    found: dict[str, ServiceLimit] = {}
    for policy in policies:
        services, spec = policy.whole_services, policy.rate_limit
        if spec is None or len(services) != 1 or spec.scope is not Scope.LOCAL or spec.key != key:
            continue
        (service,) = services
        limit = ServiceLimit(rate_rps=spec.rate_rps, burst=burst(spec))
        found[service] = stricter(found.get(service), limit)
    return found


def stricter(one: ServiceLimit | None, other: ServiceLimit) -> ServiceLimit:
    """Both limits at once."""
    if one is None:
        return other
    slower = min(
        (each for each in (one, other) if each.rate_rps is not None),
        key=lambda each: each.rate_rps or 0.0,
        default=other,
    )
    fewer = min(
        (each for each in (one, other) if each.concurrent is not None),
        key=lambda each: each.concurrent or 0,
        default=other,
    )
    return ServiceLimit(
        concurrent=fewer.concurrent,
        waiting=fewer.waiting,
        rate_rps=slower.rate_rps,
        burst=slower.burst,
        adaptive=min(
            (each.adaptive for each in (one, other) if each.adaptive is not None),
            key=lambda each: each.most,
            default=None,
        ),
    )


def _learned(policy: Policy) -> Iterator[tuple[str, ServiceLimit]]:
    spec = policy.adaptive_concurrency
    if spec is not None and spec.least_ms is not None:
        for service in policy.whole_services:
            yield service, ServiceLimit(adaptive=spec)
