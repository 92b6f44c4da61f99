"""GET /v1/decisions: what was decided, from which curve, and why."""

from typing import Annotated

from fastapi import APIRouter, Query

from controlplane.api.dependencies import Services, Viewer
from controlplane.api.edge.paging import Cursor, Limit, cut, moment
from controlplane.api.wire.decisions import (
    DecisionOut,
    DecisionSummary,
    decision_of,
    summary_of,
)
from controlplane.api.wire.values import Items

router = APIRouter(prefix="/v1", tags=["decisions"])


@router.get("/decisions")
async def list_decisions(
    services: Services,
    _caller: Viewer,
    service: Annotated[str | None, Query(max_length=64)] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Items[DecisionSummary]:
    """The newest decisions first, of one service or of all."""
    found = await services.decisions.recent(service, limit + 1, moment(cursor))
    page, after = cut(found, limit, lambda decision: (decision.time_s, decision.id))
    return Items(items=[summary_of(decision) for decision in page], next=after)


@router.get("/decisions/{decision_id}")
async def read_decision(services: Services, _caller: Viewer, decision_id: str) -> DecisionOut:
    """One decision with its curve, notes and samples."""
    return decision_of(await services.decision(decision_id))
