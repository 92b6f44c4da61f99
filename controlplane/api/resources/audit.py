"""GET /v1/audit: who wrote what, when and why."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query

from controlplane.api.dependencies import Admin, Services
from controlplane.api.wire import Items, Wire, stamp

router = APIRouter(prefix="/v1", tags=["audit"])


class AuditOut(Wire):
    """One write."""

    time: datetime
    author: str
    action: str
    subject: str
    reason: str
    before: str
    after: str


@router.get("/audit")
async def list_audit(
    services: Services, _caller: Admin, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> Items[AuditOut]:
    """The newest writes first."""
    return Items(
        items=[
            AuditOut(
                time=stamp(entry.time_s),
                author=entry.author,
                action=entry.action,
                subject=entry.subject,
                reason=entry.reason,
                before=entry.before,
                after=entry.after,
            )
            for entry in await services.audit.recent(limit)
        ]
    )
