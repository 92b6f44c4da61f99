"""Intents on the wire. Called by the resource about intents; operations write the same bodies.

Times are seconds from now or RFC 3339 on the wire, UTC epoch seconds inside; weights in an intent's
record stay inside.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

from pydantic import Field, StrictBool, StrictInt, StrictStr

from controlplane.api.wire.values import Text, Wire, finite, stamp, stamp_or_none
from controlplane.domain.errors import ControlPlaneError
from controlplane.domain.failover.plan import Verdict
from controlplane.domain.intents.intent import (
    Ending,
    Intent,
    IntentKind,
    IntentState,
    Preset,
    PresetName,
    Target,
    Wanted,
)
from controlplane.domain.intents.rules import LONGEST_RAMP_S
from controlplane.engine.intents.course import IntentTimes
from controlplane.engine.intents.plans import Forecast
from controlplane.engine.intents.progress import Progress
from controlplane.engine.publishing.couriers import DeliveryState

Name = Annotated[StrictStr, Field(max_length=128)]
Why = Annotated[
    Text, Field(max_length=500, description="For the audit log and for who comes next.")
]
Ramp = Annotated[float, Field(ge=0.0, le=LONGEST_RAMP_S)]
LONGEST_S = 31_536_000.0


class TargetWire(Wire):
    """What an intent is about; "" is any."""

    service: Name = ""
    datacenter: Name = ""
    cluster: Name = ""
    endpoint: Name = ""


class PresetWire(Wire):
    """A limit of a service, for each gateway."""

    name: PresetName
    concurrent: Annotated[StrictInt, Field(ge=1, le=1_000_000)] | None = None
    waiting: Annotated[StrictInt, Field(ge=0, le=1_000_000)] | None = None
    rate_rps: Annotated[float, Field(gt=0.0, le=1e8)] | None = None
    status: Annotated[StrictInt, Field(description="Of a block: 403 or 503.")] = 503

    def preset(self) -> Preset:
        """The domain's preset."""
        return Preset(
            name=self.name,
            concurrent=self.concurrent,
            waiting=self.waiting,
            rate_rps=self.rate_rps,
            status=self.status,
        )


class IntentIn(Wire):
    """What is asked. `over_s` and `return_s` have the usual times when they are left out."""

    kind: IntentKind
    target: TargetWire = TargetWire()
    reason: Why = ""
    expires_in_s: Annotated[float, Field(gt=0.0, le=LONGEST_S)] | None = None
    over_s: Ramp | None = None
    return_s: Ramp | None = None
    shares: Annotated[
        dict[Name, Annotated[float, Field(ge=0.0, le=1e9)]], Field(max_length=1_000)
    ] = Field(default={})
    preset: PresetWire | None = None
    revision: Annotated[StrictInt, Field(ge=0, le=2**53)] = 0
    force: StrictBool = False

    def wanted(self, now_s: float, times: IntentTimes) -> Wanted:
        """The domain's form."""
        over_s = times.drain_s if self.kind is IntentKind.DRAIN else 0.0
        return Wanted(
            kind=self.kind,
            target=Target(
                service=self.target.service,
                datacenter=self.target.datacenter,
                cluster=self.target.cluster,
                endpoint=self.target.endpoint,
            ),
            reason=self.reason,
            over_s=over_s if self.over_s is None else self.over_s,
            return_s=times.return_s if self.return_s is None else self.return_s,
            shares=tuple(sorted(self.shares.items())),
            preset=None if self.preset is None else self.preset.preset(),
            revision=self.revision,
            expires_s=None if self.expires_in_s is None else now_s + self.expires_in_s,
            force=self.force,
        )


class UndoIn(Wire):
    """How an intent is taken back; without `return_s` as it was asked."""

    reason: Why = ""
    return_s: Ramp | None = None


class ProgressOut(Wire):
    """How far an intent is on one data plane."""

    plane: str
    state: DeliveryState
    nodes: int
    done: int
    waiting: list[str]


