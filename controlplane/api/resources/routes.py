"""/v1/routes/{id}: single routes, written as drafts and taken through their lives.

Beside the section that gateways fetch (`config`). Each change is one of the fleet: audited, by
compare-and-set; If-Match names its generation.
"""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response

from controlplane.api.conditional import tag
from controlplane.api.dependencies import ApiServices, Operator, Services, Viewer
from controlplane.api.fleet_document.parsing import parse_route
from controlplane.api.paging import MOST_ITEMS, Cursor, Limit, behind, cut, page_of
from controlplane.api.resources.fleet import JSON, YAML, generation_of, text_of
from controlplane.api.route_wire import (
    GrayIn,
    ReasonIn,
    RevisionOut,
    RollbackIn,
    RouteChangeOut,
    RouteOut,
    RouteTableOut,
    StepIn,
    TableRollbackIn,
    change_of,
    revision_of,
    route_of,
)
from controlplane.api.wire import Items, Reason
from controlplane.domain.errors import NotFound
from controlplane.domain.routing.life.release import Life
from controlplane.engine.fleets import FleetChange
from controlplane.engine.route_life import Wish

BODY = {"requestBody": {"required": True, "content": {YAML: {}, JSON: {}}}}

router = APIRouter(prefix="/v1", tags=["routes"])

Id = Annotated[
    str,
    Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$", description="The route's id."),
]
IfMatch = Annotated[
    str | None, Header(description="The fleet's generation that was read.", alias="If-Match")
]
NO_REASON = ReasonIn()
NEXT_STEP = StepIn()
BACK = RollbackIn()


def _generation(if_match: IfMatch = None) -> int | None:
    return generation_of(if_match)


Generation = Annotated[int | None, Depends(_generation)]


@router.get("/routes:list")
async def list_routes(
    services: Services,
    _caller: Viewer,
    life: Annotated[Life | None, Query(description="Only those that stand there.")] = None,
    limit: Limit = MOST_ITEMS,
    cursor: Cursor = None,
) -> Items[RouteOut]:
    """Every route, drafts and retired ones too, by id."""
    wanted = [one for one in services.routes.items() if life is None or one.life is life]
    page, after = page_of(wanted, lambda one: (one.id,), limit, cursor)
    found = [route_of(one, services.routes.verdict(one.id)) for one in page]
    return Items(items=found, next=after)


@router.get("/routes:revisions")
async def list_all_revisions(
    services: Services, _caller: Viewer, limit: Limit = 100, cursor: Cursor = None
) -> Items[RevisionOut]:
    """Publications of all routes, the newest first."""
    return await _revisions(services, None, limit, cursor)


@router.post("/routes:rollback")
async def roll_table_back(
    services: Services, caller: Operator, wanted: TableRollbackIn, generation: Generation = None
) -> RouteTableOut:
    """Put all routes, whitelists and L4 routes back to those of a generation of the fleet."""
    wish = Wish(author=caller, reason=wanted.reason, expected_generation=generation)
    change = await services.routes.rollback_table(wanted.generation, wish, force=wanted.force)
    return RouteTableOut(
        generation=change.generation, changes=[f"{c.kind} {c.subject}" for c in change.lines]
    )


@router.get("/routes/{route_id}")
async def read_route(services: Services, _caller: Viewer, route_id: Id) -> RouteOut:
    """One route with both of its forms."""
    item = services.routes.item(route_id)
    if item.life is Life.NEW:
        raise NotFound(
            "route_not_found", f"there is no route {route_id}: see signalbox routes list"
        )
    return route_of(item, services.routes.verdict(route_id))


@router.put("/routes/{route_id}", openapi_extra=BODY)
async def write_route(
    *,
    request: Request,
    response: Response,
    services: Services,
    caller: Operator,
    route_id: Id,
    publish: Annotated[bool, Query(description="Also put it in force for all traffic.")] = False,
    reason: Reason = "",
    generation: Generation = None,
) -> RouteChangeOut:
    """Keep the document as a draft, or tell every error in it; what is in force stays."""
    text = text_of(await request.body())
    now_s = services.instruments.now()
    fleet = services.fleets.current.fleet
    route = await asyncio.to_thread(parse_route, text, route_id, fleet, now_s)
    wish = Wish(author=caller, reason=reason, expected_generation=generation)
    change = await services.routes.write(route, wish)
    if publish and services.routes.item(route_id).life is not Life.FULL:
        on_top = Wish(author=caller, reason=reason, expected_generation=change.generation)
        change = await services.routes.publish(route_id, on_top)
    return await _changed(services, response, change, route_id)


