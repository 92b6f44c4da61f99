"""/v1/intents: failover, drain, restore, pin, freeze, presets, rollback; asked, shown, undone.

A dry run answers what would happen. The tag of the list is the number of the newest change, and
If-Match names it: of two operators who act on the same list one wins, the other hears what changed.
"""

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Path, Query, Response, status

from controlplane.api.dependencies import Operator, Services, Viewer
from controlplane.api.edge.conditional import number_of, tag
from controlplane.api.edge.idempotency import Repeatable
from controlplane.api.edge.paging import MOST_ITEMS, Cursor, Limit, behind, cut
from controlplane.api.wire.intents import (
    ForecastOut,
    IntentIn,
    IntentOut,
    UndoIn,
    forecast_of,
    intent_of,
)
from controlplane.api.wire.values import Items
from controlplane.engine.intents.intents import Ask

router = APIRouter(prefix="/v1", tags=["intents"])

IntentId = Annotated[str, Path(max_length=64)]
PLAIN_UNDO = UndoIn()


def _expected(
    if_match: Annotated[
        str | None, Header(description="The newest change of the list that was read.")
    ] = None,
) -> int | None:
    return number_of(if_match, "GET /v1/intents")


Expected = Annotated[int | None, Depends(_expected)]


@router.get("/intents")
async def list_intents(
    *,
    response: Response,
    services: Services,
    _caller: Viewer,
    standing: Annotated[bool, Query(description="Only those that have not ended.")] = False,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Items[IntentOut]:
    """Intents, the latest made first."""
    intents = services.intents
    response.headers["ETag"] = tag(str(intents.change))
    key = behind(cursor, (float,))
    before = None if key is None else int(key[0])
    if standing:
        found = [one for one in reversed(intents.standing) if before is None or one.number < before]
    else:
        found = await intents.recent(min(limit, MOST_ITEMS) + 1, before)
    page, after = cut(found, limit, lambda one: (float(one.number),))
    # What has ended is in force nowhere; asking all gateways about it would tell nothing.
    return Items(
        items=[intent_of(one, await intents.progress(one) if one.standing else ()) for one in page],
        next=after,
    )


@router.post("/intents", status_code=status.HTTP_201_CREATED)
async def create_intent(
    *,
    response: Response,
    services: Services,
    caller: Operator,
    wanted: IntentIn,
    write: Repeatable,
    expected: Expected = None,
) -> IntentOut:
    """Make an intent; it is published at once, ahead of every decision."""
    intents = services.intents
    asked = wanted.wanted(services.instruments.now(), intents.times)
    ask = Ask(wanted=asked, author=caller.name, expected=expected)
    intent = await write.once(caller, lambda: intents.create(ask))
    response.headers["Location"] = f"/v1/intents/{intent.id}"
    response.headers["ETag"] = tag(str(intents.change))
    return intent_of(intent, await intents.progress(intent))


@router.post("/intents:dryRun")
async def forecast_intent(services: Services, caller: Operator, wanted: IntentIn) -> ForecastOut:
    """Tell what an intent would do and whether it would be refused; nothing is changed."""
    asked = wanted.wanted(services.instruments.now(), services.intents.times)
    made, objection = await services.intents.dry_run(Ask(wanted=asked, author=caller.name))
    return forecast_of(made, objection)


@router.get("/intents/{intent_id}")
async def read_intent(services: Services, _caller: Viewer, intent_id: IntentId) -> IntentOut:
    """One intent, with how far it is on each data plane."""
    intent = await services.intents.by_id(intent_id)
    return intent_of(intent, await services.intents.progress(intent))


@router.post("/intents/{intent_id}:undo")
async def undo_intent(
    *,
    response: Response,
    services: Services,
    caller: Operator,
    intent_id: IntentId,
    word: UndoIn = PLAIN_UNDO,
    expected: Expected = None,
) -> IntentOut:
    """Take an intent back; what is published then is what it would be without it."""
    intents = services.intents
    intent = await intents.undo(
        intent_id, caller.name, word.reason, expected=expected, return_s=word.return_s
    )
    response.headers["ETag"] = tag(str(intents.change))
    return intent_of(intent, await intents.progress(intent))
