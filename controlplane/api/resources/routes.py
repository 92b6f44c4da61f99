"""/v1/routes/{id}: single routes, written as drafts and taken through their lives.

Beside the section that gateways fetch (`config`). Each change is one of the fleet: audited, by
compare-and-set; If-Match names its generation.
"""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response

from controlplane.api.dependencies import ApiServices, Operator, Services, Viewer
from controlplane.api.edge.conditional import ExpectedGeneration, matches, tag
from controlplane.api.edge.large_documents import BYTES_OF_A_ROUTE, in_turn, text_of
from controlplane.api.edge.paging import MOST_ITEMS, Cursor, Limit, behind, cut, page_of
from controlplane.api.fleet_document.parsing import parse_route
from controlplane.api.route_write import Asked, RouteId
from controlplane.api.wire.fleet import BODY
from controlplane.api.wire.routes import (
    GrayIn,
    ReasonIn,
    RevisionOut,
    RollbackIn,
    RouteChangeOut,
    RouteOut,
    RouteTableOut,
    StepIn,
    TableRollbackIn,
    revision_of,
    route_of,
)
from controlplane.api.wire.values import Answers, Items, Reason
from controlplane.domain.routing.life.release import Life
from controlplane.engine.fleet.change import Wish

READ: Answers = {200: {"description": "The route"}, 304: {"description": "The caller has it"}}
NO_REASON = ReasonIn()
NEXT_STEP = StepIn()
BACK = RollbackIn()

router = APIRouter(prefix="/v1", tags=["routes"])


@router.get("/routes:list")
async def list_routes(
    services: Services,
    _caller: Viewer,
    life: Annotated[Life | None, Query(description="Only those that stand there.")] = None,
    contains: Annotated[
        str, Query(max_length=200, description="Only those with it in id, host, path or service.")
    ] = "",
    limit: Limit = MOST_ITEMS,
    cursor: Cursor = None,
) -> Items[RouteOut]:
    """Every route, drafts and retired ones too, by id."""
    routes = services.routes

    def work() -> Items[RouteOut]:
        living = (one for one in routes.items() if life is None or one.life is life)
        wanted = [one for one in living if one.mentions(contains)]
        page, after = page_of(wanted, lambda one: (one.id,), limit, cursor)
        return Items(items=[route_of(one, routes.verdict(one.id)) for one in page], next=after)

    # A page of the thousands takes longer than the loop may be held up.
    return await asyncio.to_thread(work)


@router.get("/routes:revisions")
async def list_all_revisions(
    services: Services, _caller: Viewer, limit: Limit = 100, cursor: Cursor = None
) -> Items[RevisionOut]:
    """Publications of all routes, the newest first."""
    return await _revisions(services, None, limit, cursor)


@router.post("/routes:rollback")
async def roll_table_back(
    response: Response,
    services: Services,
    caller: Operator,
    wanted: TableRollbackIn,
    generation: ExpectedGeneration = None,
) -> RouteTableOut:
    """Put all routes, whitelists and L4 routes back to those of a generation of the fleet."""
    wish = Wish(author=caller, reason=wanted.reason, expected_generation=generation)
    change = await services.routes.rollback_table(wanted.generation, wish, force=wanted.force)
    response.headers["ETag"] = tag(str(change.generation))
    return RouteTableOut(
        generation=change.generation, changes=[f"{c.kind} {c.subject}" for c in change.lines]
    )


@router.get("/routes/{route_id}", responses=READ, response_model=RouteOut)
async def read_route(
    response: Response,
    services: Services,
    _caller: Viewer,
    route_id: RouteId,
    if_none_match: Annotated[str | None, Header()] = None,
) -> RouteOut | Response:
    """One route with both of its forms; the tag is the fleet's generation, as for a change."""
    item = services.routes.existing(route_id)
    etag = tag(str(services.fleets.current.generation))
    # What a gray release waits for changes without a new generation.
    if item.life is not Life.GRAY and matches(if_none_match, etag):
        return Response(status_code=304, headers={"ETag": etag})
    response.headers["ETag"] = etag
    return route_of(item, services.routes.verdict(route_id))


