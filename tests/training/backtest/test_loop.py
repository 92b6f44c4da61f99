"""The closed loop: the same weather for all, samples as they arrive, guards where they belong."""

from dataclasses import replace

import numpy as np
import pytest

from controlplane.domain.guardrails.state import Outcome, Verdict
from controlplane.domain.telemetry import Sample
from tests.training.backtest.playing import W1, entered, lived, through
from training.backtest.lane import Decided, Lane
from training.backtest.loop import CYCLE_MINUTES, Course, play
from training.simulation import truth, weather
from training.simulation.troubles import READINGS, Reporting
from training.simulation.weather import Weather
from training.simulation.world import load_world

HOURS = 6 * 60
RULES = ("cpu_equalizer", "observed_laws", "cpu_equalizer:bare")


@pytest.fixture(scope="module")
def course() -> Course:
    return lived(RULES, HOURS, seeds=(0, 1))


def test_all_meet_the_same_weather(course: Course) -> None:
    by_seed = course.requests_rps.reshape(len(RULES), 2, HOURS)
    assert (by_seed == by_seed[0]).all()
    assert (by_seed[0, 0] != by_seed[0, 1]).any()


@pytest.mark.parametrize("label", RULES)
def test_one_alone_gives_the_same_numbers_as_among_others(course: Course, label: str) -> None:
    at = 2 * RULES.index(label)
    alone = lived([label], HOURS, seeds=(0, 1))
    assert np.array_equal(alone.shares, course.shares[at : at + 2])
    assert np.array_equal(alone.mean_ms, course.mean_ms[at : at + 2])


def test_a_held_ratio_gives_what_the_truth_says() -> None:
    drawn = weather.draw(W1, HOURS, 0)
    course = through(["static"], W1, [drawn])
    known = truth.ratio_outcome(W1, drawn, np.array([W1.operator.shares[0]]))
    assert (course.shares[0] == W1.operator.shares).all()
    assert course.mean_ms[0] == pytest.approx(known.mean_ms)
    assert course.own.all()


def test_a_decision_is_in_force_from_the_next_cycle_on(course: Course) -> None:
    assert (course.shares[:, 0] == W1.operator.shares).all()
    assert (course.shares[:, -1] != W1.operator.shares).any()
    assert course.shares.sum(axis=2) == pytest.approx(1.0)


def test_behind_the_envelope_steps_are_small_and_bare_they_are_not(course: Course) -> None:
    steps = np.abs(np.diff(course.shares[:, :, 0], axis=1)).max(axis=1).reshape(len(RULES), 2)
    assert (steps[:2] <= 0.05 + 1e-4).all()
    assert steps[2].max() > 0.05
    assert course.violations == ((),) * 6


def test_who_has_no_model_does_not_decide_itself() -> None:
    course = lived(["hybrid"], HOURS)
    assert not course.own.any()


def test_chance_breaks_no_promise() -> None:
    course = lived(["hybrid:dither"], 1440)
    assert (np.diff(course.shares[0, :, 0]) != 0).any()
    assert course.violations == ((),)


def test_a_rest_of_less_than_a_cycle_is_left_out() -> None:
    told: list[int] = []
    course = play(W1, [weather.draw(W1, 17, 0)], [(0, entered("static"))], told.append)
    assert told == [1, 2, 3]
    assert course.mean_ms.shape == (1, 15)


def test_overload_is_of_any_center() -> None:
    crowd = weather.draw(W1, 60, 0, arrival_rps=np.full(60, 900.0))
    course = through(["static"], W1, [crowd])
    assert course.overloaded.all()
    assert not lived(["static"], 60).overloaded.any()


class Listening(Lane):
    """A lane that keeps what it was sent, batch by batch."""

    __slots__ = ("batches",)

    batches: list[list[Sample]]

    def observe(self, samples: list[Sample]) -> None:  # type: ignore[override]
        self.batches.append(list(samples))
        super().observe(samples)


