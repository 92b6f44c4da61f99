"""Kubernetes Gateway API HTTPRoutes (gateway.networking.k8s.io/v1) -> routes.

Called by `formats`. Each match of a rule becomes a route; matches that differ in the method only
are one. A rule that cannot be said whole is left out with a finding: a filter must not be skipped.
Precedence within the standard's ties (first rule first) is kept by the order of the ids.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from controlplane.api.fleet_document.findings import quoted
from controlplane.api.fleet_document.nodes import Node
from controlplane.api.fleet_document.reading import Fields, Place, fields
from controlplane.api.route_documents.documents import listed, members, text_at, unreadable
from controlplane.api.route_documents.http_route_backends import targets
from controlplane.api.route_documents.http_route_filters import filtered
from controlplane.api.route_documents.http_route_limits import limits
from controlplane.api.route_documents.http_route_matches import Match, matches
from controlplane.api.route_documents.imports import ImportWish, Notes
from controlplane.api.route_documents.naming import Wanted
from controlplane.api.route_documents.sketches import Sketch, text, texts

GROUP = "gateway.networking.k8s.io"
KIND = "HTTPRoute"
USUAL_NAMESPACE = "default"
# The id that a route had when it was exported.
ID_ANNOTATION = "signalbox/route-id"
SPEC_KEYS = ("parentRefs", "hostnames", "rules", "useDefaultGateways")
RULE_KEYS = (
    "name",
    "matches",
    "filters",
    "backendRefs",
    "timeouts",
    "retry",
    "sessionPersistence",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Resource:
    """One HTTPRoute."""

    name: str
    id: str
    entries: Mapping[str, Node]
    wish: ImportWish
    notes: Notes


def read(document: Place, wish: ImportWish, notes: Notes) -> list[Sketch]:
    """The routes of one document: an HTTPRoute, or a list of resources."""
    root = members(document)
    if "kind" not in root or "apiVersion" not in root:
        raise unreadable(document, "it is no Kubernetes resource: it has no kind and apiVersion")
    if text_at(root["kind"]).endswith("List"):
        return [each for item in listed(root.get("items")) for each in read(item, wish, notes)]
    group, _, version = text_at(root["apiVersion"]).partition("/")
    kind = text_at(root["kind"])
    if (group, kind) != (GROUP, KIND):
        notes.add(root["kind"], f"only {KIND} of {GROUP} is read; {quoted(kind)} is left alone")
        return []
    if version not in ("v1", "v1beta1"):
        root["apiVersion"].report(f"{GROUP}/v1")
        return []
    return _routes(document, root, wish, notes)


def _routes(
    document: Place, root: Mapping[str, Place], wish: ImportWish, notes: Notes
) -> list[Sketch]:
    faults = document.findings.count
    metadata = members(root["metadata"]) if "metadata" in root else {}
    name = text_at(metadata.get("name"))
    if not name:
        document.report("metadata with a name", "without a name")
    spec = fields(root["spec"], SPEC_KEYS) if "spec" in root else None
    if spec is None or document.findings.count > faults:
        return []
    annotations = members(metadata["annotations"]) if "annotations" in metadata else {}
    namespace = text_at(metadata.get("namespace"))
    named = (wish.collection, "" if namespace == USUAL_NAMESPACE else namespace, name)
    exported = text_at(annotations.get(ID_ANNOTATION))
    resource = _Resource(
        name=".".join(word for word in named if word),
        id=exported,
        entries=_shared(spec, wish, notes, exported),
        wish=wish,
        notes=notes,
    )
    if document.findings.count > faults:
        return []
    found: list[Sketch] = []
    for number, rule in enumerate(listed(spec.places.get("rules")), 1):
        before = document.findings.count
        sketches = list(_rule(resource, rule, number))
        if document.findings.count == before:
            found += sketches
    return _with_id(found, resource)


def _shared(spec: Fields, wish: ImportWish, notes: Notes, exported: str) -> dict[str, Node]:
    """Hosts and groups of all rules; `exported` is the id that the route had here, or ""."""
    entries: dict[str, Node] = {}
    hostnames = spec.places.get("hostnames")
    if hostnames is not None and listed(hostnames):
        entries["hosts"] = hostnames.node
    parents = listed(spec.places.get("parentRefs"))
    groups = [_parent(reference, wish, notes) for reference in parents]
    if not (groups or wish.gateways or exported):
        notes.add(
            spec.place,
            "without parentRefs the route is on all groups of gateways, where the standard has it "
            "on none; name the groups with the import to choose",
        )
    if groups and all(groups):
        entries["gateways"] = texts(spec.place, dict.fromkeys(groups))
    return entries


def _parent(place: Place, wish: ImportWish, notes: Notes) -> str:
    """The declared group of gateways that a parent is called; "" when none is."""
    keys = ("group", "kind", "namespace", "name", "sectionName", "port")
    reference = fields(place, keys).places
    if text_at(reference.get("kind")) not in ("", "Gateway"):
        reference["kind"].report("Gateway; a mesh has routes of its own")
    for key in ("sectionName", "port"):
        if key in reference:
            notes.add(reference[key], "a route stands on every listener of its gateways")
    if "namespace" in reference:
        notes.add(reference["namespace"], "groups of gateways have no namespaces: by name only")
    name = text_at(reference.get("name"))
    if name in wish.declared.groups:
        return name
    if not wish.gateways:
        notes.add(
            place,
            f"no group of gateways is called {quoted(name)}: the route is on all groups; name the "
            "groups with the import to choose",
        )
    return ""


def _rule(resource: _Resource, place: Place, number: int) -> Iterator[Sketch]:
    rule = fields(place, RULE_KEYS)
    found = matches(rule.places.get("matches"), place, resource.notes)
    actions = {
        **filtered(rule.places.get("filters"), [m.kind for m in found], resource.notes),
        **limits(rule, resource.notes),
    }
    redirects = "redirect" in actions
    if redirects and listed(rule.places.get("backendRefs")):
        place.report("backendRefs or a RequestRedirect filter, not both")
    goals: list[dict[str, Node]] = [{}]
    if not redirects:
        backends = rule.places.get("backendRefs")
        goals = targets(backends, place, resource.wish.declared, resource.notes)
    for index, match in enumerate(found, 1):
        for goal_number, goal in enumerate(goals, 1):
            parts = (resource.name, f"{number:02}", f"{index:02}", f"{goal_number:02}")
            yield Sketch(
                place=place,
                entries={**resource.entries, **_matched(match), **goal, **actions},
                wanted=_wanted(parts if len(goals) > 1 else parts[:3]),
            )


def _matched(match: Match) -> dict[str, Node]:
    entries: dict[str, Node] = {"path": match.path}
    if match.methods:
        entries["methods"] = texts(match.place, match.methods)
    if match.conditions is not None:
        entries["conditions"] = match.conditions
    return entries


def _wanted(parts: tuple[str, ...]) -> Wanted:
    name = ".".join(parts)
    return Wanted(name=name, seed=name)


def _with_id(sketches: list[Sketch], resource: _Resource) -> list[Sketch]:
    """An exported route comes back under its id."""
    if not resource.id or len(sketches) != 1:
        return sketches
    (only,) = sketches
    entries = {**only.entries, "id": text(only.place, resource.id)}
    return [Sketch(place=only.place, entries=entries, wanted=only.wanted)]
