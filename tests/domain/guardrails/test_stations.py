"""S2's workload, scaled down: stations of three regions, and the morning peak of one."""

import math
import random
from itertools import pairwise

import pytest

from tests.domain.three_regions import REGIONS, RegionalWorld, make_centers

# A station reports about every five minutes, so 3,111 of them send some 10.4 messages a second.
# One tenth of the machines that S2 measured bears them: B is 1 at 5 messages a second each.
STATIONS = {"north": 1_500, "south": 900, "west": 711}
MESSAGE_EVERY_S = 300.0
FULL_RPS = (5.6, 4.4, 4.4)
CRITICAL = 0.85
HOUR = 12
# From five in the morning until noon.
CYCLES = range(5 * HOUR, 12 * HOUR)


def rate(region: str, cycle: int) -> float:
    """Messages per second: rentals come on top of the reports, in the north in the morning."""
    reports = STATIONS[region] / MESSAGE_EVERY_S
    hour = cycle / HOUR % 24
    morning = (0.45 if region == "north" else 0.05) * math.exp(-(((hour - 8.0) / 1.5) ** 2))
    return reports * (0.75 + morning)


def played(noise: float) -> tuple[RegionalWorld, list[tuple[float, ...]], list[float]]:
    """A morning: the world, the loads of each cycle, and the home share of the north."""
    rng = random.Random(2)
    world = RegionalWorld(demand={}, centers=make_centers(FULL_RPS), full_rps=FULL_RPS)
    loads, home = [], []
    for cycle in CYCLES:
        world.demand = {region: rate(region, cycle) for region in REGIONS}
        world.cycle([[1.0 + rng.gauss(0.0, noise) for _ in REGIONS] for _ in range(5)])
        loads.append(world.loads())
        home.append(world.rows()[0][0])
    return world, loads, home


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_the_morning_peak_overflows_and_comes_home(noise: float) -> None:
    world, loads, home = played(noise)
    alone = max(rate("north", cycle) for cycle in CYCLES) / FULL_RPS[0]
    assert alone > 1.0
    # Overflow follows the steep flank: critical in three cycles at the most, and hardly.
    over = [max(one) for one in loads if max(one) > CRITICAL]
    assert len(over) <= 3
    assert max(map(max, loads)) < CRITICAL + 0.02
    assert min(home) < 0.80
    # Before and after everybody is at home.
    assert home[0] == home[-1] == 1.0
    assert all(row[at] == 1.0 for at, row in enumerate(world.rows()[:3]))
    # One way out and one way back: the ways do not alternate.
    ways = [after > before for before, after in pairwise(home) if after != before]
    assert sum(a != b for a, b in pairwise(ways)) == 1
    assert world.moves() <= 12


def test_only_the_hot_region_moves() -> None:
    world, _, _ = played(0.02)
    for verdict in world.verdicts:
        assert verdict.regions[1] == (0.0, 1.0, 0.0)
        assert verdict.regions[2] == (0.0, 0.0, 1.0)
