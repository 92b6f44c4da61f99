"""Planned changes move, hold, pause, and are taken back."""

from dataclasses import dataclass, field, replace

import pytest

from controlplane.domain.errors import Conflict, Invalid, Refused, Retryable
from controlplane.domain.intents.intent import IntentKind, Target, Wanted
from controlplane.domain.operations.change_gates import Gate
from controlplane.domain.operations.changes import (
    Change,
    ChangeEvent,
    ChangeState,
    OnExcess,
    Stage,
)
from controlplane.engine.operations.change_metrics import ChangeSources
from controlplane.engine.operations.changes import ChangeParts, Changes
from controlplane.engine.operations.items import Items, Kind, Written, shown
from controlplane.engine.publishing.couriers import DeliveryState, DeliveryStatus
from controlplane.ports.operations import OperationStores
from tests.builders import OPERATOR, fleet, sample
from tests.engine.operations.desk import MemoryDesk
from tests.engine.rig import Rig
from tests.fakes.operations import memory_operations

BY = Written(author=OPERATOR)
KIND: Kind[Change] = Kind(word="change", name_of=lambda one: one.name, shown=shown)


def pin(share: float) -> Wanted:
    return Wanted(
        kind=IntentKind.PIN,
        target=Target(service="tickets"),
        shares=(("beijing-1", 1 - share), ("beijing-2", share)),
    )


CHANGE = Change(
    name="move",
    title="Move tickets",
    stages=(
        Stage(title="half", orders=(pin(0.5),), hold_s=10.0, gate=Gate(most_utilization=0.9)),
        Stage(title="look", hold_s=None),
        Stage(title="all", orders=(pin(0.9),), undoes=(0,), hold_s=0.0),
    ),
    author="operator",
    created_s=0.0,
)


@dataclass(slots=True)
class FakeCourier:
    status: DeliveryStatus = field(
        default_factory=lambda: DeliveryStatus(
            plane="envoy", state=DeliveryState.IN_FORCE, revision=99
        )
    )


@dataclass(slots=True)
class Site:
    rig: Rig = field(default_factory=Rig)
    desk: MemoryDesk = field(init=False)
    courier: FakeCourier = field(default_factory=FakeCourier)
    kept: OperationStores = field(init=False)
    changes: Changes = field(init=False)

    def __post_init__(self) -> None:
        self.desk = MemoryDesk(self.rig.clock)
        self.kept = memory_operations(self.rig.stores.audit, self.rig.stores.outage)
        self.start()

    def start(self) -> None:
        sources = ChangeSources(
            fleets=self.rig.fleets,
            publication=self.rig.publication,
            couriers=(self.courier,),  # type: ignore[arg-type]
            window=self.rig.intake.window,
            period_s=1.0,
            fresh_s=30.0,
        )
        self.changes = Changes(
            ChangeParts(
                changes=Items(KIND, self.kept.changes, self.rig.instruments),
                intents=self.desk,
                audit=self.rig.stores.audit,
                sources=sources,
            ),
            self.rig.instruments,
        )

    def now(self) -> Change:
        return self.changes.items.named("move")

    async def pass_time(self, seconds: float, load_rps: float | None = 20.0) -> None:
        self.rig.clock.time_s += seconds
        if load_rps is not None:
            for center in ("beijing-1", "beijing-2"):
                one = sample(center, self.rig.clock.now(), request_rate_rps=load_rps)
                receipt = await self.rig.intake.accept([one])
                assert receipt.accepted == 1, receipt
            await self.rig.intake.flush()
        await self.changes.look()

    @property
    def codes(self) -> list[str]:
        standing = self.rig.instruments.findings.standing()
        return [one.observation.code for one in standing if one.source == "changes"]


@pytest.fixture
async def site() -> Site:
    made = Site()
    await made.rig.fleets.apply(fleet(), OPERATOR)
    await made.rig.tick()
    await made.changes.plan(CHANGE, BY)
    return made


