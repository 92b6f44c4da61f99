"""Policies in force that nobody enforces: no agent where their requests come in.

Called by the engine for what is published, the waiting rooms of intents among it. What planes keep
by themselves needs no agent, and what other programs serve is theirs.
"""

from collections.abc import Collection, Iterator

from controlplane.domain.admission.policy import Mode, Policy, PolicyKind
from controlplane.domain.findings import Observation, Severity
from controlplane.domain.policy_breakers import breakers
from controlplane.domain.policy_limits import service_limits, source_limits
from controlplane.domain.routing.callers.authorization import declared_id
from controlplane.domain.routing.route import Route
from controlplane.domain.snapshot import Content
from controlplane.domain.topology import GatewayGroup

# `signalbox gateway sales` and `divert` serve these, and tell nothing of themselves.
ELSEWHERE = frozenset({PolicyKind.FLASH_SALE, PolicyKind.REGIONAL_OVERFLOW})


def unenforced(content: Content, agents: Collection[str]) -> Iterator[Observation]:
    """A finding for each policy in force that a gateway group without an agent should enforce.

    Args:
        agents: gateway groups of which an agent takes the policies.
    """
    groups = content.routes.gateways
    for policy in content.admission.policies:
        if policy.mode is not Mode.ENFORCE or policy.kind in ELSEWHERE or _native(policy):
            continue
        concerned = _concerned(policy, groups, content.routes.routes)
        missing = [name for name in concerned if name not in agents]
        if missing or not concerned:
            yield _observation(policy, missing, len(concerned) - len(missing))


def _native(policy: Policy) -> bool:
    one = (policy,)
    return bool(service_limits(one) or source_limits(one) or breakers(one))


def _concerned(
    policy: Policy, groups: tuple[GatewayGroup, ...], routes: tuple[Route, ...]
) -> list[str]:
    """The gateway groups where requests of a policy come in."""
    attached = policy.attachment
    named: set[str] = set()
    everywhere = not attached.routes and not attached.services
    for route in () if everywhere else routes:
        if attached.routes and declared_id(route) not in attached.routes:
            continue
        if attached.services and route.service not in attached.services:
            continue
        everywhere = everywhere or not route.gateways
        named.update(route.gateways)
    # What no route leads to comes to whoever asks by service alone.
    everywhere = everywhere or not named
    return [
        group.name
        for group in groups
        if (everywhere or group.name in named)
        and (not attached.regions or group.region is None or group.region in attached.regions)
    ]


def _observation(policy: Policy, missing: list[str], enforced_by: int) -> Observation:
    where = f"gateway group {', '.join(missing)}" if missing else "any gateway group"
    first = missing[0] if missing else "GROUP"
    return Observation(
        code="policy_without_agent",
        subject=f"policy/{policy.name}",
        message=f"policy {policy.name} ({policy.kind}) is in force, and no agent of {where} takes "
        f"policies here: start `signalbox gateway run --group {first}` beside its gateways and "
        "have them ask it, or take the policy back",
        held="requests there go on as if it were not declared",
        severity=Severity.INFO if enforced_by else Severity.WARNING,
    )
