"""Gates of planned changes: whether what the services show lets the next stage follow.

Pure; `engine.operations.changes` reads the metrics and tells the time. Missing is not zero: without
fresh readings of every data centre that bears traffic a change holds.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """Most that may be seen; None is no limit.

    Attributes:
        most_error_ratio: 0..1; most_response_time_ms: mean, > 0.
        most_utilization: requests over capacity of each data centre, > 0.
    """

    most_error_ratio: float | None = None
    most_response_time_ms: float | None = None
    most_utilization: float | None = None


OPEN = Gate()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one service showed in one data centre since the stage began.

    Attributes:
        age_s: of its newest sample; infinite without one.
        error_ratio, response_time_ms, utilization: NaN when not reported.
    """

    service: str
    datacenter: str
    age_s: float = math.inf
    error_ratio: float = math.nan
    response_time_ms: float = math.nan
    utilization: float = math.nan

    @property
    def where(self) -> str:
        """Its place in words."""
        return f"service {self.service} in data center {self.datacenter}"


def unknown_of(gate: Gate, readings: Sequence[Reading], fresh_s: float) -> str:
    """What a gate asks for and nobody says, "" when all is known."""
    limits = _limits(gate)
    if not limits:
        return ""
    if not readings:
        return "no data center bears traffic of the change's services"
    for one in readings:
        if one.age_s > fresh_s:
            return f"{one.where} has sent no metrics since the stage began"
        for words, name, _ in limits:
            if math.isnan(getattr(one, name)):
                return f"{one.where} does not report its {words}"
    return ""


def excess_of(gate: Gate, readings: Sequence[Reading]) -> str:
    """What is above a gate's limit anywhere, "" when nothing is; what is unknown is not above."""
    for words, name, most in _limits(gate):
        for one in readings:
            value = getattr(one, name)
            if value > most:
                return f"the {words} of {one.where} is {value:.4g}, the gate allows {most:g}"
    return ""


def _limits(gate: Gate) -> list[tuple[str, str, float]]:
    asked = (
        ("error ratio", "error_ratio", gate.most_error_ratio),
        ("mean response time in ms", "response_time_ms", gate.most_response_time_ms),
        ("utilization", "utilization", gate.most_utilization),
    )
    return [(words, name, most) for words, name, most in asked if most is not None]