@router.put("/routes/{route_id}", openapi_extra=BODY)
async def write_route(
    *,
    request: Request,
    services: Services,
    asked: Asked,
    publish: Annotated[bool, Query(description="Also put it in force for all traffic.")] = False,
    reason: Reason = "",
) -> RouteChangeOut:
    """Keep the document as a draft, or tell every error in it; what is in force stays."""
    body = await request.body()
    text, now_s, fleet = text_of(body), services.instruments.now(), services.fleets.current.fleet
    size_bytes = len(body) + len(fleet.routes) * BYTES_OF_A_ROUTE
    route = await in_turn(
        request, size_bytes, lambda: parse_route(text, asked.route_id, fleet, now_s)
    )
    keep = asked.life.write_and_publish if publish else asked.life.write
    return await asked.answer(reason, lambda wish: keep(route, wish))


@router.delete("/routes/{route_id}")
async def remove_route(asked: Asked, reason: Reason = "") -> RouteChangeOut:
    """Drop a draft or what is left of a retired route; retire a published one."""
    return await asked.answer(reason, lambda wish: asked.life.remove(asked.route_id, wish))


@router.get("/routes/{route_id}/revisions")
async def list_revisions(
    services: Services,
    _caller: Viewer,
    route_id: RouteId,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Items[RevisionOut]:
    """Publications of one route, the newest first."""
    return await _revisions(services, route_id, limit, cursor)


@router.post("/routes/{route_id}:publish")
async def publish_route(asked: Asked, word: ReasonIn = NO_REASON) -> RouteChangeOut:
    """Put a draft, gray or retired route in force for all traffic, if its checks hold."""
    return await asked.answer(word.reason, lambda wish: asked.life.publish(asked.route_id, wish))


@router.post("/routes/{route_id}:gray")
async def start_gray(asked: Asked, wanted: GrayIn) -> RouteChangeOut:
    """Put a draft in force for a part of the traffic, and more of it step by step."""
    gray = wanted.gray()
    return await asked.answer(
        wanted.reason, lambda wish: asked.life.start_gray(asked.route_id, gray, wish)
    )


@router.post("/routes/{route_id}:step")
async def step_gray(asked: Asked, wanted: StepIn = NEXT_STEP) -> RouteChangeOut:
    """Take a step of a gray release by hand, whatever its gate says."""
    return await asked.answer(
        wanted.reason, lambda wish: asked.life.step_gray(asked.route_id, wish, wanted.step)
    )


@router.post("/routes/{route_id}:stop")
async def stop_gray(asked: Asked, word: ReasonIn = NO_REASON) -> RouteChangeOut:
    """Give all traffic of a gray release back to the old route; the new one is a draft again."""
    return await asked.answer(word.reason, lambda wish: asked.life.stop_gray(asked.route_id, wish))


@router.post("/routes/{route_id}:retire")
async def retire_route(asked: Asked, word: ReasonIn = NO_REASON) -> RouteChangeOut:
    """Take a route away; its last form is kept and can be published again."""
    return await asked.answer(word.reason, lambda wish: asked.life.retire(asked.route_id, wish))


@router.post("/routes/{route_id}:rollback")
async def roll_route_back(asked: Asked, wanted: RollbackIn = BACK) -> RouteChangeOut:
    """Publish the exact form of an earlier revision."""
    return await asked.answer(
        wanted.reason, lambda wish: asked.life.rollback(asked.route_id, wish, wanted.revision)
    )


async def _revisions(
    services: ApiServices, route_id: str | None, limit: int, cursor: str | None
) -> Items[RevisionOut]:
    key = behind(cursor, (float,))
    before = None if key is None else int(key[0])
    found = await services.routes.revisions(route_id, limit + 1, before)
    page, after = cut(found, limit, lambda one: (float(one.number),))
    return Items(items=[revision_of(one) for one in page], next=after)
