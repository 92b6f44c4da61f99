"""GET /v1/decisions: what was decided, from which curve, and why."""

from typing import Annotated

from fastapi import APIRouter, Query

from controlplane.api.dependencies import Services, Viewer
from controlplane.api.wire import DecisionOut, DecisionSummary, Items, decision_of, summary_of

router = APIRouter(prefix="/v1", tags=["decisions"])


@router.get("/decisions")
async def list_decisions(
    services: Services,
    _caller: Viewer,
    service: Annotated[str | None, Query(max_length=64)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> Items[DecisionSummary]:
    """The newest decisions first, of one service or of all."""
    found = await services.decisions.recent(service, limit)
    return Items(items=[summary_of(decision) for decision in found])


@router.get("/decisions/{decision_id}")
async def read_decision(services: Services, _caller: Viewer, decision_id: str) -> DecisionOut:
    """One decision with its curve, notes and samples."""
    return decision_of(await services.decisions.by_id(decision_id))
