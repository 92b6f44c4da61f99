"""GET /v1/findings: what is wrong with which item, what was held, and how to force it."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Query

from controlplane.api.dependencies import Services, Viewer
from controlplane.api.wire import Items, Wire, stamp, stamp_or_none
from controlplane.domain.findings import Finding, Severity, Source

router = APIRouter(prefix="/v1", tags=["findings"])


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


@router.get("/findings")
async def list_findings(
    services: Services,
    _caller: Viewer,
    state: FindingState = FindingState.STANDING,
    source: Source | None = None,
    subject: Annotated[
        str, Query(max_length=200, description="A word of the subject: `service/shop`.")
    ] = "",
) -> Items[FindingOut]:
    """What stands now, by source and subject; what was over lately, the latest first."""
    found: list[Finding] = []
    if state is not FindingState.CLEARED:
        found += services.findings.standing()
    if state is not FindingState.STANDING:
        found += services.findings.cleared()
    return Items(items=[finding_of(one) for one in found if _wanted(one, source, subject)])


@router.get("/findings/{finding_id}")
async def read_finding(services: Services, _caller: Viewer, finding_id: str) -> FindingOut:
    """One finding, also one that was over lately."""
    return finding_of(services.findings.by_id(finding_id))


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
        force=what.force,
        standing=finding.standing,
        since=stamp(finding.since_s),
        seen=stamp(finding.seen_s),
        reports=finding.reports,
        cleared=stamp_or_none(finding.cleared_s),
    )


def _wanted(finding: Finding, source: Source | None, subject: str) -> bool:
    by_source = source is None or finding.source is source
    return by_source and (not subject or subject in finding.observation.subject.split())
