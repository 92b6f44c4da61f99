"""The record of one decision: enough to explain it and to replay it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.dither import Dither
from controlplane.domain.findings import Observation
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.guardrails.state import Concession, GuardState, Outcome
from controlplane.domain.guardrails.trial import Trial
from controlplane.domain.strategies.situation import (
    CenterCurve,
    CurvePoint,
    Note,
    SharedPool,
    Shares,
)
from controlplane.domain.telemetry import Sample
from controlplane.domain.uncertainty import Interval


class Trigger(StrEnum):
    """What started a cycle."""

    TIMER = "timer"
    ALARM = "alarm"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What a decision read beside samples and model, so that it can be made again.

    Attributes:
        generation: of the fleet that declared the service.
        state: what the guards remembered before; `Decision.state` is after.
        period_s, cycle_s, day_s: of that time, in seconds.
        suspicions: what was suspicious about the service's metrics.
        shared: what others put on the pools of each data centre; () where none is shared.
        concession: what the guard over all services changed.
    """

    generation: int
    state: GuardState
    limits: EnvelopeLimits
    period_s: float
    cycle_s: float
    day_s: float = 86_400.0
    suspicions: tuple[Observation, ...] = ()
    shared: tuple[SharedPool | None, ...] = ()
    concession: Concession | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionSplit:
    """What one decision made of the traffic of one source region.

    Attributes:
        region: its name, `*` is all that has no home.
        weight: its part of the service's load, 0..1.
        home: where its traffic goes while there is room.
    """

    region: str
    weight: float
    home: Shares
    applied: Shares
    proposed: Shares
    decided: Shares


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One service, one cycle.

    Attributes:
        id: `<service>@<time in ms>`, unique because one leader decides.
        centers: data centre names, the order of every `Shares` here.
        samples: every sample that the decision could read, by data centre, then time.
        revision: the snapshot that first carried it; 0 when nothing was published.
        inputs: None in decisions of before they were recorded.
        spreads, center_curves, learned, urgent: of the proposal, as `Proposal` has them.
        support: lowest and highest ratio that the model was trained on; () without one.
        trial: of the model in the shadow, None without one.
        regions: by source region, where the service has a split for each; its shares are then the
            sum over them.
    """

    id: str
    time_s: float
    service: str
    trigger: Trigger
    strategy: str
    centers: tuple[str, ...]
    applied: Shares
    proposed: Shares
    decided: Shares
    outcome: Outcome
    curve: tuple[CurvePoint, ...]
    notes: tuple[Note, ...]
    samples: tuple[Sample, ...]
    state: GuardState
    model: str = ""
    revision: int = 0
    inputs: Inputs | None = None
    spreads: tuple[float, ...] = ()
    center_curves: tuple[CenterCurve, ...] = ()
    learned: bool = False
    urgent: bool = False
    support: tuple[float, ...] = ()
    trial: Trial | None = None
    regions: tuple[RegionSplit, ...] = ()

    @property
    def interval(self) -> Interval | None:
        """Where the response time of the coming cycle will lie; None without a forecast."""
        return self.state.calibration.pending

    @property
    def dither(self) -> Dither | None:
        """The shift by chance that is part of `decided`; None without one."""
        return self.state.dither

    @property
    def band(self) -> tuple[tuple[float, float], ...]:
        """The interval around each point of the curve, in ms; () where there is none."""
        said = self.interval
        if said is None:
            return ()
        members = self.spreads or (0.0,) * len(self.curve)
        rows = zip(self.curve, members, strict=True)
        return tuple(said.around(point.response_time_ms, apart) for point, apart in rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """The decided shares of one service, data centre -> 0..1, from `time_s` until the next."""

    time_s: float
    shares: Mapping[str, float]


def split_of(decision: Decision) -> Split:
    """What one decision put in force."""
    shares = dict(zip(decision.centers, decision.decided, strict=True))
    return Split(time_s=decision.time_s, shares=shares)
