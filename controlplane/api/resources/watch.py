"""GET /v1/watch: snapshots and decisions as they happen, as server-sent events."""

from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse

from controlplane.api.dependencies import ConfigReader, Secret, Services
from controlplane.api.edge.sse import MEDIA_TYPE, Watch
from controlplane.api.wire.decisions import summary_of
from controlplane.api.wire.values import Answers
from controlplane.domain.access import Permission, allowed
from controlplane.domain.decisions import Decision

HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
ANSWER: Answers = {
    200: {"content": {MEDIA_TYPE: {}}, "description": "Events until the caller leaves"}
}

router = APIRouter(prefix="/v1", tags=["watch"])


class Topic(StrEnum):
    """What can be followed."""

    SNAPSHOT = "snapshot"
    DECISION = "decision"


@router.get("/watch", responses=ANSWER, response_class=StreamingResponse)
async def watch(
    services: Services,
    caller: ConfigReader,
    secret: Secret,
    events: Annotated[
        str, Query(max_length=40, description="`snapshot`, or `snapshot,decision`.")
    ] = "snapshot,decision",
    last_event_id: Annotated[
        str | None, Header(description="The revision that the caller has.")
    ] = None,
) -> StreamingResponse:
    """Follow the newest state; decisions only for roles that may read them.

    A reader that is slow misses what is in between and gets the newest.
    """
    wants_decisions = Topic.DECISION in events.split(",") and allowed(caller.role, Permission.READ)
    stream = Watch(
        publication=services.publication,
        decisions=(lambda: services.loop.decisions) if wants_decisions else None,
        summary=_summary,
        allowed=lambda: services.access.check(secret, Permission.READ_CONFIG),
        revision=_revision(last_event_id),
    )
    return StreamingResponse(stream.events(), media_type=MEDIA_TYPE, headers=HEADERS)


def _summary(decision: Decision) -> object:
    return summary_of(decision).model_dump(mode="json")


def _revision(last_event_id: str | None) -> int:
    known = last_event_id or ""
    return int(known) if known.isascii() and known.isdigit() and len(known) < 19 else 0
