"""The batch load that every worker pool of a data centre bears besides the requests.

Called by the data centre process. The jobs are a pure function of the epoch, so that all lanes of
one centre get the same jobs at the same instants, and the two centres shift against each other.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundJob:
    """One batch job: starts `at_s` after the epoch and holds one worker for `duration_s`."""

    at_s: float
    duration_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """Batch load that keeps `mean` + `amplitude` * sin(2 pi (t / `period_s` + `phase`)) of the
    workers busy.
    """

    mean: float = 0.2
    amplitude: float = 0.12
    period_s: float = 75.0
    phase: float = 0.0
    job_s: float = 0.25
    seed: int = 1

    def __post_init__(self) -> None:
        if not 0.0 <= abs(self.amplitude) < self.mean < 1.0:
            raise ValueError(
                f"background: need 0 <= amplitude < mean < 1, got {self.amplitude} and {self.mean}"
            )

    def jobs(self, workers: int, from_s: float = 0.0) -> Iterator[BackgroundJob]:
        """Yield the jobs of a pool from `from_s` after the epoch on, without end.

        Job k starts where the integrated intensity is k plus a random part of one: as irregular as
        a batch queue in the short run, and without the drift of free-running arrivals in the long
        run.
        """
        per_share = workers / self.job_s
        number = math.floor(per_share * self._integral(from_s)) + 1
        at_s = from_s
        while True:
            draw = random.Random(self.seed * 1_000_003 + number)
            at_s = self._invert((number + draw.random()) / per_share, at_s)
            yield BackgroundJob(at_s=at_s, duration_s=self.job_s * (0.4 + 1.2 * draw.random()))
            number += 1

    def _integral(self, at_s: float) -> float:
        turn = 2 * math.pi
        swing = math.cos(turn * self.phase) - math.cos(turn * (at_s / self.period_s + self.phase))
        return self.mean * at_s + self.amplitude * self.period_s / turn * swing

    def _invert(self, integral: float, start_s: float) -> float:
        low, high = start_s, start_s + 4.0 / (self.mean - abs(self.amplitude)) * self.job_s
        while self._integral(high) < integral:
            high += self.period_s
        for _ in range(40):
            middle = (low + high) / 2.0
            low, high = (middle, high) if self._integral(middle) < integral else (low, middle)
        return high
