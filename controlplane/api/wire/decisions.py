"""A decision on the wire: its summary, and with its curve, its interval and its samples.

Read by several resources. Shares and ratios are 0..1, response times in ms.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from controlplane.api.wire.values import SampleOut, Wire, finite, stamp
from controlplane.domain.decisions import Decision, RegionSplit
from controlplane.domain.dither import Dither
from controlplane.domain.uncertainty import TARGET, Interval


class NoteOut(Wire):
    """Why something was proposed, trimmed or refused."""

    code: str
    message: str


class IntervalOut(Wire):
    """Where the mean response time of the cycle after a decision will lie, `level` of the time."""

    level: float
    low_ms: float
    predicted_ms: float
    high_ms: float


class DitherOut(Wire):
    """The shift by chance in what was decided, and the probability with which it was drawn.

    `offset` is added to the share of the first data centre; a propensity of 1 is no draw.
    """

    block: int
    offset: float
    propensity: float


class DecisionSummary(Wire):
    """One decision without its curve and samples; shares are 0..1 by data centre."""

    id: str
    time: datetime
    service: str
    trigger: str
    strategy: str
    outcome: str
    model: str
    revision: int
    applied: Mapping[str, float]
    proposed: Mapping[str, float]
    decided: Mapping[str, float]
    interval: IntervalOut | None
    dither: DitherOut | None
    notes: list[NoteOut]


class PointOut(Wire):
    """Predicted mean response time if the primary had this share; null when not finite.

    `low_ms` and `high_ms` are the ends of its interval, null in decisions without one.
    """

    ratio: float
    response_time_ms: float | None
    low_ms: float | None
    high_ms: float | None


class CenterCurveOut(Wire):
    """Predicted mean response time of one data centre at 0, 1, ... 100 % of the load."""

    datacenter: str
    response_time_ms: list[float | None]


class RegionSplitOut(Wire):
    """What a decision made of the traffic of one source region; shares are by data centre.

    `weight` is the region's part of the service's load, `home` where its traffic goes while there
    is room.
    """

    source_region: str
    weight: float
    home: Mapping[str, float]
    applied: Mapping[str, float]
    proposed: Mapping[str, float]
    decided: Mapping[str, float]


class DecisionOut(DecisionSummary):
    """One decision with everything that explains it.

    `support` has the lowest and the highest share of the first data centre that its model was
    trained on; empty without a model. `regions` is empty but for a service with a split for each
    source region.
    """

    support: list[float]
    curve: list[PointOut]
    center_curves: list[CenterCurveOut]
    regions: list[RegionSplitOut]
    samples: list[SampleOut]


def summary_of(decision: Decision) -> DecisionSummary:
    """The short wire form of a decision."""
    return DecisionSummary(
        id=decision.id,
        time=stamp(decision.time_s),
        service=decision.service,
        trigger=decision.trigger,
        strategy=decision.strategy,
        outcome=decision.outcome,
        model=decision.model,
        revision=decision.revision,
        applied=dict(zip(decision.centers, decision.applied, strict=True)),
        proposed=dict(zip(decision.centers, decision.proposed, strict=True)),
        decided=dict(zip(decision.centers, decision.decided, strict=True)),
        interval=_interval(decision.interval),
        dither=_dither(decision.dither),
        notes=[NoteOut(code=note.code, message=note.message) for note in decision.notes],
    )


def decision_of(decision: Decision) -> DecisionOut:
    """The whole wire form of a decision."""
    return DecisionOut(
        **summary_of(decision).model_dump(),
        support=list(decision.support),
        curve=_points(decision),
        center_curves=[
            CenterCurveOut(
                datacenter=curve.datacenter,
                response_time_ms=[finite(value) for value in curve.response_time_ms],
            )
            for curve in decision.center_curves
        ],
        regions=[_region(decision.centers, split) for split in decision.regions],
        samples=[SampleOut.of(sample) for sample in decision.samples],
    )


def _region(centers: Sequence[str], split: RegionSplit) -> RegionSplitOut:
    return RegionSplitOut(
        source_region=split.region,
        weight=split.weight,
        home=dict(zip(centers, split.home, strict=True)),
        applied=dict(zip(centers, split.applied, strict=True)),
        proposed=dict(zip(centers, split.proposed, strict=True)),
        decided=dict(zip(centers, split.decided, strict=True)),
    )


def _points(decision: Decision) -> list[PointOut]:
    band = [(finite(low), finite(high)) for low, high in decision.band]
    ends = band or [(None, None)] * len(decision.curve)
    return [
        PointOut(
            ratio=point.ratio,
            response_time_ms=finite(point.response_time_ms),
            low_ms=low,
            high_ms=high,
        )
        for point, (low, high) in zip(decision.curve, ends, strict=True)
    ]


def _interval(said: Interval | None) -> IntervalOut | None:
    if said is None:
        return None
    return IntervalOut(
        level=1.0 - TARGET,
        low_ms=said.low_ms,
        predicted_ms=said.predicted_ms,
        high_ms=said.high_ms,
    )


def _dither(shift: Dither | None) -> DitherOut | None:
    if shift is None:
        return None
    return DitherOut(block=shift.block, offset=shift.offset, propensity=shift.propensity)
