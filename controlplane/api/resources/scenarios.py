"""/v1/scenarios: named sets of intents, forecast, applied and undone as one."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response, status
from pydantic import Field

from controlplane.api.dependencies import Operator, Services, Viewer
from controlplane.api.edge.conditional import ExpectedDigest, tag_of
from controlplane.api.edge.idempotency import Repeatable
from controlplane.api.edge.paging import MOST_ITEMS, Cursor, Limit, page_of
from controlplane.api.wire.intents import ForecastOut, IntentIn, forecast_of
from controlplane.api.wire.orders import Done, Titled, order_in, order_out
from controlplane.api.wire.values import Items, Reason, Wire, stamp, stamp_or_none
from controlplane.domain.operations.scenarios import Scenario, ScenarioRun, checked
from controlplane.engine.operations.items import Written

router = APIRouter(prefix="/v1", tags=["scenarios"])

Name = Annotated[str, Path(max_length=63)]
RunName = Annotated[str, Path(max_length=100)]
Why = Annotated[str, Query(max_length=500, description="Why, for the audit log.")]


class ScenarioIn(Wire):
    """A set; its intents end `lasts_s` after it was applied, null is never."""

    title: Titled = ""
    orders: Annotated[list[IntentIn], Field(min_length=1, max_length=50)]
    lasts_s: float | None = None
    reason: Reason = ""


class ScenarioOut(Wire):
    """A set as it is kept."""

    name: str
    title: str
    orders: list[IntentIn]
    lasts_s: float | None


class ReasonIn(Wire):
    """Why, for the audit log."""

    reason: Reason = ""


class RunOut(Wire):
    """A scenario that was applied; `standing` are its intents that are still in force."""

    name: str
    scenario: str
    author: str
    reason: str
    applied: datetime
    undone: datetime | None
    intents: list[str]
    standing: list[str]


class StepOut(Wire):
    """What one order would do, those before it being done."""

    order: IntentIn
    forecast: ForecastOut


@router.get("/scenarios")
async def list_scenarios(
    services: Services, _caller: Viewer, limit: Limit = MOST_ITEMS, cursor: Cursor = None
) -> Items[ScenarioOut]:
    """What is prepared, by name."""
    found = list(services.operations.scenarios.items.all.values())
    page, after = page_of(found, lambda one: (one.name,), limit, cursor)
    return Items(items=[_scenario(one) for one in page], next=after)


@router.get("/scenarios:runs")
async def list_runs(
    services: Services, _caller: Viewer, limit: Limit = 100, cursor: Cursor = None
) -> Items[RunOut]:
    """What was applied, the latest first."""
    runs = services.operations.scenarios.runs
    page, after = page_of(runs, lambda one: (-one.applied_s, one.name), limit, cursor)
    return Items(items=[_run(services, one) for one in page], next=after)


@router.post("/scenarios:runs/{run}:undo")
async def undo_run(services: Services, caller: Operator, run: RunName, wanted: ReasonIn) -> RunOut:
    """Take back all intents of a run that still stand, the newest first."""
    undone = await services.operations.scenarios.undo(run, caller, wanted.reason)
    return _run(services, undone)


@router.get("/scenarios/{name}")
async def read_scenario(
    services: Services, _caller: Viewer, name: Name, response: Response
) -> ScenarioOut:
    """One scenario; its ETag is for If-Match."""
    scenario = services.operations.scenarios.items.named(name)
    response.headers["ETag"] = tag_of(scenario)
    return _scenario(scenario)


@router.put("/scenarios/{name}")
async def write_scenario(
    *,
    services: Services,
    caller: Operator,
    name: Name,
    wanted: ScenarioIn,
    response: Response,
    expected: ExpectedDigest = None,
) -> ScenarioOut:
    """Prepare a scenario, or change it."""
    times = services.intents.times
    scenario = checked(
        Scenario(
            name=name,
            title=wanted.title or name,
            orders=tuple(order_in(one, times) for one in wanted.orders),
            lasts_s=wanted.lasts_s,
        )
    )
    written = Written(author=caller, reason=wanted.reason, expected=expected)
    await services.operations.scenarios.items.put(scenario, written)
    response.headers["ETag"] = tag_of(scenario)
    return _scenario(scenario)


@router.delete("/scenarios/{name}")
async def remove_scenario(
    services: Services,
    caller: Operator,
    name: Name,
    reason: Why = "",
    expected: ExpectedDigest = None,
) -> Done:
    """Remove a scenario; what was applied of it stays."""
    written = Written(author=caller, reason=reason, expected=expected)
    await services.operations.scenarios.items.remove(name, written)
    return Done()


@router.post("/scenarios/{name}:forecast")
async def forecast_scenario(services: Services, caller: Operator, name: Name) -> Items[StepOut]:
    """Tell what each of its intents would do, one after the other; nothing is changed."""
    found = await services.operations.scenarios.forecast(name, caller)
    return Items(
        items=[
            StepOut(order=order_out(order), forecast=forecast_of(made, objection))
            for order, (made, objection) in found
        ]
    )


@router.post("/scenarios/{name}:apply", status_code=status.HTTP_201_CREATED)
async def apply_scenario(
    services: Services, caller: Operator, name: Name, wanted: ReasonIn, write: Repeatable
) -> RunOut:
    """Make all of its intents, or none."""
    scenarios = services.operations.scenarios
    run = await write.once(caller, lambda: scenarios.apply(name, caller, wanted.reason))
    return _run(services, run)


def _scenario(scenario: Scenario) -> ScenarioOut:
    return ScenarioOut(
        name=scenario.name,
        title=scenario.title,
        orders=[order_out(one) for one in scenario.orders],
        lasts_s=scenario.lasts_s,
    )


def _run(services: Services, run: ScenarioRun) -> RunOut:
    return RunOut(
        name=run.name,
        scenario=run.scenario,
        author=run.author,
        reason=run.reason,
        applied=stamp(run.applied_s),
        undone=stamp_or_none(run.undone_s),
        intents=list(run.intents),
        standing=services.operations.scenarios.standing(run),
    )
