"""GET /v1/audit: who wrote what, when and why."""

from datetime import datetime

from fastapi import APIRouter

from controlplane.api.dependencies import Admin, Services
from controlplane.api.edge.paging import Cursor, Limit, behind, cut
from controlplane.api.wire.values import Items, Wire, stamp

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
    services: Services, _caller: Admin, limit: Limit = 100, cursor: Cursor = None
) -> Items[AuditOut]:
    """The newest writes first."""
    last = behind(cursor, (float,))
    found = await services.audit.recent(limit + 1, None if last is None else int(last[0]))
    page, after = cut(found, limit, lambda entry: (float(entry.number),))
    return Items(
        next=after,
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
            for entry in page
        ],
    )
