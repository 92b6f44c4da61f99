"""A site that is played: however a run is cut, whoever plays beside, in every world."""

from dataclasses import fields, replace

import numpy as np
import pytest

from tests.training.simulation.places import played, wandering
from training.simulation import simulator, site, truth, weather
from training.simulation.site import Readings
from training.simulation.troubles import READINGS
from training.simulation.world import load_world, world_names

MINUTES = 600


@pytest.mark.parametrize("name", world_names())
def test_a_run_is_the_same_however_it_is_cut(name: str) -> None:
    world = load_world(name)
    drawn = weather.draw(world, MINUTES, 3)
    shares = wandering(drawn, 1, len(world.centers))
    whole = simulator.play_shares(world, drawn, shares)
    for stretch in (1, 5, 37):
        parts, _ = played(world, [drawn], shares[None], stretch)
        mean_ms = np.concatenate([part.mean_ms for part in parts], axis=-1)
        np.testing.assert_allclose(mean_ms, whole.mean_ms, rtol=1e-12)
        for field in fields(Readings):
            got = [getattr(part.seen, field.name) for part in parts]
            expected = getattr(whole.seen, field.name)
            np.testing.assert_allclose(np.concatenate(got, axis=-1), expected, rtol=1e-9)


@pytest.mark.parametrize("name", ["W1", "W3", "W5", "W9", "W1x4"])
def test_a_lane_does_not_know_who_plays_beside_it(name: str) -> None:
    world = load_world(name)
    drawn = [weather.draw(world, 60, seed) for seed in (1, 2)]
    index = np.array([1, 0, 1])
    lanes = site.gather(world, drawn, index)
    shares = np.stack(
        [wandering(drawn[0], lane, len(world.centers))[:, 0] for lane in range(index.size)]
    )
    together, state = site.play(lanes, site.start(lanes), slice(0, 60), shares)
    for lane, seed in enumerate(index):
        alone = site.gather(world, [drawn[seed]])
        one, after = site.play(alone, site.start(alone), slice(0, 60), shares[lane : lane + 1])
        np.testing.assert_array_equal(one.mean_ms[0], together.mean_ms[lane])
        np.testing.assert_array_equal(one.seen.cpu_avg[0], together.seen.cpu_avg[lane])
        np.testing.assert_array_equal(after.memory[0], state.memory[lane])


def test_lanes_of_one_seed_meet_the_same_noise() -> None:
    world = load_world("W1")
    lanes = site.gather(world, [weather.draw(world, 30, 5)], np.array([0, 0]))
    shares = np.array([[0.4, 0.6], [0.6, 0.4]])
    both, _ = site.play(lanes, site.start(lanes), slice(0, 30), shares)
    noise = both.seen.response_time_ms / both.response_ms
    np.testing.assert_allclose(noise[0], noise[1], rtol=1e-12)
    assert (both.seen.cpu_avg[0, 0] < both.seen.cpu_avg[1, 0]).all()


def test_what_happens_is_what_the_truth_says() -> None:
    for name in ("W1", "W2", "W4", "W6", "W9", "W1x4"):
        world = load_world(name)
        drawn = weather.draw(world, MINUTES, 0)
        shares = wandering(drawn, 2, len(world.centers))
        run = simulator.play_shares(world, drawn, shares)
        said = truth.outcome(world, drawn, shares)
        np.testing.assert_allclose(run.mean_ms[0], said.mean_ms, rtol=1e-12)
        np.testing.assert_allclose(run.utilization[0], said.utilization, rtol=1e-12)
        np.testing.assert_allclose(run.requests_rps[0], said.requests_rps, rtol=1e-12)


def test_a_move_costs_where_caches_are_cold_and_no_longer_after_ten_minutes() -> None:
    world = load_world("W3")
    drawn = weather.draw(world, 60, 0)
    ratio = np.full(60, 0.5)
    ratio[20:] = 0.55
    run = simulator.play_ratio(world, drawn, ratio)
    warm = truth.ratio_outcome(world, drawn, ratio).response_ms
    cost = run.response_ms[0] / warm - 1.0
    np.testing.assert_allclose(cost[:, :20], 0.0, atol=1e-12)
    np.testing.assert_allclose(cost[1], 0.0, atol=1e-12)
    # One request in eleven is new to the primary, and takes half as long again.
    assert cost[0, 20] == pytest.approx(0.5 / 11, rel=1e-6)
    assert (np.diff(cost[0, 20:]) < 0).all()
    assert cost[0, 30] < 0.15 * cost[0, 20]


def test_who_comes_back_soon_finds_warm_caches() -> None:
    world = load_world("W3")
    drawn = weather.draw(world, 60, 0)
    soon, late = np.full(60, 0.6), np.full(60, 0.6)
    soon[20:22] = 0.5
    late[20:50] = 0.5
    costs = []
    for ratio, back in ((soon, 22), (late, 50)):
        run = simulator.play_ratio(world, drawn, ratio)
        warm = truth.ratio_outcome(world, drawn, ratio).mean_ms
        costs.append(run.mean_ms[0, back] / warm[back] - 1.0)
    assert 0 < costs[0] < 0.5 * costs[1]


def test_cpu_says_less_than_it_is_where_something_else_gives_out_first() -> None:
    world = load_world("W4")
    drawn = weather.draw(world, MINUTES, 0)
    run = simulator.play_ratio(world, drawn, np.full(MINUTES, 0.2))
    full = run.utilization[0, 1] >= 1.0
    center = world.secondary
    most = center.idle_cpu + 0.6 * (center.full_cpu - center.idle_cpu)
    assert full.any()
    assert run.seen.cpu_avg[0, 1, full].mean() == pytest.approx(most, abs=0.01)


def test_a_center_without_requests_has_no_response_time() -> None:
    world = load_world("W1x4")
    lanes = site.gather(world, [weather.draw(world, 5, 0)])
    shares = np.array([[0.5, 0.3, 0.2, 0.0]])
    run, _ = site.play(lanes, site.start(lanes), slice(0, 5), shares)
    assert np.isnan(run.seen.response_time_ms[0, 3]).all()
    assert (run.seen.request_rate_rps[0, 3] == 0).all()
    assert np.isfinite(run.mean_ms).all()


def test_monitoring_fails_as_drawn() -> None:
    world = load_world("W5")
    drawn = weather.draw(world, 3 * 1440, 1)
    clear = simulator.play_ratio(
        replace(world, faults=None), weather.draw(replace(world, faults=None), 4320, 1), half(4320)
    )
    run = simulator.play_ratio(world, drawn, half(4320))
    reporting = drawn.reporting
    assert reporting is not None
    np.testing.assert_array_equal(run.mean_ms, clear.mean_ms)
    stuck = reporting.source != np.arange(4320)
    for at, name in enumerate(READINGS):
        seen, true = getattr(run.seen, name)[0], getattr(clear.seen, name)[0]
        missing = reporting.missing[at]
        assert np.isnan(seen[missing]).all()
        plain = ~missing & ~stuck
        np.testing.assert_array_equal(seen[plain], true[plain])
        center, minute = np.argwhere(stuck & ~missing)[-1]
        assert seen[center, minute] == true[center, reporting.source[center, minute]]
    np.testing.assert_array_equal(run.seen.arrives_minute[0], reporting.arrives_minute)


def half(minutes: int) -> np.ndarray:
    return np.full(minutes, 0.5)
