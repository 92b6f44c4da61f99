"""What an import makes of the routes that are declared: by id, the others stay.

Called by the API. With the name of a collection its routes carry a label, and those of them that
the file no longer has are removed; a route of that id from elsewhere is never touched.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from controlplane.api.fleet_document.lookalikes import forms
from controlplane.api.route_documents.imports import Imported
from controlplane.api.route_documents.sketches import Draft
from controlplane.domain.routing.route import Route
from controlplane.domain.routing.whitelist import Whitelist
from controlplane.domain.topology import Fleet

LABEL = "import"


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """The fleet with the imported routes, and those of them that were taken."""

    fleet: Fleet
    taken: tuple[Draft, ...]
    whitelists: tuple[Whitelist, ...]


def merged(fleet: Fleet, imported: Imported, collection: str) -> Merged:
    """Put the imported routes and whitelists among the declared ones."""
    label = (LABEL, collection)
    kept = {route.id: route for route in fleet.routes if not (collection and label in route.labels)}
    taken = [
        _labeled(draft, label if collection else None)
        for draft in _taken(imported.routes, kept, own=not collection)
    ]
    routes = {**kept, **{draft.route.id: draft.route for draft in taken}}
    whitelists = {
        **{each.id: each for each in fleet.whitelists},
        **{each.id: each for each in imported.whitelists},
    }
    whole = replace(fleet, routes=tuple(routes.values()), whitelists=tuple(whitelists.values()))
    return Merged(fleet=whole, taken=tuple(taken), whitelists=imported.whitelists)


def _labeled(draft: Draft, label: tuple[str, str] | None) -> Draft:
    if label is None:
        return draft
    labels = tuple(sorted({**dict(draft.route.labels), **dict((label,))}.items()))
    return replace(draft, route=replace(draft.route, labels=labels))


def _taken(found: Iterable[Draft], kept: dict[str, Route], *, own: bool) -> Iterable[Draft]:
    """The drafts whose id is free, or that of a route that they may replace."""
    owners = {form: name for name in kept for form in forms(name)}
    seen: set[str] = set()
    for draft in found:
        name = draft.route.id
        others = {owners.get(form, name) for form in forms(name)} - {name}
        if name in seen:
            draft.place.report("each id once", f"the id {name} again")
        elif others:
            alike = min(others)
            draft.place.report(
                "ids that differ in more than case or look-alike characters",
                f"the id {name}, which looks like {alike}",
            )
        elif name in kept and not own:
            draft.place.report(
                "an id of its own, or of the same collection",
                f"the id {name} of a route that was not imported with this collection",
            )
        else:
            seen.add(name)
            owners |= dict.fromkeys(forms(name), name)
            yield draft