class IntentOut(Wire):
    """An intent; `limits` are those that its plan puts on services, `published` its revision."""

    id: str
    kind: IntentKind
    target: TargetWire
    state: IntentState
    ending: Ending | None
    author: str
    reason: str
    cause: str
    created: datetime
    active: datetime | None
    returning: datetime | None
    ended: datetime | None
    expires: datetime | None
    over_s: float
    return_s: float
    shares: dict[str, float]
    preset: PresetWire | None
    revision: int
    force: bool
    joining: list[str]
    limits: dict[str, PresetWire]
    change: int
    published: int
    progress: list[ProgressOut]


class MoveOut(Wire):
    """What happens to one service; shares are 0..1."""

    service: str
    before: dict[str, float]
    after: dict[str, float]
    moved: float
    sessions: int | None


class PoolOut(Wire):
    """Utilization of one pool, 0..1; null is unknown."""

    datacenter: str
    pool: str
    capacity: float
    before: float | None
    after: float | None


class LoadOut(Wire):
    """What a service is expected to bear; `admitted_rps` null is all of it."""

    service: str
    expected_rps: float | None
    admitted_rps: float | None


class ObjectionOut(Wire):
    """Why the intent would not be made."""

    code: str
    message: str


class ForecastOut(Wire):
    """What an intent would do when its ramps are over."""

    verdict: Verdict
    objection: ObjectionOut | None
    moves: list[MoveOut]
    pools: list[PoolOut]
    loads: list[LoadOut]
    joining: list[str]
    limits: dict[str, PresetWire]


def intent_of(intent: Intent, progress: tuple[Progress, ...] = ()) -> IntentOut:
    """The wire form of an intent."""
    wanted, target = intent.wanted, intent.target
    return IntentOut(
        id=intent.id,
        kind=intent.kind,
        target=TargetWire(
            service=target.service,
            datacenter=target.datacenter,
            cluster=target.cluster,
            endpoint=target.endpoint,
        ),
        state=intent.state,
        ending=intent.ending,
        author=intent.author,
        reason=wanted.reason,
        cause=intent.cause,
        created=stamp(intent.created_s),
        active=stamp_or_none(intent.active_s),
        returning=stamp_or_none(intent.returning_s),
        ended=stamp_or_none(intent.ended_s),
        expires=stamp_or_none(wanted.expires_s),
        over_s=wanted.over_s,
        return_s=wanted.return_s,
        shares=dict(wanted.shares),
        preset=None if wanted.preset is None else _preset(wanted.preset),
        revision=wanted.revision,
        force=wanted.force,
        joining=list(intent.joining),
        limits={one.service: _preset(one.preset) for one in intent.limits},
        change=intent.change,
        published=intent.published,
        progress=[
            ProgressOut(
                plane=one.plane,
                state=one.state,
                nodes=one.nodes,
                done=one.done,
                waiting=list(one.waiting),
            )
            for one in progress
        ],
    )


def forecast_of(made: Forecast, objection: ControlPlaneError | None) -> ForecastOut:
    """The wire form of a forecast."""
    moved = {one.service for one in made.moves}
    return ForecastOut(
        verdict=made.plan.verdict,
        objection=None
        if objection is None
        else ObjectionOut(code=objection.code, message=objection.message),
        moves=[
            MoveOut(
                service=one.service,
                before=_rounded(one.before),
                after=_rounded(one.after),
                moved=round(one.moved, 6),
                sessions=one.sessions,
            )
            for one in made.moves
        ],
        pools=[
            PoolOut(
                datacenter=one.datacenter,
                pool=one.pool,
                capacity=one.capacity,
                before=finite(one.before),
                after=finite(one.after),
            )
            for one in made.plan.pools
        ],
        loads=[
            LoadOut(service=one.service, expected_rps=one.rate_rps, admitted_rps=one.admitted_rps)
            for one in made.plan.allocations
            if one.service in moved or one.admitted_rps is not None
        ],
        joining=list(made.plan.joining),
        limits={one.service: _preset(one.preset) for one in made.limits},
    )


def _preset(preset: Preset) -> PresetWire:
    return PresetWire(
        name=preset.name,
        concurrent=preset.concurrent,
        waiting=preset.waiting,
        rate_rps=preset.rate_rps,
        status=preset.status,
    )


def _rounded(shares: Mapping[str, float]) -> dict[str, float]:
    return {name: round(share, 6) for name, share in shares.items()}
