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
from controlplane.api.fleet_document.policies.overload import overload
from controlplane.api.fleet_document.policies.protection import protection
from controlplane.api.fleet_document.policies.regional_overflow import regional_overflow
from controlplane.api.fleet_document.policies.session_queue import session_queue
from controlplane.api.fleet_document.reading import (
    Fields,
    Place,
    Rule,
    choice,
    fields,
    name,
    reference,
    text_of,
)
from controlplane.domain.admission.agent_door import WhenAway
from controlplane.domain.admission.policy import Attachment, Mode, Policy, PolicyKind
from controlplane.domain.admission.presets import PRESETS

READERS: Mapping[PolicyKind, Rule[Any]] = {
    PolicyKind.PROTECTION: protection,
    PolicyKind.SESSION_QUEUE: session_queue,
    PolicyKind.FLASH_SALE: flash_sale,
    PolicyKind.ABNORMAL_TRAFFIC: abnormal_traffic,
    PolicyKind.RATE_LIMIT: rate_limit,
    PolicyKind.PRIORITY_SHEDDING: priority_shedding,
    PolicyKind.CIRCUIT_BREAKER: circuit_breaker,
    PolicyKind.ADAPTIVE_CONCURRENCY: adaptive_concurrency,
    PolicyKind.REGIONAL_OVERFLOW: regional_overflow,
    PolicyKind.OVERLOAD: overload,
}
POLICY_KEYS = ("name", "mode", "routes", "services", "regions", "when_away", "preset", *PolicyKind)
USUAL = Policy(name="")


def admission_policy(place: Place) -> Policy:
    """Read one policy."""
    faults = place.findings.count
    entries = fields(place, POLICY_KEYS)
    return _policy(entries, entries.required("name", name, ""), faults)


def addressed_policy(place: Place, policy_name: str) -> Policy:
    """One policy of its own document, which is addressed by its name."""
    faults = place.findings.count
    entries = fields(place, POLICY_KEYS)
    at = entries.places.get("name")
    if at is not None and text_of(at) != policy_name:
        at.report(f"{policy_name}, as in the address, or nothing")
    return _policy(entries, policy_name, faults)


def _policy(entries: Fields, policy_name: str, faults: int) -> Policy:
    """The policy; `faults` counts findings before it."""
    place = entries.place
    given = {
        kind.value: entries.optional(kind, READERS[kind], None)
        for kind in PolicyKind
        if kind in entries.places
    }
    ready_made = entries.optional("preset", reference("preset", PRESETS), "")
    found = [kind for kind, spec in given.items() if spec is not None]
    count = len(found) + bool(ready_made)
    if count != 1 and place.findings.count == faults:
        place.report(
            f"exactly one of {', '.join(PolicyKind)}, or a preset; {{}} takes a kind's defaults",
            f"with {count} of them",
        )
    if ready_made in PRESETS:
        kind = PRESETS[ready_made].policy.kind
        given = {kind.value: PRESETS[ready_made].policy.spec}
    return Policy(
        name=policy_name,
        mode=entries.optional("mode", choice(Mode), USUAL.mode),
        attachment=_attachment(entries),
        when_away=entries.optional("when_away", choice(WhenAway), USUAL.when_away),
        **given,
    )


def _attachment(entries: Fields) -> Attachment:
    return Attachment(
        routes=entries.optional("routes", several(name, "ids of routes"), ()),
        services=entries.optional("services", several(name, "services"), ()),
        regions=entries.optional("regions", several(name, "regions"), ()),
    )