@router.delete("/routes/{route_id}")
async def remove_route(
    *,
    response: Response,
    services: Services,
    caller: Operator,
    route_id: Id,
    reason: Reason = "",
    generation: Generation = None,
) -> RouteChangeOut:
    """Drop a draft or what is left of a retired route; retire a published one."""
    wish = Wish(author=caller, reason=reason, expected_generation=generation)
    if services.routes.item(route_id).life in (Life.DRAFT, Life.RETIRED):
        change = await services.routes.discard(route_id, wish)
    else:
        change = await services.routes.retire(route_id, wish)
    return await _changed(services, response, change, route_id)


@router.get("/routes/{route_id}/revisions")
async def list_revisions(
    services: Services, _caller: Viewer, route_id: Id, limit: Limit = 100, cursor: Cursor = None
) -> Items[RevisionOut]:
    """Publications of one route, the newest first."""
    return await _revisions(services, route_id, limit, cursor)


@router.post("/routes/{route_id}:publish")
async def publish_route(
    *,
    response: Response,
    services: Services,
    caller: Operator,
    route_id: Id,
    word: ReasonIn = NO_REASON,
    generation: Generation = None,
) -> RouteChangeOut:
    """Put a draft, gray or retired route in force for all traffic, if its checks hold."""
    wish = Wish(author=caller, reason=word.reason, expected_generation=generation)
    change = await services.routes.publish(route_id, wish)
    return await _changed(services, response, change, route_id)


@router.post("/routes/{route_id}:gray")
async def start_gray(
    *,
    response: Response,
    services: Services,
    caller: Operator,
    route_id: Id,
    wanted: GrayIn,
    generation: Generation = None,
) -> RouteChangeOut:
    """Put a draft in force for a part of the traffic, and more of it step by step."""
    wish = Wish(author=caller, reason=wanted.reason, expected_generation=generation)
    change = await services.routes.start_gray(route_id, wanted.gray(), wish)
    return await _changed(services, response, change, route_id)


@router.post("/routes/{route_id}:step")
async def step_gray(
    *,
    response: Response,
    services: Services,
    caller: Operator,
    route_id: Id,
    wanted: StepIn = NEXT_STEP,
    generation: Generation = None,
) -> RouteChangeOut:
    """Take a step of a gray release by hand, whatever its gate says."""
    wish = Wish(author=caller, reason=wanted.reason, expected_generation=generation)
    change = await services.routes.step_gray(route_id, wish, wanted.step)
    return await _changed(services, response, change, route_id)


@router.post("/routes/{route_id}:stop")
async def stop_gray(
    *,
    response: Response,
    services: Services,
    caller: Operator,
    route_id: Id,
    word: ReasonIn = NO_REASON,
    generation: Generation = None,
) -> RouteChangeOut:
    """Give all traffic of a gray release back to the old route; the new one is a draft again."""
    wish = Wish(author=caller, reason=word.reason, expected_generation=generation)
    change = await services.routes.stop_gray(route_id, wish)
    return await _changed(services, response, change, route_id)


@router.post("/routes/{route_id}:retire")
async def retire_route(
    *,
    response: Response,
    services: Services,
    caller: Operator,
    route_id: Id,
    word: ReasonIn = NO_REASON,
    generation: Generation = None,
) -> RouteChangeOut:
    """Take a route away; its last form is kept and can be published again."""
    wish = Wish(author=caller, reason=word.reason, expected_generation=generation)
    change = await services.routes.retire(route_id, wish)
    return await _changed(services, response, change, route_id)


@router.post("/routes/{route_id}:rollback")
async def roll_route_back(
    *,
    response: Response,
    services: Services,
    caller: Operator,
    route_id: Id,
    wanted: RollbackIn = BACK,
    generation: Generation = None,
) -> RouteChangeOut:
    """Publish the exact form of an earlier revision."""
    wish = Wish(author=caller, reason=wanted.reason, expected_generation=generation)
    change = await services.routes.rollback(route_id, wish, wanted.revision)
    return await _changed(services, response, change, route_id)


async def _changed(
    services: ApiServices, response: Response, change: FleetChange, route_id: str
) -> RouteChangeOut:
    response.headers["ETag"] = tag(str(change.generation))
    routes = services.routes
    conflicts = await asyncio.to_thread(routes.conflicts, route_id)
    return change_of(change, conflicts, routes.item(route_id), routes.verdict(route_id))


async def _revisions(
    services: ApiServices, route_id: str | None, limit: int, cursor: str | None
) -> Items[RevisionOut]:
    key = behind(cursor, (float,))
    before = None if key is None else int(key[0])
    found = await services.routes.revisions(route_id, limit + 1, before)
    page, after = cut(found, limit, lambda one: (float(one.number),))
    return Items(items=[revision_of(one) for one in page], next=after)
