"""Two weeks of simulated time through the real program: `make soak`, some twenty minutes.

Not part of `make test`, and neither is the short story beside it: both need the machine for
themselves, because a cycle lasts a fraction of a second and none may be late. At 1/1200
a week takes 504 s, a cycle 250 ms, a minute of both centres 50 ms; every setting but freshness
is as it is by default, times that scale.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.soak.story import Plan, play

DAY = 1_440

TWO_WEEKS = Plan(
    scale=1 / 1200,
    end=14 * DAY,
    retraining={},
    second_by=11 * DAY,
    drift_at=9 * DAY,
    early_within=DAY // 2,
    bad_at=(11 * DAY, 12 * DAY, 13 * DAY),
)


@pytest.mark.timeout(2_400)
async def test_two_weeks_by_themselves(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Two weeks of scaled time: retraining by itself, `late_cycles` = 0, bad models demoted."""
    figures = await play(TWO_WEEKS, tmp_path)
    for name, value in figures.values.items():
        record_property(name, value)
    assert figures.values["weekly_trainings"] >= 2
    assert figures.values["early_trainings"] >= 1
