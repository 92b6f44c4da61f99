"""Issue 4, line 2: the worlds in which strategies are judged tell good splits from bad ones."""

from collections.abc import Callable

import pytest

from training.simulation import weather
from training.simulation.arrivals import DAY_MINUTES
from training.simulation.contrast import Contrast, contrast
from training.simulation.world import load_world

DAYS = 14


def seen(name: str, seed: int) -> Contrast:
    world = load_world(name)
    return contrast(world, weather.draw(world, DAYS * DAY_MINUTES, seed))


@pytest.mark.parametrize(
    ("name", "who", "least_pct"), [("W1", "half", 8.0), ("W4", "equal_cpu", 20.0)]
)
def test_a_world_discriminates(
    name: str, who: str, least_pct: float, record_property: Callable[[str, object], None]
) -> None:
    """The discrimination floors of the worlds (DESIGN.md section 5) are tests."""
    regrets = []
    for seed in range(4):
        judged = seen(name, seed)
        chosen = judged.held(0.5) if who == "half" else judged.by_cpu
        regrets.append(judged.regret_pct(chosen))
    mean = sum(regrets) / len(regrets)
    record_property(f"{who}_regret_pct_{name.lower()}", round(mean, 1))
    assert mean >= least_pct
