"""A run as files and facts, of every world."""

from pathlib import Path

import numpy as np
import pytest

from training import dataset, site_dataset
from training.simulation import outputs, weather
from training.simulation.outputs import Run
from training.simulation.world import load_world, world_names

MINUTES = 601


def run_of(name: str) -> Run:
    world = load_world(name)
    drawn = weather.draw(world, MINUTES, 1)
    shares = weather.operator_shares(world, MINUTES, 1)
    return Run(world=world, weather=drawn, shares=shares)


@pytest.mark.parametrize("name", world_names())
def test_rows_and_truth_of_every_world(tmp_path: Path, name: str) -> None:
    facts = outputs.write(run_of(name), tmp_path / "rows.csv", tmp_path / "truth.csv")
    read = dataset if len(load_world(name).centers) == 2 else site_dataset
    rows = read.read_csv(tmp_path / "rows.csv")
    assert facts["world"] == name
    # Rows without a label are in the file and are left out by whoever reads it.
    assert 0.8 * facts["rows"] < len(rows) <= facts["rows"]
    assert 0 < facts["oracle_ms"] < facts["applied_ms"]
    assert facts["applied_p99_ms"] > 3 * facts["applied_ms"]
    truth_rows = np.genfromtxt(tmp_path / "truth.csv", delimiter=",", names=True)
    assert len(truth_rows) == MINUTES - 1
    assert (truth_rows["oracle_ms"] <= truth_rows["applied_ms"] * 1.001).all()


def test_a_closed_loop_tells_its_throughput(tmp_path: Path) -> None:
    facts = outputs.write(run_of("W9"), tmp_path / "rows.csv", None)
    assert facts["saturating_minutes"] > 10
    assert facts["half_saturation_rps"] < facts["best_static_saturation_rps"]
    assert facts["best_static_saturation_rps"] < facts["oracle_saturation_rps"]
    assert not (tmp_path / "truth.csv").exists()
    assert "saturating_minutes" not in outputs.write(run_of("W1"), tmp_path / "rows.csv", None)
