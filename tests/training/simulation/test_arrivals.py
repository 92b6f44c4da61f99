"""Arrivals: the drawn pattern, traces, and what logs from before the run do not have."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from controlplane.domain.errors import Invalid
from training.simulation import arrivals, weather
from training.simulation.arrivals import DAY_MINUTES
from training.simulation.world import World, load_world


@pytest.fixture(scope="module")
def world() -> World:
    return load_world("W1")


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
    "text",
    [
        "",
        "a,b\n1,2\n",
        *(f"period,count\n1,9\n2,{cell}\n" for cell in ("many", "nan", "-5", "inf", "1e400")),
        "period,count\n1,0\n",
    ],
)
def test_a_bad_trace_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(text)
    with pytest.raises(Invalid, match="trace"):
        arrivals.read_trace(path, 300.0)


def test_the_holiday_is_not_in_the_logs() -> None:
    pattern = replace(load_world("W7").arrivals, noise=0.0)
    logs = arrivals.draw(pattern, 14 * DAY_MINUTES, np.random.default_rng(0), -14)
    run = arrivals.draw(pattern, 7 * DAY_MINUTES, np.random.default_rng(0))
    holiday = run[2 * DAY_MINUTES : 5 * DAY_MINUTES]
    assert holiday.max() > 1.3 * logs.max()
    # Of the same weekdays as in the logs, half as many again.
    np.testing.assert_allclose(holiday, 1.5 * logs[2 * DAY_MINUTES : 5 * DAY_MINUTES])


def test_a_trace_goes_on_from_the_logs_into_the_run_and_begins_again() -> None:
    pattern = load_world("W8").arrivals
    logs = arrivals.draw(pattern, 14 * DAY_MINUTES, np.random.default_rng(3), -14)
    run = arrivals.draw(pattern, 31 * DAY_MINUTES, np.random.default_rng(3))
    assert run[0] == pytest.approx(logs[-1], rel=0.2)
    # A month before the run is a month after it: there is only one.
    np.testing.assert_array_equal(run[-14 * DAY_MINUTES :], logs)
    other = arrivals.draw(pattern, DAY_MINUTES, np.random.default_rng(4))
    assert not np.array_equal(other, run[:DAY_MINUTES])


def test_the_real_month_has_the_known_minutes() -> None:
    pattern = load_world("W8").arrivals
    run = arrivals.draw(pattern, 44_640, np.random.default_rng(0))
    assert np.quantile(run, 0.995) == pytest.approx(pattern.peak_rps, rel=1e-6)
    assert run.max() / np.median(run) == pytest.approx(14.0, rel=0.01)
    assert run.min() / run.max() == pytest.approx(4_645 / 229_426, rel=1e-6)


def test_logs_and_run_under_one_seed_are_different_draws(world: World) -> None:
    logs = weather.draw(world, DAY_MINUTES, 3, first_day=-1)
    run = weather.draw(world, DAY_MINUTES, 3)
    assert logs.time_s[-1] + 60 == run.time_s[0]
    assert np.abs(np.corrcoef(logs.batch[0], run.batch[0])[0, 1]) < 0.999
    assert not np.array_equal(
        weather.operator_shares(world, 60, 3, -1), weather.operator_shares(world, 60, 3)
    )
