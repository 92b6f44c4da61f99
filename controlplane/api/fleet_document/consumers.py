"""The part of a fleet document about consumers: their credentials, grants and quotas."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from controlplane.api.fleet_document.callers import TEXT
from controlplane.api.fleet_document.conditions import ARGUMENT, pairs, several
from controlplane.api.fleet_document.reading import (
    Place,
    Rule,
    Unique,
    choice,
    fields,
    integer,
    matching,
    name,
    reference,
)
from controlplane.domain.routing.callers.policies import (
    CREDENTIALS,
    CallerMethod,
    Consumer,
    Credential,
    CredentialType,
    Grant,
    Quota,
)

DIGEST = matching(
    re.compile(r"[0-9a-f]{64}", re.ASCII), "a SHA-256: 64 hexadecimal digits in lower case"
)
VALUES: Mapping[CredentialType, Rule[str]] = {
    CredentialType.KEY_SHA256: DIGEST,
    CredentialType.FINGERPRINT: DIGEST,
    CredentialType.SECRET: name,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What consumers refer to: caller policies with their method, ids of routes, and zones.

    Attributes:
        owners: credentials that were read; no two consumers may have the same.
    """

    policies: Mapping[str, CallerMethod | None]
    routes: Collection[str]
    zones: Collection[str]
    owners: Unique = field(default_factory=Unique)


def consumer(place: Place, declared: Declared) -> Consumer:
    """Read one consumer."""
    entries = fields(place, ("name", "credentials", "grants", "quota"))

    def credentials(at: Place) -> tuple[Credential, ...]:
        return tuple(_credential(item, declared) for item in at.items("a list of credentials"))

    def grants(at: Place) -> tuple[Grant, ...]:
        return tuple(_grant(item, declared) for item in at.items("a list of grants"))

    return Consumer(
        name=entries.required("name", name, ""),
        credentials=entries.optional("credentials", credentials, ()),
        grants=entries.optional("grants", grants, ()),
        quota=entries.optional("quota", _quota, None),
    )


def _credential(place: Place, declared: Declared) -> Credential:
    entries = fields(place, ("policy", "type", "value"))
    policy = entries.required("policy", reference("caller policy", declared.policies), "")
    kind = entries.required("type", choice(CredentialType), CredentialType.KEY_SHA256)
    value = entries.required("value", VALUES.get(kind, TEXT), "")
    method = declared.policies.get(policy)
    if method is not None and kind not in CREDENTIALS[method] and "type" in entries.places:
        allowed = ", ".join(CREDENTIALS[method])
        entries.places["type"].report(f"{allowed}, as the policy is of {method}")
    if policy and value:
        declared.owners.check(f"{policy} {kind} {value}", place)
    return Credential(policy=policy, type=kind, value=value)


def _grant(place: Place, declared: Declared) -> Grant:
    entries = fields(place, ("routes", "labels", "zones"))
    routes = several(reference("route", declared.routes), "ids of routes")
    zones = several(reference("zone", declared.zones), "zones")
    return Grant(
        routes=entries.optional("routes", routes, ()),
        labels=entries.optional("labels", pairs(name, ARGUMENT), ()),
        zones=entries.optional("zones", zones, ()),
    )


def _quota(place: Place) -> Quota:
    entries = fields(place, ("requests", "period_s"))
    return Quota(
        requests=entries.required("requests", integer(1, 1_000_000_000), 1),
        period_s=entries.optional("period_s", integer(1, 86_400), 60),
    )
