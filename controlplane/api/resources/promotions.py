"""GET /v1/services/{name}/promotions, and the rollback: who put which model in service, and why."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query

from controlplane.api.dependencies import ModelKeeper, Services, Viewer
from controlplane.api.resources.models import ModelOut, model_of
from controlplane.api.wire.values import Items, Reason, Wire, stamp
from controlplane.domain.errors import NotFound
from controlplane.domain.promotions import PromotionEvent

router = APIRouter(prefix="/v1", tags=["models"])

Name = Annotated[str, Path(max_length=64)]


class PromotionOut(Wire):
    """One step of the log; `before` is the champion before it, "" without one."""

    time: datetime
    event: PromotionEvent
    model: str
    before: str
    author: str
    reason: str


class RollbackIn(Wire):
    """Why, for both logs."""

    reason: Reason = ""


@router.get("/services/{name}/promotions")
async def list_promotions(
    services: Services,
    _caller: Viewer,
    name: Name,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> Items[PromotionOut]:
    """The promotion log of a service, newest first."""
    return Items(
        items=[
            PromotionOut(
                time=stamp(step.time_s),
                event=step.event,
                model=step.model,
                before=step.before,
                author=step.author,
                reason=step.reason,
            )
            for step in await services.models.promotions(name, limit)
        ]
    )


@router.post("/services/{name}/models:rollback")
async def roll_back_model(
    services: Services, caller: ModelKeeper, name: Name, wanted: RollbackIn | None = None
) -> ModelOut:
    """Put the champion before the present one back in service, from the next cycle on."""
    reason = "" if wanted is None else wanted.reason
    digest = await services.models.roll_back(name, caller, reason)
    for stored in await services.models.all(name):
        if stored.digest == digest:
            return model_of(stored)
    raise NotFound("model_not_found", f"service {name} has no model {digest}")
