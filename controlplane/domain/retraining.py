"""When a service's model is trained again, and on which rows. Pure.

Weekly: 90 % of the rows of the earlier training and all of the newest 48 hours (S4). Early: the
mean error of six cycles in a row is above 2.4 times the spread that the model in service had
when it was made, or its errors have drifted slowly (`domain.drift`). That spread is part of the
model, so damage done later cannot raise it. `benchmarks.drift` measures delays and false alarms.
`engine.learning.retraining` asks once a cycle.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from controlplane.domain.drift import WINDOWS, drifted

# One error counts as no more spreads than this: a centre that is full for two cycles makes two huge
# errors, and the world has not changed.
MOST_OF_ONE = 4.0
# Newest errors that are read.
ERRORS_KEPT = max(WINDOWS)


class Cause(StrEnum):
    """Why a model is trained again without anyone."""

    FIRST = "first"
    WEEKLY = "weekly"
    # The live error is large.
    MISTAKEN = "mistaken"
    # The live error is small and on one side.
    DRIFTED = "drifted"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrainingLimits:
    """All times in seconds, before scaling.

    Attributes:
        interval_s: between two trainings without a reason.
        newest_s: rows this new are all used.
        kept: share of the rows of the earlier training that are used again, 0..1.
        error_cycles: cycles in a row over which the live error is averaged.
        error_ratio: above this many residual spreads the world has changed.
        drift_limit: standard errors between the mean error of a window and 0 that are drift.
        cooldown_s: between two tries of one service, whatever their reason.
        first_s, first_rows: how much a service must have reported before its first training.
    """

    interval_s: float = 604_800.0
    newest_s: float = 172_800.0
    kept: float = 0.9
    error_cycles: int = 6
    error_ratio: float = 2.4
    drift_limit: float = 4.2
    cooldown_s: float = 21_600.0
    first_s: float = 86_400.0
    first_rows: int = 1_000


def scaled(limits: RetrainingLimits, factor: float) -> RetrainingLimits:
    """The limits with every time times `factor` (> 0); counts and ratios stay."""
    return replace(
        limits,
        interval_s=limits.interval_s * factor,
        newest_s=limits.newest_s * factor,
        cooldown_s=limits.cooldown_s * factor,
        first_s=limits.first_s * factor,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What a service has reported: time of its oldest sample (infinite is none), and periods."""

    first_s: float = math.inf
    rows: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingFacts:
    """What the policy reads of one service.

    Attributes:
        now_s: UTC epoch seconds.
        busy: a job of it is open, or a model of it is on trial.
        tried_s: when the newest training ended, however; minus infinity is never.
        trained_s: when the newest model was made; minus infinity is never.
        errors: live relative errors by cycle, newest last, signed; infinite where no prediction
            came. `ERRORS_KEPT` are enough.
        spread: residual spread of the model in service; 0 is unknown.
        coverage: read only while nothing was ever trained.
    """

    now_s: float
    busy: bool = False
    tried_s: float = -math.inf
    trained_s: float = -math.inf
    errors: Sequence[float] = ()
    spread: float = 0.0
    coverage: Coverage = Coverage()


def due(facts: TrainingFacts, limits: RetrainingLimits) -> Cause | None:
    """Why a service's model should be trained now; None when it should not."""
    if facts.busy or facts.now_s - facts.tried_s < limits.cooldown_s:
        return None
    if facts.trained_s == -math.inf:
        return Cause.FIRST if _enough(facts, limits) else None
    if mistaken(facts.errors, facts.spread, limits):
        return Cause.MISTAKEN
    if drifted(facts.errors, facts.spread, limits.drift_limit):
        return Cause.DRIFTED
    return Cause.WEEKLY if facts.now_s - facts.trained_s >= limits.interval_s else None


def mistaken(errors: Sequence[float], spread: float, limits: RetrainingLimits) -> bool:
    """Whether the live error is beyond what the model's own spread explains."""
    newest = tuple(errors)[-limits.error_cycles :]
    if len(newest) < limits.error_cycles or not spread > 0:
        return False
    most = MOST_OF_ONE * spread
    known = (abs(error) if math.isinf(error) else min(abs(error), most) for error in newest)
    mean = math.fsum(known) / len(newest)
    # Not a number counts as wrong.
    return not mean <= limits.error_ratio * spread


def _enough(facts: TrainingFacts, limits: RetrainingLimits) -> bool:
    reported = facts.coverage
    return facts.now_s - reported.first_s >= limits.first_s and reported.rows >= limits.first_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """One training: rows up to `time_s`, and the seed by which earlier ones were drawn."""

    time_s: float
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChoice:
    """Which rows a training uses; its own generation is the last one, by time."""

    generations: tuple[Generation, ...]
    newest_s: float
    kept: float

    def takes(self, time_s: float) -> bool:
        """Whether the row of this time is used.

        The first training takes every row; each later one all of its newest `newest_s`, and of
        the earlier training's rows those that its seed draws. Nothing is stored for this: who was
        in an earlier training is asked in the same way.
        """
        first, *later = self.generations
        for generation in reversed(later):
            if time_s > generation.time_s:
                return False
            if time_s > generation.time_s - self.newest_s:
                return True
            if _draw(generation.seed, time_s) >= self.kept:
                return False
        return time_s <= first.time_s


def _draw(seed: int, time_s: float) -> float:
    """A number in 0..1 that depends on seed and row alone, so order and restarts do not matter."""
    digest = hashlib.blake2b(f"{seed} {time_s!r}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64