async def test_a_change_goes_from_stage_to_stage(site: Site) -> None:
    await site.changes.look()
    assert site.now().state is ChangeState.PLANNED
    await site.changes.steer("move", ChangeEvent.START, OPERATOR, "now")
    assert site.desk.standing == ["pin-1"]
    await site.pass_time(5.0)
    assert site.changes.verdicts["move"].reason == "the stage lasts at least 10 s"
    await site.pass_time(6.0)
    assert site.now().stage == 1
    await site.pass_time(500.0)
    assert site.now().stage == 1
    await site.changes.steer("move", ChangeEvent.ADVANCE, OPERATOR)
    assert site.desk.standing == ["pin-4"]
    await site.changes.look()
    assert site.now().state is ChangeState.DONE
    assert site.changes.ended == {ChangeState.DONE: 1}
    assert site.desk.standing == ["pin-4"]
    actions = [one.action for one in site.rig.stores.audit.entries if "change" in one.action]
    assert actions == [
        "change.put",
        "change.start",
        "change.advance",
        "change.advance",
        "change.finish",
    ]


async def test_it_begins_at_its_time(site: Site) -> None:
    later = replace(CHANGE, name="later", starts_s=site.rig.clock.now() + 60.0)
    await site.changes.plan(later, BY)
    await site.pass_time(59.0)
    assert site.changes.items.named("later").state is ChangeState.PLANNED
    await site.pass_time(1.0)
    assert site.changes.items.named("later").state is ChangeState.RUNNING


async def test_an_abort_takes_back_all_that_stands(site: Site) -> None:
    await site.changes.steer("move", ChangeEvent.START, OPERATOR)
    aborted = await site.changes.steer("move", ChangeEvent.ABORT, OPERATOR, "wrong day")
    assert aborted.state is ChangeState.ABORTED
    assert not site.desk.standing
    with pytest.raises(Conflict):
        await site.changes.steer("move", ChangeEvent.RESUME, OPERATOR)


async def test_a_gate_pauses_or_aborts(site: Site) -> None:
    await site.changes.steer("move", ChangeEvent.START, OPERATOR)
    await site.pass_time(2.0, load_rps=79.0)
    assert site.now().state is ChangeState.PAUSED
    assert "utilization" in site.now().words
    assert site.codes == ["change_held"]
    await site.changes.steer("move", ChangeEvent.RESUME, OPERATOR)
    assert site.now().state is ChangeState.PAUSED
    await site.changes.steer("move", ChangeEvent.ABORT, OPERATOR)
    await site.changes.look()
    assert not site.codes
    strict = replace(CHANGE, name="strict", on_excess=OnExcess.ABORT)
    await site.changes.plan(strict, BY)
    await site.changes.steer("strict", ChangeEvent.START, OPERATOR)
    await site.pass_time(2.0, load_rps=79.0)
    await site.changes.look()
    assert site.changes.items.named("strict").state is ChangeState.ABORTED
    assert not site.desk.standing


async def test_without_metrics_it_holds_and_says_so(site: Site) -> None:
    await site.changes.steer("move", ChangeEvent.START, OPERATOR)
    await site.pass_time(11.0, load_rps=None)
    assert not site.codes
    await site.pass_time(30.0, load_rps=None)
    assert site.now().stage == 0
    assert site.codes == ["change_held"]


async def test_what_no_plane_runs_yet_is_waited_for(site: Site) -> None:
    site.courier.status = replace(site.courier.status, revision=0)
    await site.changes.steer("move", ChangeEvent.START, OPERATOR)
    await site.pass_time(11.0)
    assert "envoy does not run" in site.changes.verdicts["move"].reason
    site.desk.intents["pin-1"] = replace(site.desk.intents["pin-1"], published=0)
    await site.changes.look()
    assert "not published" in site.changes.verdicts["move"].reason


async def test_a_refused_order_pauses_it(site: Site) -> None:
    site.desk.refusals = [Refused("no_room", "no room")]
    await site.changes.steer("move", ChangeEvent.START, OPERATOR)
    assert (site.now().state, site.now().words) == (ChangeState.PAUSED, "no room")
    # Resumed, it goes on with what is left of its stage.
    await site.changes.steer("move", ChangeEvent.RESUME, OPERATOR)
    assert site.desk.standing == ["pin-1"]


