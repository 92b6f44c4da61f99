"""GET and PUT /v1/fleet: what is declared, as a document that can be changed and put back."""

import asyncio
from typing import Annotated

import orjson
from fastapi import APIRouter, Header, Request, Response

from controlplane.api.dependencies import Operator, Services, Viewer
from controlplane.api.edge.conditional import ExpectedGeneration, matches, tag
from controlplane.api.edge.large_documents import in_turn, text_of
from controlplane.api.fleet_document.parsing import parse
from controlplane.api.fleet_document.rendering import document, render
from controlplane.api.wire.fleet import (
    BODY,
    DOCUMENT,
    JSON,
    YAML,
    ChangeOut,
    DryRun,
    Force,
    HeldOut,
    changes_of,
    held_of,
)
from controlplane.api.wire.values import Answers, Reason, Wire
from controlplane.domain.topology import Fleet

ANSWER: Answers = {200: {"content": DOCUMENT, "description": "The fleet document"}}

router = APIRouter(prefix="/v1", tags=["fleet"])


class FleetChangeOut(Wire):
    """What was changed, or would be; `generation` is the one after it.

    `objection` says why a change that is only told would be refused unless forced; `held` names
    routes that stay as they were, because a check would fail, each with its reason.
    """

    generation: int
    dry_run: bool
    objection: str
    changes: list[ChangeOut]
    held: list[HeldOut]


@router.get("/fleet", responses=ANSWER, response_class=Response)
async def read_fleet(
    services: Services,
    _caller: Viewer,
    accept: Annotated[str, Header()] = JSON,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """The fleet in force: YAML when asked for, else JSON; the tag is its generation."""
    current = services.fleets.current
    headers = {"ETag": tag(str(current.generation)), "Vary": "Accept"}
    if matches(if_none_match, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    if "yaml" in accept:
        text = await asyncio.to_thread(render, current.fleet)
        return Response(text, media_type=YAML, headers=headers)
    body = await asyncio.to_thread(lambda: orjson.dumps(document(current.fleet)))
    return Response(body, media_type=JSON, headers=headers)


@router.put("/fleet", openapi_extra=BODY)
async def replace_fleet(
    *,
    request: Request,
    response: Response,
    services: Services,
    caller: Operator,
    dry_run: DryRun = False,
    force: Force = False,
    reason: Reason = "",
    generation: ExpectedGeneration = None,
) -> FleetChangeOut:
    """Make the document the fleet in force, or tell every error in it."""
    fleet = await _fleet(request, services.instruments.now())
    if dry_run:
        change = await services.fleets.plan(fleet, generation)
    else:
        change = await services.fleets.apply(
            fleet, caller, reason, expected_generation=generation, force=force
        )
        response.headers["ETag"] = tag(str(change.generation))
    return FleetChangeOut(
        generation=change.generation,
        dry_run=dry_run,
        objection=change.objection,
        changes=changes_of(change),
        held=held_of(change),
    )


async def _fleet(request: Request, now_s: float) -> Fleet:
    body = await request.body()
    text = text_of(body)
    return await in_turn(request, len(body), lambda: parse(text, now_s))
