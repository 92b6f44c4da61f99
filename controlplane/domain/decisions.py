"""The record of one decision: enough to explain it and to replay it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.guardrails.state import GuardState, Outcome
from controlplane.domain.strategies.situation import CurvePoint, Note, Shares
from controlplane.domain.telemetry import Sample


class Trigger(StrEnum):
    """What started a cycle."""

    TIMER = "timer"
    ALARM = "alarm"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One service, one cycle.

    Attributes:
        id: `<service>@<time in ms>`, unique because one leader decides.
        centers: data centre names, the order of every `Shares` here.
        samples: the newest sample of each data centre that was used.
        revision: the snapshot that first carried it; 0 when nothing was published.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """The decided shares of one service, data centre -> 0..1, from `time_s` until the next."""

    time_s: float
    shares: Mapping[str, float]


def split_of(decision: Decision) -> Split:
    """What one decision put in force."""
    shares = dict(zip(decision.centers, decision.decided, strict=True))
    return Split(time_s=decision.time_s, shares=shares)
