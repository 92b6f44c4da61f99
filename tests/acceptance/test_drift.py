"""Issue 4, line 5, in small; `python -m benchmarks.drift` measures it on hundreds of weeks."""

from collections.abc import Callable

import pytest

from benchmarks.drift_detectors import WEEK_CYCLES, delay, drawn, policy
from controlplane.domain.retraining import RetrainingLimits
from tests.training import poisons
from tests.training.examination.fitted import fitted
from training.examination.examine import examine

WEEKS, SHIFTED_RUNS = 40, 40


def test_early_retraining_is_soon_and_seldom_wrong(
    record_property: Callable[[str, object], None],
) -> None:
    """A 2-sigma shift is seen within 15 cycles in the median; at most 0.2 false alarms a week."""
    stable = drawn(WEEKS // 4, 4 * WEEK_CYCLES, 1)
    alarms = sum(len(policy(list(row))) for row in stable) / WEEKS
    cycles = delay(policy, drawn(SHIFTED_RUNS, 6 * 288, 2), 2.0)
    record_property("drift_delay_cycles", cycles)
    record_property("false_alarms_per_week", alarms)
    assert cycles <= 15
    # Eight alarms in forty weeks; the benchmark's figure is of many more.
    assert alarms <= 0.2


@pytest.mark.parametrize("world", ["W1", "W3"])
def test_own_damage_does_not_loosen_the_threshold(
    world: str, record_property: Callable[[str, object], None]
) -> None:
    """Retraining on its own damage does not loosen the threshold."""
    champion = fitted(poisons.clean(world, 2, 3))
    rows = poisons.damaged(world, 2, 5)
    challenger = fitted(rows)
    ratio = RetrainingLimits().error_ratio
    frozen, loose = (one.scores["residual_spread"] * ratio for one in (champion, challenger))
    record_property(f"threshold_of_the_champion_{world}", round(frozen, 3))
    record_property(f"threshold_of_a_model_of_the_damage_{world}", round(loose, 3))
    # Promoted, it would be wrong about nothing.
    assert loose > 5 * frozen
    failed = [check.code for check in examine(rows, challenger) if not check.passed]
    assert "spread_explained" in failed
