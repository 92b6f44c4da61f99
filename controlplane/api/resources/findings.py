"""/v1/findings: what is wrong with which item, what was held, and how to force it."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import Field

from controlplane.api.dependencies import Operator, Services, Viewer
from controlplane.api.edge.paging import MOST_ITEMS, Cursor, Key, Limit, page_of
from controlplane.api.wire.values import LAST_S, Items, Text, Wire, stamp, stamp_or_none
from controlplane.domain.findings import Finding, Severity, Source
from controlplane.domain.suspicion.doubt import ID

router = APIRouter(prefix="/v1", tags=["findings"])

Id = Annotated[str, Path(max_length=64)]


class FindingState(StrEnum):
    """Which findings a list shows."""

    STANDING = "standing"
    CLEARED = "cleared"
    ALL = "all"


class FindingOut(Wire):
    """One finding. `held` is what stays as it was; `force` is how to have it all the same."""

    id: str
    source: Source
    code: str
    subject: str
    severity: Severity
    message: str
    held: str
    force: str
    standing: bool
    since: datetime
    seen: datetime
    reports: int
    cleared: datetime | None


class ForceIn(Wire):
    """Why the finding is wrong, for the audit log."""

    reason: Annotated[Text, Field(min_length=1, max_length=500)]


@router.get("/findings")
async def list_findings(
    services: Services,
    _caller: Viewer,
    state: FindingState = FindingState.STANDING,
    source: Source | None = None,
    subject: Annotated[
        str, Query(max_length=200, description="A word of the subject: `service/shop`.")
    ] = "",
    limit: Limit = MOST_ITEMS,
    cursor: Cursor = None,
) -> Items[FindingOut]:
    """What stands now, by source and subject; what was over lately, the latest first."""
    found: list[Finding] = []
    if state is not FindingState.CLEARED:
        found += services.findings.standing()
    if state is not FindingState.STANDING:
        found += services.findings.cleared()
    wanted = [one for one in found if _wanted(one, source, subject)]
    page, after = page_of(wanted, _order, limit, cursor)
    return Items(items=[finding_of(one) for one in page], next=after)


@router.get("/findings/{finding_id}")
async def read_finding(services: Services, _caller: Viewer, finding_id: Id) -> FindingOut:
    """One finding, also one that was over lately."""
    return finding_of(services.findings.by_id(finding_id))


@router.post("/findings/{finding_id}:force")
async def force_finding(
    services: Services, caller: Operator, finding_id: Id, word: ForceIn
) -> FindingOut:
    """Take for true what is held because of it, until it is over or for an hour; audited."""
    return finding_of(await services.forcing.force(finding_id, caller, word.reason))


def finding_of(finding: Finding) -> FindingOut:
    """A finding on the wire."""
    what = finding.observation
    return FindingOut(
        id=finding.id,
        source=finding.source,
        code=what.code,
        subject=what.subject,
        severity=what.severity,
        message=what.message,
        held=what.held,
        force=what.force.replace(f"force {ID}", f"force {finding.id}"),
        standing=finding.standing,
        since=stamp(finding.since_s),
        seen=stamp(finding.seen_s),
        reports=finding.reports,
        cleared=stamp_or_none(finding.cleared_s),
    )


def _order(finding: Finding) -> Key:
    """What stands by source and subject, then what was over, the latest first."""
    what = finding.observation
    over_s = 0.0 if finding.cleared_s is None else finding.cleared_s
    return (-over_s or -LAST_S, finding.source.value, what.subject, what.code, finding.id)


def _wanted(finding: Finding, source: Source | None, subject: str) -> bool:
    by_source = source is None or finding.source is source
    return by_source and (not subject or subject in finding.observation.subject.split())
