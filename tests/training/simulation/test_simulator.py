"""The simulator: size, seeds, physics, and a truth that strategies can be judged by."""

from pathlib import Path

import numpy as np
import pytest

from controlplane.domain.errors import Invalid
from training.simulation import arrivals, simulator, truth, weather
from training.simulation.arrivals import DAY_MINUTES
from training.simulation.world import World, load_world

DAYS = 7


@pytest.fixture(scope="module")
def world() -> World:
    return load_world("W1")


@pytest.fixture(scope="module")
def drawn(world: World) -> weather.Weather:
    return weather.draw(world, DAYS * DAY_MINUTES + 1, 0)


def test_the_paper_month_has_44640_rows_from_1_march_2025(world: World) -> None:
    minutes = 31 * DAY_MINUTES + 1
    drawn = weather.draw(world, minutes, 0)
    rows = simulator.simulate(world, drawn, weather.operator_ratio(world, minutes, 0))
    assert len(rows) == 44_640
    assert rows.time_s[0] == 1_740_787_200
    assert rows.time_s[-1] == 1_740_787_200 + 44_639 * 60
    assert np.isfinite(rows.inputs()).all()
    assert (rows.response_time_ms > 0).all()
    assert 0.005 < rows.ratio.std() < 0.03
    assert abs(rows.ratio.mean() - 0.5) < 0.01


def test_half_has_a_regret_of_at_least_8_percent_in_w1(world: World) -> None:
    minutes = 28 * DAY_MINUTES + 1
    drawn = weather.draw(world, minutes, 0)
    half = np.full(minutes, 0.5)
    best = truth.find_truth(world, drawn, half)
    load = drawn.arrival_rps[1:]
    assert (best.half_ms * load).sum() / (best.oracle_ms * load).sum() >= 1.08
    np.testing.assert_array_equal(best.half_ms, best.applied_ms)


def test_the_oracle_is_never_beaten(world: World, drawn: weather.Weather) -> None:
    minutes = drawn.minutes
    best = truth.find_truth(world, drawn, np.full(minutes, 0.5))
    for ratio in (0.2, 0.37, 0.5, 0.63, 0.8):
        ms = truth.ratio_outcome(world, drawn, np.full(minutes, ratio)).mean_ms[1:]
        assert (best.oracle_ms <= ms + 1e-9).all()
    chosen = np.concatenate([[0.5], best.oracle_ratio])
    np.testing.assert_allclose(
        truth.ratio_outcome(world, drawn, chosen).mean_ms[1:], best.oracle_ms
    )
    assert np.ptp(best.oracle_ratio) > 0.2


def test_same_seed_same_rows_and_another_seed_others(world: World) -> None:
    digests = []
    for seed in (3, 3, 4):
        drawn = weather.draw(world, 500, seed)
        ratio = weather.operator_ratio(world, 500, seed)
        digests.append(simulator.simulate(world, drawn, ratio).digest())
    assert digests[0] == digests[1] != digests[2]


def test_cpu_and_bandwidth_are_consequences_of_the_ratio(
    world: World, drawn: weather.Weather
) -> None:
    minutes = drawn.minutes
    low, high = (simulator.simulate(world, drawn, np.full(minutes, ratio)) for ratio in (0.3, 0.7))
    assert (high.primary.cpu_avg.mean() - low.primary.cpu_avg.mean()) > 0.1
    assert (high.secondary.cpu_avg.mean() - low.secondary.cpu_avg.mean()) < -0.1
    scale = high.primary.ingress_bandwidth_bps.mean() / low.primary.ingress_bandwidth_bps.mean()
    assert scale == pytest.approx(7 / 3, rel=0.01)
    np.testing.assert_allclose(
        high.primary.traffic_share + high.secondary.traffic_share, 1.0, atol=1e-12
    )


def test_the_label_is_the_next_minute(world: World, drawn: weather.Weather) -> None:
    minutes = drawn.minutes
    ratio = np.full(minutes, 0.5)
    ratio[100:] = 0.6
    rows = simulator.simulate(world, drawn, ratio)
    assert (rows.ratio[98], rows.ratio[99]) == (0.5, 0.6)
    assert abs(rows.primary.traffic_share[99] - 0.5) < abs(rows.primary.traffic_share[99] - 0.6)
    merged = (
        rows.primary.request_rate_rps * rows.primary.response_time_ms
        + rows.secondary.request_rate_rps * rows.secondary.response_time_ms
    ) / (rows.primary.request_rate_rps + rows.secondary.request_rate_rps)
    np.testing.assert_allclose(rows.response_time_ms[:-1], merged[1:], rtol=1e-12)


def test_candidates_broadcast_over_a_leading_axis(world: World, drawn: weather.Weather) -> None:
    minutes = drawn.minutes
    both = np.stack([np.full(minutes, 0.4), np.full(minutes, 0.6)])
    together = truth.ratio_outcome(world, drawn, both).mean_ms
    np.testing.assert_array_equal(together[1], truth.ratio_outcome(world, drawn, both[1]).mean_ms)


def test_releases_and_the_holiday_raise_arrivals(world: World) -> None:
    pattern = world.arrivals
    rate = arrivals.draw(pattern, 31 * DAY_MINUTES, np.random.default_rng(0))
    days = rate.reshape(31, DAY_MINUTES)
    assert days[:, 8 * 60].mean() > 1.1 * days[:, 8 * 60 - 2].mean()
    holiday = days[pattern.holiday_first_day : pattern.holiday_first_day + pattern.holiday_days]
    assert holiday.mean() > 1.04 * np.delete(days, range(19, 22), axis=0).mean()
    assert (rate > 0).all()


def test_given_arrivals_are_used_as_they_are(world: World) -> None:
    given = np.linspace(10.0, 200.0, 300)
    drawn = weather.draw(world, 300, 0, given)
    np.testing.assert_array_equal(drawn.arrival_rps, given)


def test_a_trace_is_scaled_to_the_peak(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("period,count\n" + "".join(f"{i},{i % 50 + 1}\n" for i in range(200)))
    rates = arrivals.read_trace(path, 300.0)
    assert rates.size == 200
    assert rates.max() == pytest.approx(300.0, rel=0.01)
    with pytest.raises(Invalid, match="fewer --days"):
        arrivals.for_run(path, 300.0, 201)


@pytest.mark.parametrize(
    "text", ["", "a,b\n1,2\n", "period,count\nx,many\n", "period,count\n1,0\n"]
)
def test_a_bad_trace_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(text)
    with pytest.raises(Invalid, match="trace"):
        arrivals.read_trace(path, 300.0)


@pytest.mark.parametrize(("name", "message"), [("W99", "no world"), ("missing.toml", "no world")])
def test_an_unknown_world_is_named(name: str, message: str) -> None:
    with pytest.raises(Invalid, match=message):
        load_world(name)


def test_a_world_with_an_unknown_field_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "w.toml"
    path.write_text(
        'name = "X"\nresponse_noise = 0.1\n'
        "[arrivals]\nfoo = 1\n[operator]\n[primary]\n[secondary]\n"
    )
    with pytest.raises(Invalid, match="unknown"):
        load_world(str(path))
