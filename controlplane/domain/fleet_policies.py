"""Policies of a fleet judged: which cannot be carried out, and which name what is not declared.

Called by the engine before a change of the fleet is stored, and whenever one is in force. One bad
policy is one finding; the rest ships.
"""

from collections.abc import Iterator, Mapping

from controlplane.domain.admission.flash_sale.life import Correction, require_editable
from controlplane.domain.admission.policy import Policy, check_policy
from controlplane.domain.errors import Invalid, Refused
from controlplane.domain.findings import Observation
from controlplane.domain.topology import Fleet

MOST_NAMED = 5


def invalid(policies: tuple[Policy, ...]) -> dict[str, str]:
    """Name -> why a policy cannot be carried out; {} when all can."""
    found = {}
    for policy in policies:
        try:
            check_policy(policy)
        except Invalid as error:
            found[policy.name] = error.message
    return found


def frozen(
    forms: tuple[Fleet, Fleet], now_s: float, corrections: tuple[Correction, ...]
) -> dict[str, str]:
    """Name -> why a sale stays as it is: it is frozen, and nobody has reviewed the change.

    Args:
        forms: the fleet in force, and the wanted one.
    """
    wanted = {one.name: one.flash_sale for one in forms[1].policies}
    found = {}
    for policy in forms[0].policies:
        if policy.flash_sale is None:
            continue
        sale = (policy.flash_sale, wanted.get(policy.name))
        try:
            require_editable(policy.name, sale, now_s, corrections)
        except Refused as error:
            found[policy.name] = error.message
    return found


def unknown_references(fleet: Fleet) -> Iterator[Observation]:
    """A finding for each policy that names what is not declared: there it covers nothing."""
    declared = _declared(fleet)
    for policy in fleet.policies:
        missing = [
            f"{kind} {name}"
            for kind, names in _named(policy).items()
            for name in names
            if name not in declared[kind]
        ]
        if missing:
            rest = f" and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
            yield Observation(
                code="policy_reference_unknown",
                subject=f"policy/{policy.name}",
                message=f"policy {policy.name} is attached to {', '.join(missing[:MOST_NAMED])}"
                f"{rest}, which the fleet does not declare: declare it, or correct the policy",
            )


def _named(policy: Policy) -> Mapping[str, tuple[str, ...]]:
    attachment = policy.attachment
    return {
        "route": attachment.routes,
        "service": attachment.services,
        "region": attachment.regions,
    }


def _declared(fleet: Fleet) -> Mapping[str, frozenset[str]]:
    """Drafts and gray releases count as routes; regions are those of sites and of gateways."""
    routes = {route.id for route in fleet.routes} | {one.route.id for one in fleet.releases}
    regions = {center.region for center in fleet.datacenters}
    regions |= {group.region for group in fleet.gateways if group.region is not None}
    return {
        "route": frozenset(routes),
        "service": frozenset(service.name for service in fleet.services),
        "region": frozenset(regions),
    }
