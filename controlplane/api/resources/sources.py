"""GET /v1/sources: the declared metric sources and how their last round ended."""

from datetime import datetime

from fastapi import APIRouter

from controlplane.api.dependencies import Services, Viewer
from controlplane.api.edge.paging import MOST_ITEMS, Cursor, Limit, page_of
from controlplane.api.wire.values import Items, Wire, stamp_or_none
from controlplane.engine.samples.pull import Pull, PullOutcome

router = APIRouter(prefix="/v1", tags=["sources"])


class SourceOut(Wire):
    """A metric source. What is wrong with it is in /v1/findings?source=metric-source.

    `samples` were taken in the last round, `asked`; `answered` is the last round that gave one.
    """

    name: str
    kind: str
    url: str
    period_s: float
    readings: list[str]
    outcome: PullOutcome
    samples: int
    asked: datetime | None
    answered: datetime | None


@router.get("/sources")
async def list_sources(
    services: Services, _caller: Viewer, limit: Limit = MOST_ITEMS, cursor: Cursor = None
) -> Items[SourceOut]:
    """Declared sources, by name."""
    pulls = tuple(services.puller.pulls.items())
    page, after = page_of(pulls, lambda pull: (pull[0],), limit, cursor)
    return Items(items=[_source(services.puller.kind, pull) for _, pull in page], next=after)


def _source(kind: str, pull: Pull) -> SourceOut:
    declared = pull.declared
    return SourceOut(
        name=declared.name,
        kind=kind,
        url=declared.url,
        period_s=pull.period_s,
        readings=[reading for reading, _ in declared.queries],
        outcome=pull.outcome,
        samples=pull.samples,
        asked=stamp_or_none(pull.asked_s),
        answered=stamp_or_none(pull.answered_s),
    )
