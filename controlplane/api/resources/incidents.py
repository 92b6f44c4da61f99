"""/v1/incidents: from when to when something was wrong, and what happened meanwhile.

The timeline is JSON, or Markdown with `Accept: text/markdown`.
"""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response, status
from fastapi.responses import PlainTextResponse
from pydantic import Field

from controlplane.api.dependencies import Operator, Services, Viewer
from controlplane.api.edge.paging import Cursor, Limit, page_of
from controlplane.api.wire.values import Items, Reason, Text, Wire, stamp, stamp_or_none
from controlplane.domain.operations.incidents import Incident
from controlplane.domain.operations.timeline import Entry, EntryKind
from controlplane.domain.operations.timeline_export import markdown

router = APIRouter(prefix="/v1", tags=["incidents"])

Name = Annotated[str, Path(max_length=64)]
MARKDOWN = "text/markdown"


class IncidentIn(Wire):
    """An incident that a person opens."""

    title: Annotated[Text, Field(min_length=1, max_length=200)]


class NoteIn(Wire):
    """A line for the timeline."""

    note: Annotated[Text, Field(min_length=1, max_length=2_000)]


class ReasonIn(Wire):
    """Why, for the audit log."""

    reason: Reason = ""


class IncidentOut(Wire):
    """One incident; `closed` is null while it is open."""

    name: str
    title: str
    author: str
    by_hand: bool
    opened: datetime
    closed: datetime | None


class EntryOut(Wire):
    """One thing that happened: when, where, by whom."""

    time: datetime
    kind: EntryKind
    subject: str
    who: str
    what: str


class TimelineOut(Wire):
    """All that happened; `cut` when there was more than is shown."""

    incident: IncidentOut
    cut: bool
    entries: list[EntryOut]


@router.get("/incidents")
async def list_incidents(
    services: Services, _caller: Viewer, limit: Limit = 100, cursor: Cursor = None
) -> Items[IncidentOut]:
    """All incidents, the latest first."""
    found = services.operations.incidents.all
    page, after = page_of(found, lambda one: (-one.opened_s, one.name), limit, cursor)
    return Items(items=[_incident(one) for one in page], next=after)


@router.post("/incidents", status_code=status.HTTP_201_CREATED)
async def open_incident(services: Services, caller: Operator, wanted: IncidentIn) -> IncidentOut:
    """Open an incident by hand; it stays open until a person closes it."""
    return _incident(await services.operations.incidents.begin(wanted.title, caller))


@router.get("/incidents/{name}")
async def read_incident(services: Services, _caller: Viewer, name: Name) -> IncidentOut:
    """One incident."""
    return _incident(services.operations.incidents.named(name))


@router.get(
    "/incidents/{name}/timeline",
    response_model=TimelineOut,
    responses={200: {"content": {MARKDOWN: {"schema": {"type": "string"}}}}},
)
async def read_timeline(
    services: Services, _caller: Viewer, name: Name, request: Request
) -> TimelineOut | Response:
    """What happened, who did what, what changed where."""
    found = await services.operations.incidents.timeline(name)
    if MARKDOWN in request.headers.get("accept", ""):
        text = markdown(found.incident, found.entries, _when)
        return PlainTextResponse(text, media_type=MARKDOWN)
    return TimelineOut(
        incident=_incident(found.incident),
        cut=found.cut,
        entries=[_entry(one) for one in found.entries],
    )


@router.post("/incidents/{name}:note")
async def note_on_incident(
    services: Services, caller: Operator, name: Name, wanted: NoteIn
) -> IncidentOut:
    """Write a line into the timeline, as of now."""
    services.operations.incidents.note(name, wanted.note, caller)
    return _incident(services.operations.incidents.named(name))


@router.post("/incidents/{name}:close")
async def close_incident(
    services: Services, caller: Operator, name: Name, wanted: ReasonIn
) -> IncidentOut:
    """Close an incident; one that opened by itself closes when nothing is wrong any more."""
    return _incident(await services.operations.incidents.close(name, caller, wanted.reason))


def _incident(incident: Incident) -> IncidentOut:
    return IncidentOut(
        name=incident.name,
        title=incident.title,
        author=incident.author,
        by_hand=incident.by_hand,
        opened=stamp(incident.opened_s),
        closed=stamp_or_none(incident.closed_s),
    )


def _entry(entry: Entry) -> EntryOut:
    return EntryOut(
        time=stamp(entry.time_s),
        kind=entry.kind,
        subject=entry.subject,
        who=entry.who,
        what=entry.what,
    )


def _when(time_s: float) -> str:
    return stamp(time_s).isoformat(timespec="milliseconds").replace("+00:00", "Z")
