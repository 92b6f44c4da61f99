"""Losses and faults: drawn from day 0 on, within their limits, and never before."""

import numpy as np

from training.simulation import troubles
from training.simulation.troubles import READINGS, Span
from training.simulation.world import Faults, load_world

MINUTES = 28 * 1440
FAULTS = load_world("W5").faults
LOSSES = load_world("W6").losses


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def test_logs_from_before_the_run_have_neither() -> None:
    before = Span(first_day=-28, minutes=MINUTES, centers=2)
    assert (troubles.draw_available(LOSSES, before, rng()) == 1.0).all()
    reporting = troubles.draw_reporting(FAULTS, before, rng())
    assert reporting is not None
    assert not reporting.missing.any()
    np.testing.assert_array_equal(reporting.source, reporting.arrives_minute)


def test_a_sound_place_has_none() -> None:
    span = Span(first_day=0, minutes=100, centers=3)
    assert (troubles.draw_available(None, span, rng()) == 1.0).all()
    assert troubles.draw_reporting(None, span, rng()) is None


def test_losses_keep_their_limits() -> None:
    assert LOSSES is not None
    available = troubles.draw_available(
        LOSSES, Span(first_day=0, minutes=MINUTES, centers=2), rng()
    )
    lost = available < 1.0
    assert not lost.all(axis=0).any()
    edges = np.diff(lost.any(axis=0).astype(int), prepend=0, append=0)
    lengths = np.flatnonzero(edges == -1) - np.flatnonzero(edges == 1)
    assert 4 <= lengths.size <= 18
    assert lengths.min() >= LOSSES.shortest_minutes
    assert lengths.max() <= LOSSES.longest_minutes
    assert LOSSES.least_left <= available[lost].min()
    assert available[lost].max() <= LOSSES.most_left


def test_faults_come_as_often_as_said() -> None:
    assert FAULTS is not None
    reporting = troubles.draw_reporting(
        FAULTS, Span(first_day=0, minutes=MINUTES, centers=2), rng()
    )
    assert reporting is not None
    minute = np.arange(MINUTES)
    usual = FAULTS.mean_minutes / 1440
    late = (reporting.arrives_minute - minute == FAULTS.late_minutes).mean()
    stuck = (reporting.source != minute).mean()
    silent = np.isinf(reporting.arrives_minute).mean()
    for share in (late, stuck, silent):
        assert 0.6 * 2 * usual < share < 1.4 * 2 * usual
    assert 0.6 * 4 * usual < reporting.missing.any(axis=0).mean() < 1.4 * 4 * usual
    assert reporting.missing.any(axis=(1, 2)).sum() == len(READINGS)


def test_what_stands_still_repeats_the_minute_before() -> None:
    always = Faults(
        late_per_day=0.0, stuck_per_day=400.0, missing_per_day=0.0, gap_per_day=0.0,
        mean_minutes=10.0, late_minutes=0,
    )  # fmt: skip
    reporting = troubles.draw_reporting(always, Span(first_day=0, minutes=600, centers=1), rng())
    assert reporting is not None
    source = reporting.source[0]
    assert (source <= np.arange(600)).all()
    assert (np.diff(source) >= 0).all()
    known = source >= 0
    # The minute that is repeated is one that was reported itself.
    np.testing.assert_array_equal(source[source[known]], source[known])
