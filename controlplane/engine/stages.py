"""What every part of the engine is given: the clock, the stages' totals, the findings.

A stage is a step of the data's way (`intake`, `decide`, `append`, `deliver`); /metrics reads its
durations, counts and outcomes. Counting here keeps the metrics library out of the engine.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum

from controlplane.engine.findings import Findings


class Stage(StrEnum):
    """Steps of the data's way."""

    INTAKE = "intake"
    PERSIST = "persist"
    DECIDE = "decide"
    APPEND = "append"
    RECORD = "record"
    DELIVER = "deliver"
    PRUNE = "prune"


class StageOutcome(StrEnum):
    """How a step ended."""

    OK = "ok"
    ERROR = "error"


@dataclass(slots=True)
class StageTotals:
    """Running totals of one stage and outcome."""

    count: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Stages:
    """All totals, by stage and outcome."""

    totals: dict[tuple[Stage, StageOutcome], StageTotals] = field(default_factory=dict)

    @contextmanager
    def measure(self, stage: Stage) -> Iterator[None]:
        """Time the block; an exception counts as `error` and passes on."""
        started = time.perf_counter()
        outcome = StageOutcome.ERROR
        try:
            yield
            outcome = StageOutcome.OK
        finally:
            totals = self.totals.setdefault((stage, outcome), StageTotals())
            totals.count += 1
            totals.seconds += time.perf_counter() - started


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruments:
    """What every part of the engine is given.

    Attributes:
        now: the only clock, UTC epoch seconds.
        findings: where it reports what is wrong with an item.
    """

    now: Callable[[], float] = time.time
    stages: Stages = field(default_factory=Stages)
    findings: Findings = field(init=False)

    def __post_init__(self) -> None:
        # Made here, so that nobody can join a register to another clock.
        object.__setattr__(self, "findings", Findings(self.now))
