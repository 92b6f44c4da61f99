"""Every format behind two functions: text -> `Imported`, routes -> text. Called by the API.

Both take up to a second for 5 MB: call them outside the event loop.
"""

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

from controlplane.api.fleet_document.findings import Findings
from controlplane.api.fleet_document.routes import Surroundings, route
from controlplane.api.route_documents import csv_routes, http_route, openapi
from controlplane.api.route_documents.csv_export import csv_text
from controlplane.api.route_documents.documents import places
from controlplane.api.route_documents.http_route_export import http_route_text
from controlplane.api.route_documents.imports import Imported, ImportWish, Notes, bounded
from controlplane.api.route_documents.naming import of_text
from controlplane.api.route_documents.omissions import Exported
from controlplane.api.route_documents.openapi_export import openapi_text
from controlplane.api.route_documents.sketches import Draft, Sketch, drafts, texts
from controlplane.domain.fleet_order import ordered
from controlplane.domain.routing.route import PathMatchType, Route
from controlplane.domain.routing.whitelist import Whitelist
from controlplane.domain.topology import Fleet


class RouteFormat(StrEnum):
    """How routes are written down."""

    OPENAPI = "openapi"
    HTTP_ROUTE = "httproute"
    CSV = "csv"


MEDIA_TYPES = {
    RouteFormat.OPENAPI: "application/yaml",
    RouteFormat.HTTP_ROUTE: "application/yaml",
    RouteFormat.CSV: "text/csv",
}


def read(content: str, form: RouteFormat, wish: ImportWish, now_s: float) -> Imported:
    """Read a file of routes.

    Args:
        now_s: lifetimes of routes count from it, UTC epoch seconds.

    Raises:
        Invalid: the file cannot be read at all (`route_file_...`).
    """
    findings, notes = Findings(), Notes()
    declared = wish.declared
    around = Surroundings(
        services=declared.services,
        gateways=declared.groups,
        now_s=now_s,
        callers=declared.callers,
        certificates=declared.certificates,
    )
    with bounded(findings):
        sketches = _sketches(content, form, wish, findings, notes)
        found = drafts(_wished(sketches, wish), lambda place: ordered(route(place, around)))
        if wish.whitelist:
            found = [draft for draft in found if _reachable(draft)]
        found = [_in_channel(draft, wish) for draft in found]
    return Imported(
        routes=tuple(found),
        whitelists=_whitelists(found, wish),
        findings=findings,
        notes=notes,
    )


def write(routes: Sequence[Route], form: RouteFormat, fleet: Fleet) -> Exported:
    """Write routes, with notes on what the format cannot say."""
    match form:
        case RouteFormat.CSV:
            return csv_text(routes)
        case RouteFormat.HTTP_ROUTE:
            return http_route_text(routes, fleet)
        case RouteFormat.OPENAPI:
            return openapi_text(routes)


def _sketches(
    content: str, form: RouteFormat, wish: ImportWish, findings: Findings, notes: Notes
) -> list[Sketch]:
    if form is RouteFormat.CSV:
        return csv_routes.read(content, wish, findings)
    read_one = openapi.read if form is RouteFormat.OPENAPI else http_route.read
    found = places(content, findings)
    return [sketch for document in found for sketch in read_one(document, wish, notes)]


def _wished(sketches: list[Sketch], wish: ImportWish) -> list[Sketch]:
    """The sketches with hosts and gateways that the caller chose for all."""
    chosen = {"hosts": wish.hosts, "gateways": wish.gateways}
    return [
        replace(
            sketch,
            entries={
                **sketch.entries,
                **{key: texts(sketch.place, words) for key, words in chosen.items() if words},
            },
        )
        for sketch in sketches
    ]


def _reachable(draft: Draft) -> bool:
    """Whether a whitelist lets the route's requests through; a finding when it does not."""
    if draft.route.path.type is not PathMatchType.REGULAR_EXPRESSION:
        return True
    draft.place.report(
        "paths and templates of whole segments in a whitelist; it refuses before regular "
        "expressions are asked",
        f"the regular expression {draft.route.path.value}",
    )
    return False


def _in_channel(draft: Draft, wish: ImportWish) -> Draft:
    if not wish.channel:
        return draft
    conditions = (*draft.route.conditions, *wish.channel)
    return replace(draft, route=ordered(replace(draft.route, conditions=conditions)))


def _whitelists(found: Sequence[Draft], wish: ImportWish) -> tuple[Whitelist, ...]:
    hosts = tuple(sorted({host for draft in found for host in draft.route.hosts}))
    if not wish.whitelist or not hosts:
        return ()
    name = wish.collection or of_text(hosts[0]) or "every-host"
    return (Whitelist(id=name, hosts=hosts, channel=wish.channel),)
