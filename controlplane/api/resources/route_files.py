"""POST /v1/routes:import and GET /v1/routes:export: routes from and to files of other formats.

A bad item is a finding in the answer and is left out; the rest is imported. The change itself is
one of the fleet: guarded, audited, and by compare-and-set on the generation that was read.
"""

import asyncio
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response

from controlplane.api.dependencies import ApiServices, Operator, Services, Viewer
from controlplane.api.edge.conditional import ExpectedGeneration, tag
from controlplane.api.edge.large_documents import BYTES_OF_A_ROUTE, in_turn
from controlplane.api.fleet_document.findings import as_plain
from controlplane.api.route_documents.formats import MEDIA_TYPES, RouteFormat, read, write
from controlplane.api.route_documents.imports import Imported, ImportWish
from controlplane.api.route_documents.merging import Merged, merged
from controlplane.api.route_documents.omissions import Exported, Omission
from controlplane.api.route_documents.wishes import channel_of, checked, declared_in
from controlplane.api.wire.fleet import ChangeOut, DryRun, Force, HeldOut, changes_of, held_of
from controlplane.api.wire.routes import ConflictOut, conflict_of
from controlplane.api.wire.values import Answers, Reason, Wire, sendable
from controlplane.domain.errors import Invalid
from controlplane.domain.topology import Fleet
from controlplane.engine.fleet.fleets import FleetChange

TEXT: dict[str, dict[str, object]] = {
    media_type: {} for media_type in ("application/json", "application/yaml", "text/csv")
}
BODY = {"requestBody": {"required": True, "content": TEXT}}
EXPORTED: Answers = {200: {"content": TEXT, "description": "The file, or JSON with its notes"}}

router = APIRouter(prefix="/v1", tags=["routes"])

Format = Annotated[RouteFormat, Query(alias="format", description="How the file is written.")]
Words = Annotated[list[str] | None, Query(max_length=100)]


class LeftOutOut(Wire):
    """What is wrong with an item that was left out; lines and columns count from 1."""

    line: int
    column: int
    path: str
    pointer: str
    found: str
    allowed: str
    message: str


class NoteOut(Wire):
    """What imported items lost; `count` of them lost the same, the first stands at the place."""

    line: int
    column: int
    path: str
    message: str
    count: int


class RouteImportOut(Wire):
    """What was imported, or would be.

    `imported` counts routes; `held` names those that stay as they were, because a check would fail;
    `conflicts` are the first hundred that an imported route is part of. `finding_count` may be more
    than the first hundred findings.
    """

    generation: int
    dry_run: bool
    objection: str
    imported: int
    whitelists: list[str]
    changes: list[ChangeOut]
    held: list[HeldOut]
    conflicts: list[ConflictOut]
    finding_count: int
    findings: list[LeftOutOut]
    notes: list[NoteOut]


class OmissionOut(Wire):
    """What the file does not say of a route or whitelist; `left_out` when it is not there."""

    subject: str
    left_out: bool
    message: str


class RouteExportOut(Wire):
    """The file as text, and what it does not say."""

    format: RouteFormat
    media_type: str
    document: str
    notes: list[OmissionOut]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Upload:
    """A file with what was asked of it."""

    content: str
    form: RouteFormat
    wish: ImportWish


@router.post("/routes:import", openapi_extra=BODY)
async def import_routes(
    *,
    request: Request,
    response: Response,
    services: Services,
    caller: Operator,
    form: Format,
    service: Annotated[str, Query(description="Of routes whose file names none.")] = "",
    host: Words = None,
    gateway: Words = None,
    whitelist: Annotated[bool, Query(description="Also refuse what is not listed.")] = False,
    channel: Words = None,
    collection: Annotated[str, Query(description="Under which the routes come again.")] = "",
    dry_run: DryRun = False,
    force: Force = False,
    reason: Reason = "",
    expected: ExpectedGeneration = None,
) -> RouteImportOut:
    """Add the routes of a file to the fleet, or replace those of the same ids."""
    current = services.fleets.current
    wish = checked(
        ImportWish(
            declared=declared_in(current.fleet),
            service=service,
            hosts=tuple(sorted(set(host or ()))),
            gateways=tuple(sorted(set(gateway or ()))),
            whitelist=whitelist,
            channel=channel_of(channel or ()),
            collection=collection,
        )
    )
    upload = _Upload(content=await _content(request), form=form, wish=wish)
    imported, merge = await _merged(request, upload, current.fleet, services)
    generation = current.generation if expected is None else expected
    if dry_run:
        change = await services.fleets.plan(merge.fleet, generation)
    else:
        change = await services.fleets.apply(
            merge.fleet, caller, reason, expected_generation=generation, force=force
        )
        response.headers["ETag"] = tag(str(change.generation))
    return _told(change, imported, merge, dry_run=dry_run)


