"""GET and PUT /v1/fleet: what is declared, as a document that can be changed and put back."""

import asyncio
from typing import Annotated

import orjson
from fastapi import APIRouter, Header, Query, Request, Response

from controlplane.api.conditional import matches, tag
from controlplane.api.dependencies import Operator, Services, Viewer
from controlplane.api.fleet_document.parsing import parse
from controlplane.api.fleet_document.rendering import document, render
from controlplane.api.wire import Answers, Reason, Wire
from controlplane.domain.errors import Invalid
from controlplane.domain.topology import Fleet

YAML = "application/yaml"
JSON = "application/json"
ANSWER: Answers = {200: {"content": {YAML: {}, JSON: {}}, "description": "The fleet document"}}
# Read in some 10 ms; what is larger leaves the event loop.
SMALL_BYTES = 5_000
BODY = {"requestBody": {"required": True, "content": {YAML: {}, JSON: {}}}}

router = APIRouter(prefix="/v1", tags=["fleet"])


class ChangeOut(Wire):
    """One item of a difference; before and after are canonical JSON, "" when absent."""

    kind: str
    subject: str
    before: str
    after: str


class HeldOut(Wire):
    """A change of one route that is not made."""

    route: str
    reason: str


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
    dry_run: Annotated[bool, Query(description="Only tell what would change.")] = False,
    force: Annotated[
        bool, Query(description="Also when much is removed or moved; audited.")
    ] = False,
    reason: Reason = "",
    if_match: Annotated[str | None, Header(description="The generation that was read.")] = None,
) -> FleetChangeOut:
    """Make the document the fleet in force, or tell every error in it."""
    fleet = await _fleet(request, services.instruments.now())
    expected = generation_of(if_match)
    if dry_run:
        change = await services.fleets.plan(fleet, expected)
    else:
        change = await services.fleets.apply(
            fleet, caller, reason, expected_generation=expected, force=force
        )
        response.headers["ETag"] = tag(str(change.generation))
    return FleetChangeOut(
        generation=change.generation,
        dry_run=dry_run,
        objection=change.objection,
        changes=[
            ChangeOut(kind=line.kind, subject=line.subject, before=line.before, after=line.after)
            for line in change.lines
        ],
        held=[HeldOut(route=one.route, reason=one.reason) for one in change.held],
    )


async def _fleet(request: Request, now_s: float) -> Fleet:
    body = await request.body()
    text = text_of(body)
    if len(body) <= SMALL_BYTES:
        return parse(text, now_s)
    # One large document at a time, so that memory stays bounded whoever sends them.
    reading: asyncio.Semaphore = request.app.state.fleet_reading
    async with reading:
        return await asyncio.to_thread(parse, text, now_s)


def text_of(body: bytes) -> str:
    """The text of a document that was sent."""
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise Invalid(
            "fleet_unreadable", f"byte {error.start} of the document is not UTF-8; save it as UTF-8"
        ) from error


def generation_of(if_match: str | None) -> int | None:
    """The generation that If-Match names; None without the header or with `*`."""
    if if_match is None or if_match.strip() == "*":
        return None
    named = if_match.strip().removeprefix("W/").strip('"')
    if not (named.isascii() and named.isdigit() and len(named) < 19):
        raise Invalid(
            "if_match_invalid",
            f"If-Match is {if_match[:80]!r}; give the ETag that GET /v1/fleet answered",
        )
    return int(named)
