"""The backendRefs of an HTTPRoute rule: a service, versions of one, or a split by chance.

Called by `http_route`. A Kubernetes Service called like a declared service is that service; one
called `service-version` is that version of it. Shares of different services are cohorts of
requests: each request is drawn anew, as the standard wants it.
"""

from dataclasses import dataclass

from controlplane.api.fleet_document.findings import listed as names_listed
from controlplane.api.fleet_document.findings import quoted
from controlplane.api.fleet_document.nodes import Node
from controlplane.api.fleet_document.reading import Place, fields, integer
from controlplane.api.route_documents.documents import listed, text_at
from controlplane.api.route_documents.imports import Declared, Notes
from controlplane.api.route_documents.sketches import listing, number, table, text
from controlplane.domain.routing.route import WHOLE, CohortKey

MOST_WEIGHT = 1_000_000
REF_KEYS = ("group", "kind", "name", "namespace", "port", "weight", "filters")
NO_BACKEND = 500
_LOST = {
    "namespace": "a backend's namespace is not kept: declared services have none, and no grant of "
    "a reference is asked for",
    "port": "a backend's port is not kept: requests go to the declared endpoints of its service",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Backend:
    service: str
    version: str
    weight: int


def targets(
    place: Place | None, rule: Place, declared: Declared, notes: Notes
) -> list[dict[str, Node]]:
    """Where a rule's requests go, as entries of one route or of one for each share.

    Without a backend that has weight the answer is 500, as the standard wants it.
    """
    faults = rule.findings.count
    backends = [_backend(item, declared, notes) for item in listed(place)]
    if rule.findings.count > faults:
        return []
    groups: dict[tuple[str, bool], list[_Backend]] = {}
    for backend in backends:
        if backend.weight:
            groups.setdefault((backend.service, bool(backend.version)), []).append(backend)
    if not groups:
        return [{"response": table(rule, {"status": number(rule, NO_BACKEND)})}]
    goals = [_goal(rule, group) for group in groups.values()]
    shares = parts([sum(backend.weight for backend in group) for group in groups.values()])
    low = 0
    # The last gets what is left, so it needs no cohort.
    for goal, share in zip(goals[:-1], shares, strict=False):
        goal["cohort"] = _cohort(rule, low, low + share)
        low += share
    if not all(shares):
        notes.add(rule, "a share below 1 of 10,000 gets nothing: weights count no further")
    return [goal for goal, share in zip(goals, shares, strict=True) if share]


def parts(weights: list[int]) -> list[int]:
    """Weights in ten-thousandths that sum to all of them, by largest remainder."""
    total = sum(weights)
    shares = [weight * WHOLE // total for weight in weights]
    rest = sorted(range(len(weights)), key=lambda at: (-(weights[at] * WHOLE % total), at))
    for at in rest[: WHOLE - sum(shares)]:
        shares[at] += 1
    return shares


def _backend(place: Place, declared: Declared, notes: Notes) -> _Backend:
    entries = fields(place, REF_KEYS)
    reference = entries.places
    if text_at(reference.get("kind")) not in ("", "Service") or text_at(reference.get("group")):
        place.report("backends of the kind Service")
    if listed(reference.get("filters")):
        reference["filters"].report("filters of the rule; a single backend has none here")
    name = text_at(reference.get("name"))
    service, version = _declared(name, declared)
    if not service:
        (reference.get("name") or place).report(
            f"a declared service or `service-version` of one: {names_listed(declared.services)}",
            f"the unknown backend {quoted(name)}",
        )
    for key in ("namespace", "port"):
        if key in reference:
            notes.add(reference[key], _LOST[key])
    weight = entries.optional("weight", integer(0, MOST_WEIGHT), 1)
    return _Backend(service=service, version=version, weight=weight)


def _declared(name: str, declared: Declared) -> tuple[str, str]:
    """Service and version of a backend's name."""
    if name in declared.services:
        return name, ""
    for service, versions in declared.services.items():
        version = name.removeprefix(f"{service}-")
        if version != name and version in versions:
            return service, version
    return "", ""


def _goal(place: Place, group: list[_Backend]) -> dict[str, Node]:
    goal: dict[str, Node] = {"service": text(place, group[0].service)}
    weights: dict[str, int] = {}
    for backend in group:
        weights[backend.version] = weights.get(backend.version, 0) + backend.weight
    if "" not in weights:
        shares = zip(weights, parts(list(weights.values())), strict=True)
        goal["versions"] = listing(
            place,
            (
                table(place, {"version": text(place, name), "weight": number(place, share)})
                for name, share in shares
            ),
        )
    return goal


def _cohort(place: Place, low: int, high: int) -> Node:
    return table(
        place,
        {
            "by": text(place, CohortKey.REQUEST),
            "low": number(place, low),
            "high": number(place, high),
        },
    )
