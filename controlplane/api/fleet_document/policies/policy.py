"""One admission policy: name, mode, what it is attached to, and exactly one kind.

Called by `sections`. Only what nobody could read is an error of the document. What a policy refers
to, and whether its values go together, is judged with the whole fleet (`domain.fleet_policies`):
a policy that fails there is one finding, and the rest of the document is made.
"""

from collections.abc import Mapping
from typing import Any

from controlplane.api.fleet_document.conditions import several
from controlplane.api.fleet_document.policies.abnormal_traffic import abnormal_traffic
from controlplane.api.fleet_document.policies.flash_sale import flash_sale
from controlplane.api.fleet_document.policies.limits import (
    adaptive_concurrency,
    circuit_breaker,
    priority_shedding,
    rate_limit,
)
from controlplane.api.fleet_document.policies.protection import protection
from controlplane.api.fleet_document.policies.regional_overflow import regional_overflow
from controlplane.api.fleet_document.reading import Fields, Place, Rule, choice, fields, name
from controlplane.domain.admission.policy import Attachment, Mode, Policy, PolicyKind

READERS: Mapping[PolicyKind, Rule[Any]] = {
    PolicyKind.PROTECTION: protection,
    PolicyKind.FLASH_SALE: flash_sale,
    PolicyKind.ABNORMAL_TRAFFIC: abnormal_traffic,
    PolicyKind.RATE_LIMIT: rate_limit,
    PolicyKind.PRIORITY_SHEDDING: priority_shedding,
    PolicyKind.CIRCUIT_BREAKER: circuit_breaker,
    PolicyKind.ADAPTIVE_CONCURRENCY: adaptive_concurrency,
    PolicyKind.REGIONAL_OVERFLOW: regional_overflow,
}
POLICY_KEYS = ("name", "mode", "routes", "services", "regions", *PolicyKind)
USUAL = Policy(name="")


def admission_policy(place: Place) -> Policy:
    """Read one policy."""
    faults = place.findings.count
    entries = fields(place, POLICY_KEYS)
    given = {
        kind.value: entries.optional(kind, READERS[kind], None)
        for kind in PolicyKind
        if kind in entries.places
    }
    found = [kind for kind, spec in given.items() if spec is not None]
    if len(found) != 1 and place.findings.count == faults:
        place.report(
            f"exactly one of {', '.join(PolicyKind)}; {{}} takes its defaults",
            f"with {len(found)} of them",
        )
    return Policy(
        name=entries.required("name", name, ""),
        mode=entries.optional("mode", choice(Mode), USUAL.mode),
        attachment=_attachment(entries),
        **given,
    )


def _attachment(entries: Fields) -> Attachment:
    return Attachment(
        routes=entries.optional("routes", several(name, "ids of routes"), ()),
        services=entries.optional("services", several(name, "services"), ()),
        regions=entries.optional("regions", several(name, "regions"), ()),
    )