@router.get("/routes:export", responses=EXPORTED, response_model=RouteExportOut)
async def export_routes(
    services: Services,
    _caller: Viewer,
    form: Format,
    service: Annotated[str, Query(description="Only routes to this service.")] = "",
    host: Annotated[str, Query(description="Only routes of this host.")] = "",
    accept: Annotated[str, Header()] = "application/json",
) -> RouteExportOut | Response:
    """The declared routes as a file; as the bare file when its media type is asked for."""
    fleet = services.fleets.current.fleet
    exported = await asyncio.to_thread(_exported, fleet, form, service, host)
    media_type = MEDIA_TYPES[form]
    if media_type in accept:
        return Response(exported.text, media_type=media_type)
    return RouteExportOut(
        format=form,
        media_type=media_type,
        document=exported.text,
        notes=[
            OmissionOut(subject=note.subject, left_out=note.left_out, message=note.message)
            for note in exported.notes
        ],
    )


async def _content(request: Request) -> str:
    body = await request.body()
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise Invalid(
            "route_file_unreadable", f"byte {error.start} of the file is not UTF-8; save it so"
        ) from error


async def _merged(
    request: Request, upload: _Upload, fleet: Fleet, services: ApiServices
) -> tuple[Imported, Merged]:
    now_s = services.instruments.now()

    def work() -> tuple[Imported, Merged]:
        imported = read(upload.content, upload.form, upload.wish, now_s)
        return imported, merged(fleet, imported, upload.wish.collection)

    size_bytes = len(upload.content) + len(fleet.routes) * BYTES_OF_A_ROUTE
    return await in_turn(request, size_bytes, work)


def _told(
    change: FleetChange, imported: Imported, merge: Merged, *, dry_run: bool
) -> RouteImportOut:
    held = {one.route for one in change.held}
    findings = sorted(imported.findings.kept, key=lambda f: (f.line, f.column, f.path))
    return RouteImportOut(
        generation=change.generation,
        dry_run=dry_run,
        objection=change.objection,
        imported=sum(draft.route.id not in held for draft in merge.taken),
        whitelists=[whitelist.id for whitelist in merge.whitelists],
        changes=changes_of(change),
        held=held_of(change),
        conflicts=[conflict_of(one) for one in merge.conflicts],
        finding_count=imported.findings.count,
        findings=[LeftOutOut.model_validate(_sendable(as_plain(one))) for one in findings],
        notes=[
            NoteOut(
                line=note.line,
                column=note.column,
                path=sendable(note.path),
                message=sendable(note.message),
                count=note.count,
            )
            for note in imported.notes.all
        ],
    )


def _sendable(plain: dict[str, object]) -> dict[str, object]:
    return {key: sendable(one) if isinstance(one, str) else one for key, one in plain.items()}


def _exported(fleet: Fleet, form: RouteFormat, service: str, host: str) -> Exported:
    chosen = [
        route
        for route in fleet.routes
        if service in ("", route.service) and (not host or host in route.hosts)
    ]
    exported = write(chosen, form, fleet)
    others = [f"whitelist/{one.id}" for one in fleet.whitelists if not host or host in one.hosts]
    others += [f"l4_route/{one.id}" for one in fleet.l4_routes if service in ("", one.service)]
    notes = [
        Omission(subject=subject, left_out=True, message=f"{form} has routes only: it is left out")
        for subject in others
    ]
    return Exported(text=exported.text, notes=(*exported.notes, *notes))
