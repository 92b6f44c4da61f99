"""What data planes can enforce of a policy by themselves, without asking an agent.

A local `rate_limit` of one service as a whole, without keys, is a limit of that service, which
planes have already for intents: `service_limits`, called when a snapshot is made. One whose key is
the source is for planes that can count addresses: `source_limits`, called by their compilers. An
agent that is asked, too, keeps the same limit: each gateway by itself, as `local` says.
"""

from collections.abc import Iterable, Mapping

from controlplane.domain.admission.policy import Mode, Policy
from controlplane.domain.admission.rate_limit import RateLimitPolicy, Scope, burst
from controlplane.domain.snapshot import ServiceLimit


def service_limits(policies: Iterable[Policy]) -> Mapping[str, ServiceLimit]:
    """Service -> what its policies let through; of several the strictest."""
    return _limits(policies, ())


def source_limits(policies: Iterable[Policy]) -> Mapping[str, ServiceLimit]:
    """Service -> the rate that its policies let through from each client's address."""
    return _limits(policies, ("source",))


def _limits(policies: Iterable[Policy], key: tuple[str, ...]) -> Mapping[str, ServiceLimit]:
    found: dict[str, ServiceLimit] = {}
    for policy in policies:
        service, spec = _service(policy, key), policy.rate_limit
        if service is None or spec is None:
            continue
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
    )


def _service(policy: Policy, key: tuple[str, ...]) -> str | None:
    """The one service that a policy limits as a whole; None when it is something else."""
    attachment, spec = policy.attachment, policy.rate_limit
    whole = not attachment.routes and not attachment.regions and len(attachment.services) == 1
    if policy.mode is Mode.ENFORCE and whole and _is_local(spec, key):
        return attachment.services[0]
    return None


def _is_local(spec: RateLimitPolicy | None, key: tuple[str, ...]) -> bool:
    return spec is not None and spec.scope is Scope.LOCAL and spec.key == key
