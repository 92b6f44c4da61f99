"""The best split of more than two centers."""

from pathlib import Path

import numpy as np

from training.simulation import site_truth, truth, weather
from training.simulation.world import load_world

WORLD = load_world("W1x4")
DRAWN = weather.draw(WORLD, 301, 0)


def test_no_small_exchange_makes_the_best_split_better() -> None:
    best = site_truth.best_shares(WORLD, DRAWN)
    np.testing.assert_allclose(best.sum(axis=0), 1.0)
    least_ms = truth.outcome(WORLD, DRAWN, best).mean_ms
    for giver in range(4):
        for taker in set(range(4)) - {giver}:
            other = best.copy()
            other[giver] -= 0.01
            other[taker] += 0.01
            allowed = (other[giver] >= 0.05 - 1e-9) & (other[taker] <= 0.8 + 1e-9)
            ms = truth.outcome(WORLD, DRAWN, other).mean_ms
            assert (ms[allowed] >= least_ms[allowed] - 1e-9).all()


def test_the_truth_is_written_row_by_row(tmp_path: Path) -> None:
    shares = weather.operator_shares(WORLD, 301, 0)
    found = site_truth.find_truth(WORLD, DRAWN, shares)
    assert (found.oracle_ms <= found.equal_ms).all()
    np.testing.assert_array_equal(found.applied_ms, truth.outcome(WORLD, DRAWN, shares).mean_ms[1:])
    site_truth.write_csv(found, tmp_path / "t.csv")
    header, first, *rest = (tmp_path / "t.csv").read_text().splitlines()
    assert header.startswith("time_s,oracle_share_1,oracle_share_2,oracle_share_3,oracle_share_4,")
    assert len(first.split(",")) == 8
    assert len(rest) == 299
