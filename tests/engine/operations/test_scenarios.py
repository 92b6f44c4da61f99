"""Scenarios: applied and undone as one."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field, replace

import pytest

from controlplane.domain.errors import Conflict, NotFound, Refused, Retryable
from controlplane.domain.intents.intent import Ending, IntentKind, Target, Wanted
from controlplane.domain.operations.scenarios import Scenario, ScenarioRun
from controlplane.engine.operations import scenarios
from controlplane.engine.operations.items import Items, Kind, Written, shown
from controlplane.engine.operations.scenarios import ScenarioParts, Scenarios
from controlplane.engine.stages import Instruments
from tests.builders import OPERATOR
from tests.engine.operations.desk import MemoryDesk
from tests.engine.rig import Clock
from tests.fakes.operations import memory_operations
from tests.fakes.stores import MemoryStores

FLOOD = Scenario(
    name="flood",
    title="East is flooded",
    orders=(
        Wanted(kind=IntentKind.FAILOVER, target=Target(datacenter="east")),
        Wanted(kind=IntentKind.FREEZE),
    ),
    lasts_s=600.0,
)
SCENARIO: Kind[Scenario] = Kind(word="scenario", name_of=lambda one: one.name, shown=shown)
RUN: Kind[ScenarioRun] = Kind(word="scenario-run", name_of=lambda one: one.name, shown=shown)


@dataclass(slots=True)
class Site:
    clock: Clock = field(default_factory=Clock)
    stores: MemoryStores = field(default_factory=MemoryStores)
    desk: MemoryDesk = field(init=False)
    scenarios: Scenarios = field(init=False)

    instruments: Instruments = field(init=False)

    def __post_init__(self) -> None:
        instruments = self.instruments = Instruments(now=self.clock.now)
        kept = memory_operations(self.stores.audit, self.stores.outage)
        self.desk = MemoryDesk(self.clock)
        self.scenarios = Scenarios(
            ScenarioParts(
                scenarios=Items(SCENARIO, kept.scenarios, instruments),
                runs=Items(RUN, kept.runs, instruments),
                intents=self.desk,
                audit=self.stores.audit,
            ),
            instruments,
        )

    @property
    def actions(self) -> list[str]:
        return [one.action for one in self.stores.audit.entries]


@pytest.fixture
async def site() -> Site:
    made = Site()
    await made.scenarios.items.put(FLOOD, Written(author=OPERATOR))
    return made


async def test_all_of_it_is_applied_and_undone_newest_first(site: Site) -> None:
    run = await site.scenarios.apply("flood", OPERATOR, "pumps")
    assert run.intents == ("failover-1", "freeze-2")
    assert site.scenarios.standing(run) == ["failover-1", "freeze-2"]
    assert all(w.expires_s == site.clock.now() + 600.0 for w, _, _ in site.desk.orders)
    undone = await site.scenarios.undo(run.name, OPERATOR, "dry")
    assert site.desk.undone == ["freeze-2", "failover-1"]
    assert undone.undone_s == site.clock.now()
    assert site.actions == ["scenario.put", "scenario.apply", "scenario.undo"]
    with pytest.raises(Conflict, match="undone already"):
        await site.scenarios.undo(run.name, OPERATOR, "")


async def test_a_refused_part_takes_back_what_was_done(site: Site) -> None:
    site.desk.refusals = [None, Refused("no_room", "no room")]
    with pytest.raises(Refused, match="no room"):
        await site.scenarios.apply("flood", OPERATOR, "")
    assert site.desk.undone == ["failover-1"]
    assert not site.scenarios.runs


async def test_it_is_applied_once_at_a_time(site: Site) -> None:
    run = await site.scenarios.apply("flood", OPERATOR, "")
    with pytest.raises(Conflict, match=run.name):
        await site.scenarios.apply("flood", OPERATOR, "")
    for name in run.intents:
        site.desk.end(name, Ending.EXPIRED)
    site.clock.time_s += 1.0
    again = await site.scenarios.apply("flood", OPERATOR, "")
    assert [one.name for one in site.scenarios.runs] == [again.name, run.name]
    # What has expired is left alone.
    await site.scenarios.undo(run.name, OPERATOR, "")
    assert not site.desk.undone


async def test_what_somebody_else_takes_back_meanwhile_is_as_good(site: Site) -> None:
    run = await site.scenarios.apply("flood", OPERATOR, "")
    site.desk.refusals = [Conflict("intent_state", "ended")]
    await site.scenarios.undo(run.name, OPERATOR, "")
    assert site.desk.undone == ["failover-1"]


async def test_a_store_that_is_away_leaves_it_to_be_undone_again(site: Site) -> None:
    run = await site.scenarios.apply("flood", OPERATOR, "")
    site.desk.refusals = [None, Retryable("store_unavailable", "away")]
    with pytest.raises(Retryable):
        await site.scenarios.undo(run.name, OPERATOR, "")
    await site.scenarios.undo(run.name, OPERATOR, "")
    assert site.desk.undone == ["freeze-2", "failover-1"]


async def test_there_must_be_one(site: Site) -> None:
    with pytest.raises(NotFound):
        await site.scenarios.apply("fire", OPERATOR, "")


async def test_old_runs_go(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scenarios, "RUNS_KEPT", 1)
    first = await site.scenarios.apply("flood", OPERATOR, "")
    await site.scenarios.undo(first.name, OPERATOR, "")
    site.clock.time_s += 1.0
    second = await site.scenarios.apply("flood", OPERATOR, "")
    assert [one.name for one in site.scenarios.runs] == [second.name]
    assert replace(second, intents=()).scenario == "flood"


async def test_a_forecast_takes_each_after_those_before(site: Site) -> None:
    found = await site.scenarios.forecast("flood", OPERATOR)
    assert [order.kind for order, _ in found] == [IntentKind.FAILOVER, IntentKind.FREEZE]
    assert [len(beside) for _, beside in site.desk.forecasts] == [0, 1]
    assert not site.desk.intents


async def test_intents_that_a_dead_process_could_not_note_are_found(site: Site) -> None:
    run = await site.scenarios.apply("flood", OPERATOR, "")
    # As it stands when the process dies between the intents and their note.
    await site.scenarios._parts.runs.keep(replace(run, intents=()))
    (found,) = site.scenarios.runs
    assert site.scenarios.standing(found) == ["failover-1", "freeze-2"]
    site.scenarios.look()
    (told,) = site.instruments.findings.standing()
    assert told.observation.code == "scenario_cut_off"
    assert f"scenarios undo {run.name}" in told.observation.message
    await site.scenarios.undo(run.name, OPERATOR, "")
    assert site.desk.undone == ["freeze-2", "failover-1"]
    site.scenarios.look()
    assert site.instruments.findings.standing() == []


async def test_a_run_that_is_being_made_is_not_cut_off(site: Site) -> None:
    run = await site.scenarios.apply("flood", OPERATOR, "")
    site.scenarios.look()
    assert site.instruments.findings.standing() == []
    await site.scenarios._parts.runs.keep(replace(run, intents=()))
    async with site.scenarios._acting:
        site.scenarios.look()
    assert site.instruments.findings.standing() == []


async def test_it_looks_until_it_is_stopped(site: Site) -> None:
    task = asyncio.create_task(site.scenarios.run())
    await asyncio.sleep(0)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