async def test_after_a_refused_order_only_a_skip_goes_on_without_it(site: Site) -> None:
    site.desk.refusals = [Refused("no_room", "no room")]
    await site.changes.steer("move", ChangeEvent.START, OPERATOR)
    with pytest.raises(Conflict, match=r"its stage 0 \(half\): no room; resume"):
        await site.changes.steer("move", ChangeEvent.ADVANCE, OPERATOR)
    assert (site.now().state, site.now().stage) == (ChangeState.PAUSED, 0)
    await site.changes.look()
    (found,) = site.rig.instruments.findings.standing()
    assert found.observation.force == "signalbox changes resume move"
    assert "look, then resume, skip or abort it" in found.observation.message
    await site.changes.steer("move", ChangeEvent.SKIP, OPERATOR)
    assert (site.now().state, site.now().stage) == (ChangeState.RUNNING, 1)
    assert site.desk.standing == []


async def test_a_store_that_is_away_is_waited_for(site: Site) -> None:
    site.desk.refusals = [Retryable("store_unavailable", "away")]
    with pytest.raises(Retryable):
        await site.changes.steer("move", ChangeEvent.START, OPERATOR)
    site.desk.refusals = [Retryable("store_unavailable", "away")]
    await site.changes.look()
    assert site.changes.verdicts["move"].reason == "away"
    await site.changes.look()
    assert site.desk.standing == ["pin-1"]


async def test_a_restart_goes_on_and_orders_nothing_twice(site: Site) -> None:
    await site.changes.steer("move", ChangeEvent.START, OPERATOR)
    # As if the process had died before it could store which intent it made.
    await site.changes.items.keep(replace(site.now(), intents=((),), entered=False))
    site.start()
    await site.changes.items.restore()
    await site.changes.look()
    assert site.now().intents == (("pin-1",),)
    assert len(site.desk.orders) == 1


async def test_only_what_is_planned_or_over_is_forgotten(site: Site) -> None:
    await site.changes.steer("move", ChangeEvent.START, OPERATOR)
    with pytest.raises(Invalid, match="abort it first"):
        await site.changes.remove("move", BY)
    await site.changes.steer("move", ChangeEvent.ABORT, OPERATOR)
    await site.changes.remove("move", BY)
    assert not site.changes.items.all


async def test_a_later_change_of_the_same_name_takes_nothing_for_its_own(site: Site) -> None:
    await site.changes.steer("move", ChangeEvent.START, OPERATOR)
    await site.changes.items.keep(replace(site.now(), state=ChangeState.DONE))
    await site.changes.remove("move", BY)
    await site.changes.plan(replace(CHANGE, created_s=9.0), BY)
    await site.changes.steer("move", ChangeEvent.START, OPERATOR)
    assert len(site.desk.orders) == 2


async def test_an_abort_takes_back_what_was_made_right_before_the_process_died(site: Site) -> None:
    changing = site.changes.items
    await site.changes.steer("move", ChangeEvent.START, OPERATOR)
    # The intent was made; that the change knows it was never stored.
    unknown = replace(site.now(), intents=((),), entered=False, state=ChangeState.PAUSED)
    await changing.keep(unknown)
    await site.changes.steer("move", ChangeEvent.ABORT, OPERATOR)
    await site.changes.look()
    assert site.now().state is ChangeState.ABORTED
    assert site.desk.standing == []


async def test_a_stage_begins_again_and_lasts_no_hour_when_the_clock_goes_back(site: Site) -> None:
    await site.changes.steer("move", ChangeEvent.START, OPERATOR, "now")
    await site.pass_time(5.0)
    site.rig.clock.time_s -= 3_600.0
    await site.changes.look()
    assert site.now().stage == 0
    await site.pass_time(11.0, load_rps=None)
    assert site.changes.verdicts["move"].reason != "the stage lasts at least 10 s"
