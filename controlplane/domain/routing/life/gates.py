"""When a gray release may take its next step.

Pure: `engine.routes.life` reads the metrics and tells the time. Missing is not zero: without fresh
readings of every data centre that bears traffic the release holds.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.routing.life.release import Gate, Gray


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one data centre of the service showed since the step began.

    Attributes:
        age_s: of its newest sample; infinite without one.
        requests_s: requests per second, the weight of the others; NaN is unknown.
        error_ratio, response_time_ms: NaN when not reported.
    """

    datacenter: str
    age_s: float = math.inf
    requests_s: float = math.nan
    error_ratio: float = math.nan
    response_time_ms: float = math.nan


class Word(StrEnum):
    """What is to be done."""

    WAIT = "wait"
    HOLD = "hold"
    STEP = "step"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is to be done, and why."""

    word: Word
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What is known of a release's service.

    Attributes:
        readings: of each data centre that bears traffic; None when the route has no service.
        fresh_s: older metrics are missing.
    """

    readings: tuple[Reading, ...] | None = None
    fresh_s: float = 120.0


def verdict(gray: Gray, step: int, age_s: float, seen: Seen) -> Verdict:
    """Whether the next step may follow one of the age `age_s`."""
    hold_s = gray.steps[step].hold_s
    if hold_s is None:
        return Verdict(word=Word.WAIT, reason="the step waits for an operator")
    if age_s < hold_s:
        return Verdict(word=Word.WAIT, reason=f"the step lasts at least {hold_s:g} s")
    if seen.readings is None:
        return Verdict(word=Word.STEP, reason="the route has no service to be asked")
    unknown = unknown_of(gray.gate, seen)
    if unknown and age_s < hold_s + seen.fresh_s:
        return Verdict(word=Word.WAIT, reason=f"waits for metrics of the step: {unknown}")
    objection = unknown or excess_of(gray.gate, seen.readings)
    if objection:
        return Verdict(word=Word.HOLD, reason=objection)
    return Verdict(word=Word.STEP, reason="every gate is passed")


def unknown_of(gate: Gate, seen: Seen) -> str:
    """What a gate asks for and nobody says, "" when all is known."""
    limits = _limits(gate)
    if not limits or seen.readings is None:
        return ""
    if not seen.readings:
        return "no data center bears traffic of the service"
    for one in seen.readings:
        if one.age_s > seen.fresh_s:
            return f"data center {one.datacenter} has sent no metrics since the step began"
        for words, name, _ in limits:
            if math.isnan(getattr(one, name)):
                return f"data center {one.datacenter} does not report its {words}"
    return ""


def excess_of(gate: Gate, readings: Collection[Reading]) -> str:
    """What is above a gate's limit, "" when nothing is."""
    for words, name, most in _limits(gate):
        value = _mean(
            [getattr(one, name) for one in readings], [one.requests_s for one in readings]
        )
        if value > most:
            return f"the {words} is {value:.4g}, the gate allows {most:g}"
    return ""


def _limits(gate: Gate) -> list[tuple[str, str, float]]:
    asked = (
        ("error ratio", "error_ratio", gate.most_error_ratio),
        ("mean response time in ms", "response_time_ms", gate.most_response_time_ms),
    )
    return [(words, name, most) for words, name, most in asked if most is not None]


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """By requests; the worst one where a data centre does not say how many it has."""
    total = math.fsum(weights)
    if not total > 0:
        return max(values)
    return math.fsum(v * w for v, w in zip(values, weights, strict=True)) / total
