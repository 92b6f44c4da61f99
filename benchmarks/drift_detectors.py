"""Who says that a model's errors have changed: the policy of retraining, and what it is held to.

Run by `benchmarks.drift` and by the acceptance test. Errors are in units of the spread that was
frozen with the model, one a cycle.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river.drift import ADWIN

from controlplane.domain.retraining import (
    ERRORS_KEPT,
    Cause,
    RetrainingLimits,
    TrainingFacts,
    due,
    mistaken,
)
from training.simulation.arrivals import remembering

FloatArray = NDArray[np.float64]

CYCLE_S = 300.0
DAY_CYCLES = 288
WEEK_CYCLES = 7 * DAY_CYCLES
# Stable cycles before a shift, so that every window is full, and how long it is waited for.
BEFORE = 2 * DAY_CYCLES
AFTER = 4 * DAY_CYCLES
LIMITS = RetrainingLimits()
# Correlation between neighbouring drawn errors.
MEMORY = 0.5

# Errors by cycle, in spreads -> cycles (from 0) of its alarms.
Detector = Callable[[Sequence[float]], list[int]]


def drawn(runs: int, cycles: int, seed: int) -> FloatArray:
    """AR(1) noise with spread 1: (runs, cycles)."""
    draws = np.random.default_rng(seed).standard_normal((runs, cycles))
    return remembering(draws, MEMORY)


def policy(errors: Sequence[float]) -> list[int]:
    """What is deployed: every cause of `due` but the week, with its pause between two tries."""
    kept: deque[float] = deque(maxlen=ERRORS_KEPT)
    alarms: list[int] = []
    tried_s = -np.inf
    for cycle, error in enumerate(errors):
        kept.append(error)
        now_s = cycle * CYCLE_S
        facts = TrainingFacts(
            now_s=now_s, tried_s=tried_s, trained_s=now_s, errors=tuple(kept), spread=1.0
        )
        if due(facts, LIMITS) in (Cause.MISTAKEN, Cause.DRIFTED):
            alarms.append(cycle)
            tried_s = now_s
    return alarms


def rule_alone(errors: Sequence[float]) -> list[int]:
    """The published rule alone."""
    newest = range(LIMITS.error_cycles, len(errors) + 1)
    return _paused(
        end - 1 for end in newest if mistaken(errors[end - LIMITS.error_cycles : end], 1.0, LIMITS)
    )


def adwin(delta: float) -> Detector:
    """river's ADWIN on the signed error."""

    def detect(errors: Sequence[float]) -> list[int]:
        detector: Any = ADWIN(delta=delta)  # type: ignore[no-untyped-call]
        alarms = []
        for cycle, error in enumerate(errors):
            detector.update(error)
            if detector.drift_detected:
                alarms.append(cycle)
        return _paused(alarms)

    return detect


DETECTORS: dict[str, Detector] = {
    "policy": policy,
    "rule_alone": rule_alone,
    "adwin_1e-4": adwin(1e-4),
    "adwin_2e-3": adwin(2e-3),
}


def delay(detect: Detector, noise: FloatArray, shift: float) -> float:
    """Median cycles from the shift to the first alarm; a run that had one before is left out."""
    delays = []
    for row in noise:
        shifted = row.copy()
        shifted[BEFORE:] += shift
        alarms = detect(list(shifted))
        if not alarms:
            delays.append(AFTER)
        elif alarms[0] >= BEFORE:
            delays.append(alarms[0] - BEFORE + 1)
    return float(np.median(delays))


def _paused(alarms: Iterable[int]) -> list[int]:
    """Alarms with the same pause between them as the policy has."""
    kept: list[int] = []
    for alarm in alarms:
        if not kept or (alarm - kept[-1]) * CYCLE_S >= LIMITS.cooldown_s:
            kept.append(alarm)
    return kept
