"""Versions that contestants begin with."""

from pathlib import Path

import numpy as np
import pytest

from tests.training.backtest.playing import W1
from training.backtest.preparation import Schooling, graduate, histories, logs, place, school
from training.simulation import weather


def test_logs_are_a_month_before_the_run_under_the_operator() -> None:
    rows = logs(W1, 1)
    assert len(rows) == 31 * 1440
    assert rows.time_s[-1] < weather.draw(W1, 1, 1).time_s[0] <= rows.time_s[-1] + 120.0
    assert abs(float(np.median(rows.ratio)) - W1.operator.shares[0]) < 0.02


@pytest.mark.usefixtures("short_logs")
def test_worlds_that_differ_later_share_their_logs() -> None:
    found = histories(("W5", "W1", "W2", "W6", "W1x4"))
    assert found == {"W5": "W5", "W1": "W5", "W2": "W2", "W6": "W5"}


@pytest.mark.usefixtures("short_logs")
def test_a_version_is_trained_and_read_as_serving_does(tmp_path: Path) -> None:
    school(Schooling(world="W1", seeds=(0, 1), settings="quick", folder=tmp_path))
    first, second = (graduate(tmp_path, "W1", seed) for seed in (0, 1))
    assert first.digest != second.digest
    assert len(first.laws) == 2
    # The fleet declares nothing: physics is fitted, and near what the world has.
    assert first.laws[0].base_ms == pytest.approx(W1.primary.law.base_ms, rel=0.15)


def test_worlds_of_one_file_name_have_places_of_their_own(tmp_path: Path) -> None:
    told = ("W1", "mine.toml", "east/mine.toml", "west/mine.toml", "we\udcffst/mine.toml")
    places = {place(tmp_path, world, seed) for world in told for seed in (0, 1)}
    assert len(places) == 2 * len(told)
    assert {one.parent for one in places} == {tmp_path}
