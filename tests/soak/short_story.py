"""Issue 3, line 5: retraining by itself, and bad models out of service, in scaled time.

A short story of some three minutes in which the calendar trains every few simulated hours.
`make soak` plays it first, and then the two weeks with the settings as they are.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.soak.story import Plan, play

HOUR_S = 3_600.0

SHORT = Plan(
    scale=1 / 600,
    end=600,
    retraining={
        "first_s": 2.5 * HOUR_S,
        "first_rows": 140,
        "interval_s": 3 * HOUR_S,
        "cooldown_s": 1.5 * HOUR_S,
        "newest_s": 3 * HOUR_S,
    },
    # From the morning on: a model of the night alone would rightly lose its service at noon.
    first_minute=7 * 60,
    second_by=1_500,
    drift_at=0,
    early_within=240,
    bad_at=(0, 0, 0),
)


@pytest.mark.timeout(480)
async def test_retraining_happens_by_itself_and_bad_models_lose_the_service(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Two weeks of scaled time, shortened: retraining by itself, no late cycle, bad models demoted.

    The line in full: two weeks of simulated time through the real service (scaled clock): weekly
    and early retraining happen by themselves, `late_cycles` = 0, a model that turns bad (constant,
    inverted, NaN) is demoted within the stated cycles.
    """
    figures = await play(SHORT, tmp_path)
    for name, value in figures.values.items():
        record_property(name, value)
    assert figures.values["weekly_trainings"] >= 2
    assert figures.values["early_trainings"] >= 1
