"""Planned changes on the wire. Called by the resource about changes."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from controlplane.api.wire.intents import IntentIn
from controlplane.api.wire.orders import Orders, Titled, order_in, order_out
from controlplane.api.wire.values import Reason, Time, Wire, seconds, stamp, stamp_or_none
from controlplane.domain.operations.change_gates import Gate
from controlplane.domain.operations.changes import Change, ChangeState, OnExcess, Stage, Verdict
from controlplane.engine.intents.course import IntentTimes


class GateWire(Wire):
    """Most that may be seen; null is no limit."""

    most_error_ratio: float | None = None
    most_response_time_ms: float | None = None
    most_utilization: float | None = None

    def gate(self) -> Gate:
        """The domain's gate."""
        return Gate(**self.model_dump())


class StageWire(Wire):
    """One stage; `hold_s` null waits for an operator, `undoes` are numbers of earlier stages."""

    title: Titled = ""
    orders: Orders = Field(default=[])
    undoes: Annotated[list[int], Field(max_length=50)] = Field(default=[])
    hold_s: float | None = None
    gate: GateWire = GateWire()

    def stage(self, times: IntentTimes) -> Stage:
        """The domain's stage."""
        return Stage(
            title=self.title,
            orders=tuple(order_in(one, times) for one in self.orders),
            undoes=tuple(self.undoes),
            hold_s=self.hold_s,
            gate=self.gate.gate(),
        )


class PaceWire(Wire):
    """How a template moves."""

    hold_s: Annotated[float, Field(ge=0, le=2_592_000)] = 300.0
    over_s: Annotated[float, Field(ge=0, le=86_400)] = 60.0
    return_s: Annotated[float, Field(ge=0, le=86_400)] = 300.0
    gate: GateWire = GateWire()


class UpgradeWire(Wire):
    """Data centres one after the other: drained, upgraded by hand, brought back."""

    datacenters: Annotated[list[str], Field(min_length=1, max_length=16)]
    services: Annotated[list[str], Field(max_length=1_000)] = Field(default=[])


class MigrationWire(Wire):
    """From one data centre to another, in steps of what the old one has."""

    from_datacenter: Annotated[str, Field(max_length=128)]
    to_datacenter: Annotated[str, Field(max_length=128)]
    steps: Annotated[list[float], Field(max_length=50)] = Field(default=[])


class ChangeIn(Wire):
    """A change: its stages, or a template that makes them."""

    title: Titled = ""
    starts: Time | None = None
    on_excess: OnExcess = OnExcess.PAUSE
    stages: Annotated[list[StageWire], Field(max_length=50)] = Field(default=[])
    upgrade: UpgradeWire | None = None
    migration: MigrationWire | None = None
    pace: PaceWire = PaceWire()
    reason: Reason = ""

    def change(self, name: str, author: str, now_s: float, stages: tuple[Stage, ...]) -> Change:
        """The domain's change."""
        return Change(
            name=name,
            title=self.title or name,
            stages=stages,
            author=author,
            created_s=now_s,
            reason=self.reason,
            starts_s=None if self.starts is None else seconds(self.starts),
            on_excess=self.on_excess,
        )


class StageOut(Wire):
    """A stage with the intents that it has made."""

    title: str
    orders: list[IntentIn]
    undoes: list[int]
    hold_s: float | None
    gate: GateWire
    intents: list[str]


class ChangeOut(Wire):
    """A change; `stage` is -1 before the first, `waits` says what a running one waits for."""

    name: str
    title: str
    state: ChangeState
    stage: int
    stages: list[StageOut]
    author: str
    reason: str
    on_excess: OnExcess
    created: datetime
    starts: datetime | None
    stage_since: datetime | None
    ended: datetime | None
    words: str
    waits: str


def change_of(change: Change, verdict: Verdict | None) -> ChangeOut:
    """The wire form of a change."""
    return ChangeOut(
        name=change.name,
        title=change.title,
        state=change.state,
        stage=change.stage,
        stages=[
            _stage(one, change.intents[number] if number < len(change.intents) else ())
            for number, one in enumerate(change.stages)
        ],
        author=change.author,
        reason=change.reason,
        on_excess=change.on_excess,
        created=stamp(change.created_s),
        starts=stamp_or_none(change.starts_s),
        stage_since=None if change.stage < 0 else stamp(change.stage_s),
        ended=stamp_or_none(change.ended_s),
        words=change.words,
        waits="" if verdict is None else verdict.reason,
    )


def _stage(stage: Stage, intents: tuple[str, ...]) -> StageOut:
    gate = stage.gate
    return StageOut(
        title=stage.title,
        orders=[order_out(one) for one in stage.orders],
        undoes=list(stage.undoes),
        hold_s=stage.hold_s,
        gate=GateWire(
            most_error_ratio=gate.most_error_ratio,
            most_response_time_ms=gate.most_response_time_ms,
            most_utilization=gate.most_utilization,
        ),
        intents=list(intents),
    )
