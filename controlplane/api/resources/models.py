"""GET and POST /v1/models, and promotion: which trained model decides for a service."""

from datetime import datetime
from typing import Annotated

import orjson
from fastapi import APIRouter, Path, Query, Request, status
from pydantic import Field

from controlplane.api.dependencies import ModelKeeper, Services, Viewer
from controlplane.api.edge.idempotency import Repeatable
from controlplane.api.edge.paging import MOST_ITEMS, Cursor, Limit, page_of
from controlplane.api.wire.values import Items, Reason, Text, Wire, stamp
from controlplane.domain.errors import NotFound
from controlplane.ports.learning import StoredModel

BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string"}}},
    }
}

router = APIRouter(prefix="/v1", tags=["models"])


class ModelOut(Wire):
    """A registered model; `description` is what training wrote about it."""

    digest: str
    service: str
    created: datetime
    aliases: list[str]
    description: dict[str, object]


class PromotionIn(Wire):
    """Which service the model shall decide for; `force` also when its examination failed."""

    service: Annotated[Text, Field(max_length=64)]
    reason: Reason = ""
    force: bool = False


@router.get("/models")
async def list_models(
    services: Services,
    _caller: Viewer,
    service: Annotated[str | None, Query(max_length=64)] = None,
    limit: Limit = MOST_ITEMS,
    cursor: Cursor = None,
) -> Items[ModelOut]:
    """Registered models, newest first."""
    stored = await services.models.all(service)
    page, after = page_of(stored, lambda one: (-one.created_s, one.digest), limit, cursor)
    return Items(items=[model_of(one) for one in page], next=after)


@router.post("/models", status_code=status.HTTP_201_CREATED, openapi_extra=BODY)
async def register_model(
    *,
    request: Request,
    services: Services,
    caller: ModelKeeper,
    write: Repeatable,
    reason: Reason = "",
) -> ModelOut:
    """Register an artifact as challenger; it decides nothing until it has proved itself in the
    shadow, or is promoted by hand. One whose examination failed does not come into the shadow."""
    artifact = await request.body()
    return model_of(
        await write.once(caller, lambda: services.models.enroll(artifact, caller, reason))
    )


@router.post("/models/{digest}:promote")
async def promote_model(
    services: Services,
    caller: ModelKeeper,
    digest: Annotated[str, Path(max_length=128)],
    wanted: PromotionIn,
) -> ModelOut:
    """Put a registered model in service, from the next cycle on."""
    await services.models.promote(wanted.service, digest, caller, wanted.reason, force=wanted.force)
    for stored in await services.models.all(wanted.service):
        if stored.digest == digest:
            return model_of(stored)
    raise NotFound("model_not_found", f"service {wanted.service} has no model {digest}")


def model_of(stored: StoredModel) -> ModelOut:
    """A registered model on the wire."""
    description = orjson.loads(stored.description or "{}")
    return ModelOut(
        digest=stored.digest,
        service=stored.service,
        created=stamp(stored.created_s),
        aliases=list(stored.aliases),
        description=description if isinstance(description, dict) else {},
    )