def heard(drawn: Weather, label: str = "cpu_equalizer") -> Listening:
    """A lane that lived through a weather."""
    made = entered(label)
    listening = Listening(**{name: getattr(made, name) for name in Lane.__dataclass_fields__})
    listening.batches = []
    play(W1, [drawn], [(0, listening)])
    return listening


def reported(drawn: Weather, late: slice = slice(0), lost: slice = slice(0)) -> Weather:
    """The first center's samples come ten minutes late, the second's never, in these minutes."""
    minute = np.arange(drawn.minutes)
    arrives = np.tile(minute.astype(np.float64), (2, 1))
    arrives[0, late] += 10.0
    arrives[1, lost] = np.inf
    spoiled = Reporting(
        source=np.tile(minute.astype(np.int32), (2, 1)),
        missing=np.zeros((len(READINGS), 2, drawn.minutes), dtype=np.bool_),
        arrives_minute=arrives,
    )
    return replace(drawn, reporting=spoiled)


class Leaping(Lane):
    """A lane whose envelope is broken: a tenth to the second center after the third cycle."""

    __slots__ = ()

    def decide(self, now_s: float) -> Decided:
        cycle = round((now_s - W1.arrivals.start_time_s) / 300.0)
        self.applied = (0.4, 0.6) if cycle >= 3 else (0.5, 0.5)
        verdict = Verdict(outcome=Outcome.MOVED, shares=self.applied, state=self.state)
        return Decided(shares=self.applied, strategy="static", verdict=verdict)


@pytest.mark.parametrize(("before", "after", "broken"), [(200, 200, 1), (200, 600, 0)])
def test_a_leap_is_a_violation_but_where_a_center_was_hot_or_was_going_to_be(
    before: float, after: float, broken: int
) -> None:
    arrivals = np.repeat([before, after], [15, 15]).astype(np.float64)
    made = entered("static")
    lane = Leaping(**{name: getattr(made, name) for name in Lane.__dataclass_fields__})
    course = play(W1, [weather.draw(W1, 30, 0, arrival_rps=arrivals)], [(0, lane)])
    assert len(course.violations[0]) == broken
    assert all("a step of 0.1000" in violation for violation in course.violations[0])


def test_samples_arrive_with_their_cycle() -> None:
    drawn = weather.draw(W1, 30, 0)
    for cycle, batch in enumerate(heard(drawn).batches):
        minutes = drawn.time_s[cycle * CYCLE_MINUTES : (cycle + 1) * CYCLE_MINUTES].tolist()
        for name in ("center-1", "center-2"):
            assert [one.time_s for one in batch if one.datacenter == name] == minutes
        assert all(one.received_s == one.time_s for one in batch)


def test_what_is_late_is_received_late_and_stands_in_order() -> None:
    drawn = reported(weather.draw(W1, 60, 0), late=slice(40, 45))
    lane = heard(drawn)
    late = [one for one in lane.batches[10] if one.time_s in drawn.time_s[40:45]]
    assert [one.received_s - one.time_s for one in late] == [600.0] * 5
    assert not [one for one in lane.batches[8] if one.datacenter == "center-1"]
    times = [one.time_s for one in lane.window.samples["center-1"]]
    assert times == sorted(times)
    assert set(drawn.time_s[50:]) <= set(times)


def test_what_never_arrives_is_not_there() -> None:
    drawn = reported(weather.draw(W1, 60, 0), lost=slice(30, None))
    lane = heard(drawn)
    assert max(one.time_s for one in lane.window.samples["center-2"]) == drawn.time_s[29]
    assert max(one.time_s for one in lane.window.samples["center-1"]) == drawn.time_s[59]


def test_bad_monitoring_is_survived() -> None:
    world = load_world("W5")
    course = lived(("observed_laws", "cpu_equalizer"), 1440, world, seeds=(0, 1))
    assert course.violations == ((),) * 4
    assert np.isfinite(course.mean_ms).all()
    for lane in course.lanes:
        for history in lane.window.samples.values():
            assert [one.time_s for one in history] == sorted(one.time_s for one in history)
            assert all(one.received_s >= one.time_s for one in history)
            assert all(one.request_rate_rps is not None for one in history)
