"""POST /v1/routes:match: which route a request gets, why, and which would be next.

Answered from what is published, in the way gateways see it; `draft` asks how it would be with one
draft published.
"""

import asyncio

from fastapi import APIRouter
from fastapi import Request as HttpRequest

from controlplane.api.dependencies import Services, Viewer
from controlplane.api.fleet_document.rendering import plain_route
from controlplane.api.published import check_group, known
from controlplane.api.wire.requests import RequestIn
from controlplane.api.wire.routes import Document
from controlplane.api.wire.values import Wire
from controlplane.domain.errors import Invalid
from controlplane.domain.routing.callers.authorization import declared_id
from controlplane.domain.routing.matching.explanation import Explanation, Loser, explained
from controlplane.domain.routing.matching.normalization import Refusal
from controlplane.domain.routing.matching.request import Request
from controlplane.domain.routing.matching.table import Table
from controlplane.domain.routing.route import Route
from controlplane.domain.snapshot import RoutesSection

MOST_LOSERS = 20
NO_ROUTE_STATUS = 404

router = APIRouter(prefix="/v1", tags=["routes"])


class LoserOut(Wire):
    """A route that did not get the request, and why."""

    id: str
    why: str
    unmet: list[str]
    before: str


class MatchOut(Wire):
    """What the request gets.

    `status` is that of an answer without a service: 404 is that no route matches, 400 and 414
    that the request is refused before any route is looked at. `next` would be next.
    """

    path: str | None
    route: str | None
    service: str
    status: int | None
    reason: str
    host: str
    parameters: dict[str, str]
    next: str | None
    losers: list[LoserOut]
    others: int
    document: Document | None


@router.post("/routes:match")
async def match_route(
    http: HttpRequest, services: Services, _caller: Viewer, asked: RequestIn
) -> MatchOut:
    """Tell which route wins and why, which would be next, and why the others lost."""
    current = known(services.publication.current)
    section = current.content.routes
    if asked.gateway is not None:
        check_group(current, asked.gateway)
    routes = with_draft(services, section, asked.draft)
    now_s = services.instruments.now()
    # One at a time: with sixty of the worst expressions one takes seconds, and the threads are
    # those that publish, too.
    explaining: asyncio.Semaphore = http.app.state.explaining
    async with explaining:
        return await asyncio.to_thread(_match, asked, routes, section, now_s)


def with_draft(services: Services, section: RoutesSection, draft: str | None) -> list[Route]:
    """The published routes, with one draft as if it were published."""
    if draft is None:
        return list(section.routes)
    release = services.routes.item(draft).release
    if release is None:
        raise Invalid("draft_not_found", f"route {draft} has no draft; write one first")
    return [*(route for route in section.routes if declared_id(route) != draft), release.route]


def _match(asked: RequestIn, routes: list[Route], section: RoutesSection, now_s: float) -> MatchOut:
    request = Request.of(
        asked.path, asked.method, asked.host, list(asked.headers.items()), asked.source
    )
    if isinstance(request, Refusal):
        return _refused(request)
    table = Table.of(routes, section.whitelists, gateway=asked.gateway or "")
    return _answer(request, explained(table, request, now_s, MOST_LOSERS))


def _refused(refusal: Refusal) -> MatchOut:
    return MatchOut(
        path=None,
        route=None,
        service="",
        status=refusal.status,
        reason=f"the path {refusal.reason}",
        host="",
        parameters={},
        next=None,
        losers=[],
        others=0,
        document=None,
    )


def _answer(request: Request, found: Explanation) -> MatchOut:
    route = found.match.route
    return MatchOut(
        path=request.path,
        route=None if route is None else route.id,
        service="" if route is None else route.service,
        status=_status(route),
        reason=found.match.reason,
        host=found.host,
        parameters=dict(found.match.parameters),
        next=None if found.next is None else found.next.id,
        losers=[_loser(one) for one in found.losers],
        others=found.others,
        document=None if route is None else plain_route(route),
    )


def _status(route: Route | None) -> int | None:
    if route is None:
        return NO_ROUTE_STATUS
    if route.response is not None:
        return route.response.status
    return None if route.redirect is None else route.redirect.status


def _loser(loser: Loser) -> LoserOut:
    return LoserOut(
        id=loser.route.id,
        why=loser.lost,
        unmet=list(loser.unmet),
        before="" if loser.before is None else loser.before,
    )
