"""The worlds: read from files, and each discriminates between strategies (its floor)."""

from pathlib import Path

import numpy as np
import pytest

from controlplane.domain.errors import Invalid
from controlplane.domain.strategies.candidates import GRID
from training.simulation import physics, simulator, truth, weather
from training.simulation.arrivals import DAY_MINUTES
from training.simulation.contrast import Contrast, contrast
from training.simulation.world import load_world, world_names

DAYS = 14
WITH_TWO = tuple(name for name in world_names() if len(load_world(name).centers) == 2)


def judged_in(name: str, days: int = DAYS) -> Contrast:
    world = load_world(name)
    return contrast(world, weather.draw(world, days * DAY_MINUTES, 0))


@pytest.mark.parametrize("name", WITH_TWO)
def test_the_site_can_bear_its_world_and_half_wastes_something(name: str) -> None:
    judged = judged_in(name)
    assert judged.regret_pct(judged.held(0.5)) >= 3.0
    assert 0.2 <= np.median(GRID[judged.oracle]) <= 0.8
    # Moving beats the best that can be held, or there would be nothing to learn.
    assert judged.regret_pct(judged.best_static) >= 1.0
    world = load_world(name)
    if world.users is None and world.losses is None:
        assert judged.overloaded(judged.oracle) <= 60


def test_w1_half_has_a_regret_of_at_least_8_percent() -> None:
    judged = judged_in("W1", days=28)
    half = judged.held(0.5)
    assert judged.regret_pct(half) >= 8.0
    assert judged.regret_pct(judged.by_cpu) <= 3.0
    assert judged.overloaded(judged.oracle) < 0.2 * judged.overloaded(half)


def test_w2_equal_cpu_is_not_enough_where_distance_counts() -> None:
    judged = judged_in("W2")
    assert judged.regret_pct(judged.by_cpu) >= 5.0


def test_w4_equal_cpu_has_a_regret_of_at_least_20_percent() -> None:
    judged = judged_in("W4")
    assert judged.regret_pct(judged.by_cpu) >= 20.0


def test_w6_loses_machines_at_the_peak_and_the_best_ratio_follows() -> None:
    world = load_world("W6")
    drawn = weather.draw(world, DAYS * DAY_MINUTES, 0)
    judged = contrast(world, drawn)
    lost = drawn.available < 1.0
    assert 0.5 <= drawn.available.min() <= 0.7
    hour = np.flatnonzero(lost.any(axis=0)) % DAY_MINUTES / 60
    assert hour.min() >= 9.0
    assert hour.max() <= 21.0
    # The center that lost machines gives up share.
    ratio = GRID[judged.oracle]
    assert lost.any(axis=1).all()
    assert ratio[lost[0]].mean() < ratio.mean() - 0.05
    assert ratio[lost[1]].mean() > ratio.mean() + 0.05
    assert judged.regret_pct(judged.held(0.5)) >= 10.0


def test_w9_half_is_far_from_the_best_in_time_and_in_saturation_throughput() -> None:
    judged, world = judged_in("W9"), load_world("W9")
    half, static, oracle = judged.held(0.5), judged.best_static, judged.oracle
    served_rps = judged.saturation_rps
    assert served_rps(oracle) > 1.03 * served_rps(static) > 1.06 * served_rps(half)
    assert judged.response_ms(oracle) < 0.97 * judged.response_ms(static)
    assert judged.response_ms(static) < 0.9 * judged.response_ms(half)
    capacities = [center.capacity_rps for center in world.centers]
    assert capacities == pytest.approx([1000.0, 745.0], rel=1e-6)
    assert world.operator.shares == (0.5, 0.5)


def test_w1x4_equal_shares_waste_at_least_5_percent() -> None:
    world = load_world("W1x4")
    drawn = weather.draw(world, 7 * DAY_MINUTES, 0)
    free = physics.free_capacity_rps(physics.constants(world), truth.strain(drawn))
    shares = free / free.sum(axis=0)
    costs = [
        (truth.outcome(world, drawn, split).mean_ms * drawn.arrival_rps).sum()
        for split in (shares, np.full((4, 1), 0.25))
    ]
    assert costs[1] > 1.05 * costs[0]


@pytest.mark.parametrize("name", world_names())
def test_the_operator_hardly_moves(name: str) -> None:
    world = load_world(name)
    shares = weather.operator_shares(world, 5_000, 1)
    np.testing.assert_allclose(shares.sum(axis=0), 1.0)
    assert shares.shape == (len(world.centers), 5_000)
    assert (shares[:-1].std(axis=1) < 0.025).all()
    np.testing.assert_allclose(shares.mean(axis=1), world.operator.shares, atol=0.01)


@pytest.mark.parametrize("name", WITH_TWO)
def test_same_seed_same_rows_and_another_seed_others(name: str) -> None:
    world = load_world(name)
    digests = []
    for seed in (3, 3, 4):
        drawn = weather.draw(world, 500, seed)
        ratio = weather.operator_ratio(world, 500, seed)
        digests.append(simulator.simulate(world, drawn, ratio).digest())
    assert digests[0] == digests[1] != digests[2]


def test_a_world_is_like_another_but_for_what_it_says() -> None:
    one, far = load_world("W1"), load_world("W2")
    assert far.primary == one.primary
    assert far.arrivals == one.arrivals
    assert far.secondary.network_ms == 60.0
    assert far.secondary.servers == one.secondary.servers


@pytest.mark.parametrize(("name", "message"), [("W99", "no world"), ("missing.toml", "no world")])
def test_an_unknown_world_is_named(name: str, message: str) -> None:
    with pytest.raises(Invalid, match=message):
        load_world(name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('name = "X"\nresponse_noise = 0.1\n[arrivals]\n[operator]\n', "centers: field required"),
        ('like = "W1"\nname = "X"\n[arrivals]\nfoo = 1\n', "arrivals foo: unexpected"),
        ('like = "W1"\nname = "X"\n[weather]\nfoo = 1\n', "weather: unexpected"),
        ('like = "W1"\nname = "X"\n[operator]\nshares = [0.3, 0.3, 0.4]\n', "one operator share"),
        ('like = "W3"\nname = "X"\n[users]\nthink_ms = 1.0\n', "cold caches"),
        ('like = "W1"\nname = ', "w.toml"),
    ],
)
def test_a_wrong_world_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "w.toml"
    path.write_text(text)
    with pytest.raises(Invalid, match=message):
        load_world(str(path))
