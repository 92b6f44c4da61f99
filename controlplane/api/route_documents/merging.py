"""What an import makes of the routes that are declared: by id, the others stay.

Called by the API. With the name of a collection its routes carry a label, and those of them that
the file no longer has are removed; a route of that id from elsewhere is never touched.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from controlplane.api.fleet_document.lookalikes import forms
from controlplane.api.fleet_document.routes import told_apart_by
from controlplane.api.route_documents.imports import Imported, bounded
from controlplane.api.route_documents.sketches import Draft
from controlplane.domain.routing.compiling.prefix_keys import MOST_REPETITIONS, repetitions
from controlplane.domain.routing.conflicts import Conflict, conflicts
from controlplane.domain.routing.route import PathMatchType, Route
from controlplane.domain.routing.whitelist import Whitelist, refusal
from controlplane.domain.topology import Fleet

LABEL = "import"
MOST_CONFLICTS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """The fleet with the imported routes, and those of them that were taken.

    Attributes:
        conflicts: the first that an imported route or whitelist is part of.
    """

    fleet: Fleet
    taken: tuple[Draft, ...]
    whitelists: tuple[Whitelist, ...]
    conflicts: tuple[Conflict, ...]


def merged(fleet: Fleet, imported: Imported, collection: str) -> Merged:
    """Put the imported routes and whitelists among the declared ones."""
    label = (LABEL, collection)
    kept = {route.id: route for route in fleet.routes if not (collection and label in route.labels)}
    with bounded(imported.findings):
        found = _compiled_small(kept, list(_taken(imported.routes, kept, own=not collection)))
    taken = [_labeled(draft, label if collection else None) for draft in found]
    routes = {**kept, **{draft.route.id: draft.route for draft in taken}}
    listed = _listed(imported.whitelists, taken)
    whitelists = {each.id: each for each in (*fleet.whitelists, *listed)}
    whole = replace(fleet, routes=tuple(routes.values()), whitelists=tuple(whitelists.values()))
    return Merged(
        fleet=whole,
        taken=tuple(taken),
        whitelists=listed,
        conflicts=tuple(islice(_conflicts(whole, taken, listed), MOST_CONFLICTS)),
    )


def _listed(whitelists: Sequence[Whitelist], taken: Sequence[Draft]) -> tuple[Whitelist, ...]:
    """The whitelists on hosts of routes that were taken; elsewhere they would refuse all."""
    hosts = {host for draft in taken for host in draft.route.hosts}
    found = (replace(each, hosts=tuple(sorted(hosts & {*each.hosts}))) for each in whitelists)
    return tuple(each for each in found if each.hosts)


def _conflicts(
    fleet: Fleet, taken: Sequence[Draft], whitelists: Sequence[Whitelist]
) -> Iterator[Conflict]:
    own = {draft.route.id for draft in taken} | {refusal(each).id for each in whitelists}
    for conflict in conflicts(fleet.routes, fleet.whitelists):
        if conflict.route in own or conflict.other in own:
            yield conflict


def _labeled(draft: Draft, label: tuple[str, str] | None) -> Draft:
    if label is None:
        return draft
    labels = tuple(sorted({**dict(draft.route.labels), **dict((label,))}.items()))
    return replace(draft, route=replace(draft.route, labels=labels))


class _Declared:
    """The routes that stay, and those that were taken so far."""

    def __init__(self, kept: Mapping[str, Route], replaced: Collection[str]) -> None:
        self._kept = kept
        self._owners = {form: name for name in kept for form in forms(name)}
        self._taken: set[str] = set()
        self._rules: dict[str, str] = {}
        for route in kept.values():
            if route.id not in replaced:
                self._rules |= dict.fromkeys(_rules(route), route.id)

    def fault(self, route: Route, *, own: bool) -> tuple[str, str] | None:
        """What is found and what is allowed, when the route cannot stand beside the others."""
        name = route.id
        alike = {self._owners.get(form, name) for form in forms(name)} - {name}
        same = next((rule for rule in _rules(route) if rule in self._rules), None)
        if name in self._taken:
            return f"the id {name} again", "each id once"
        if alike:
            found = f"the id {name}, which looks like {min(alike)}"
            return found, "ids that differ in more than case or look-alike characters"
        if name in self._kept and not own:
            found = f"the id {name} of a route that was not imported with this collection"
            return found, "an id of its own, or of the same collection"
        if same is not None:
            found = f"{same}, as route {self._rules[same]} has it"
            return found, "routes that a request can tell apart; the second would get none"
        return None

    def take(self, route: Route) -> None:
        """Count it among the others."""
        self._taken.add(route.id)
        self._owners |= dict.fromkeys(forms(route.id), route.id)
        self._rules |= dict.fromkeys(_rules(route), route.id)


def _rules(route: Route) -> list[str]:
    return [told_apart_by(route, host) for host in route.hosts]


def _taken(found: Sequence[Draft], kept: Mapping[str, Route], *, own: bool) -> Iterator[Draft]:
    """The drafts that can stand beside what is kept and beside each other."""
    replaced = {draft.route.id for draft in found} if own else set[str]()
    declared = _Declared(kept, replaced)
    for draft in found:
        fault = declared.fault(draft.route, own=own)
        if fault is None:
            declared.take(draft.route)
            yield draft
        else:
            draft.place.report(fault[1], fault[0])


def _compiled_small(kept: Mapping[str, Route], taken: Sequence[Draft]) -> list[Draft]:
    """The drafts without those of hosts on which rules would be repeated too often.

    Expressions of such a host go first; when that is not enough, all that was imported there.
    """
    left = list(taken)
    expression = PathMatchType.REGULAR_EXPRESSION
    for kinds in ({expression}, set(PathMatchType)):
        full = _full_hosts(kept, left)
        gone = [d for d in left if d.route.path.type in kinds and full & {*d.route.hosts}]
        for draft in gone:
            draft.place.report(
                f"up to {MOST_REPETITIONS} repetitions of rules with short paths beside longer "
                "ones on a host: begin expressions and templates with a path of their own",
                f"one of too many rules on {', '.join(sorted(full & {*draft.route.hosts}))}",
            )
        names = {draft.route.id for draft in gone}
        left = [draft for draft in left if draft.route.id not in names]
    return left


def _full_hosts(kept: Mapping[str, Route], taken: Sequence[Draft]) -> set[str]:
    hosts = {host for draft in taken for host in draft.route.hosts}
    routes = {**kept, **{draft.route.id: draft.route for draft in taken}}.values()
    touched = [replace(r, hosts=own) for r in routes if (own := tuple(hosts & {*r.hosts}))]
    return {host for host, count in repetitions(touched).items() if count > MOST_REPETITIONS}
