"""/v1/changes: planned changes in stages, with gates, pause, and abort."""

from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response, status

from controlplane.api.dependencies import Operator, Services, Viewer
from controlplane.api.edge.conditional import ExpectedDigest, tag_of
from controlplane.api.edge.paging import MOST_ITEMS, Cursor, Limit, page_of
from controlplane.api.wire.changes import ChangeIn, ChangeOut, PaceWire, change_of
from controlplane.api.wire.orders import Done
from controlplane.api.wire.values import Items, Reason, Wire
from controlplane.domain.errors import Invalid
from controlplane.domain.operations.change_templates import STEPS, Pace, migration, upgrade
from controlplane.domain.operations.changes import Change, ChangeEvent, Stage, checked
from controlplane.engine.operations.items import Written
from controlplane.engine.publishing.shares import published_shares

router = APIRouter(prefix="/v1", tags=["changes"])

Name = Annotated[str, Path(max_length=63)]
Why = Annotated[str, Query(max_length=500, description="Why, for the audit log.")]


class Steering(StrEnum):
    """What an operator does with a change."""

    START = "start"
    ADVANCE = "advance"
    SKIP = "skip"
    PAUSE = "pause"
    RESUME = "resume"
    ABORT = "abort"


class ReasonIn(Wire):
    """Why, for the audit log."""

    reason: Reason = ""


@router.get("/changes")
async def list_changes(
    services: Services, _caller: Viewer, limit: Limit = MOST_ITEMS, cursor: Cursor = None
) -> Items[ChangeOut]:
    """All changes, the latest made first."""
    changes = services.operations.changes
    found = list(changes.items.all.values())
    page, after = page_of(found, lambda one: (-one.created_s, one.name), limit, cursor)
    return Items(items=[_change(services, one) for one in page], next=after)


@router.post("/changes:preview")
async def preview_change(services: Services, caller: Operator, wanted: ChangeIn) -> ChangeOut:
    """The stages that a body or its template would make; nothing is kept."""
    now_s = services.instruments.now()
    change = wanted.change("preview", caller.name, now_s, _stages(services, wanted))
    return change_of(checked(change), None)


@router.get("/changes/{name}")
async def read_change(
    services: Services, _caller: Viewer, name: Name, response: Response
) -> ChangeOut:
    """One change as it is now."""
    change = services.operations.changes.items.named(name)
    response.headers["ETag"] = tag_of(change)
    return _change(services, change)


@router.put("/changes/{name}", status_code=status.HTTP_201_CREATED)
async def plan_change(
    services: Services, caller: Operator, name: Name, wanted: ChangeIn
) -> ChangeOut:
    """Plan a change under a new name; it starts at its time, or when it is told to."""
    now_s = services.instruments.now()
    change = wanted.change(name, caller.name, now_s, _stages(services, wanted))
    written = Written(author=caller, reason=wanted.reason)
    return _change(services, await services.operations.changes.plan(change, written))


@router.post("/changes/{name}:{steering}")
async def steer_change(
    *, services: Services, caller: Operator, name: Name, steering: Steering, wanted: ReasonIn
) -> ChangeOut:
    """Start, advance past a gate, skip a refused order, pause, resume or abort.

    An abort undoes all that was made.
    """
    changes = services.operations.changes
    event = ChangeEvent(steering.value)
    return _change(services, await changes.steer(name, event, caller, wanted.reason))


@router.delete("/changes/{name}")
async def remove_change(
    services: Services,
    caller: Operator,
    name: Name,
    reason: Why = "",
    expected: ExpectedDigest = None,
) -> Done:
    """Forget a change that has not begun, or is over; its intents stay as they are."""
    written = Written(author=caller, reason=reason, expected=expected)
    await services.operations.changes.remove(name, written)
    return Done()


def _stages(services: Services, wanted: ChangeIn) -> tuple[Stage, ...]:
    """The stages that are given, or those of one template."""
    given = [bool(wanted.stages), wanted.upgrade is not None, wanted.migration is not None]
    if sum(given) != 1:
        raise Invalid("change_invalid", "give stages, or an upgrade, or a migration: one of them")
    if wanted.upgrade is not None:
        one = wanted.upgrade
        return upgrade(one.datacenters, one.services, _pace(wanted.pace))
    if wanted.migration is not None:
        move = (wanted.migration.from_datacenter, wanted.migration.to_datacenter)
        shares = published_shares(services.publication.current)
        steps = wanted.migration.steps or STEPS
        return migration(shares, move, steps, _pace(wanted.pace))
    times = services.intents.times
    return tuple(one.stage(times) for one in wanted.stages)


def _pace(pace: PaceWire) -> Pace:
    return Pace(
        hold_s=pace.hold_s,
        over_s=pace.over_s,
        return_s=pace.return_s,
        gate=pace.gate.gate(),
    )


def _change(services: Services, change: Change) -> ChangeOut:
    return change_of(change, services.operations.changes.verdicts.get(change.name))
