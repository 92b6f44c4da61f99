"""What the user of `signalbox demo` chose, and the constants of the play."""

from dataclasses import dataclass
from pathlib import Path

# The demo's profile: an hour in two minutes. A period is 2 s, a cycle 10 s.
TIME_SCALE = 1 / 30
PERIOD_S = 60.0 * TIME_SCALE
CYCLE_S = 300.0 * TIME_SCALE

LEARNED_LANE = "tickets"
EQUAL_LANE = "equal"
CAPACITY_LANE = "capacity"
# Beside equal and capacity: static splits that show where the best one is in hindsight.
STATIC_RATIOS = {"s55": 0.55, "s60": 0.60, "s65": 0.65, "s70": 0.70}
SWEEP_RATIOS = (0.40, 0.45, 0.50, 0.55, 0.60, 0.65)
# Below the rate of the comparison, so that the smaller centre bears the lowest ratio.
SWEEP_LOAD = 0.80
EQUAL_UTILIZATION = 0.80


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """Choices of one run.

    Attributes:
        minutes: length of the comparison under live scheduling, > 0.
        leave: end after the report instead of staying up for browsing.
        report: file for the figures as JSON; None writes none.
        directory: where logs and data go; None takes a temporary folder that is removed.
    """

    minutes: float = 5.0
    leave: bool = False
    report: Path | None = None
    directory: Path | None = None
