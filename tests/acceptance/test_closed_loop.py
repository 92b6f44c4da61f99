"""Issue 4, line 1: where the best split is known, hybrid decides nearly as well as can be.

A small run is played, by the same code as the full one of benchmarks.closed_loop.
"""

from collections.abc import Callable

from benchmarks import closed_loop
from training.backtest.tournament import Plan, run

Record = Callable[[str, object], None]

SMALL = Plan(
    contestants=("cpu_equalizer", "observed_laws", "hybrid", "hybrid:dither"),
    worlds=("W1", "W4"),
    days=2,
    seeds=1,
)


def test_hybrid_decides_nearly_as_well_as_a_clairvoyant(record_property: Record) -> None:
    """1. In a closed loop, physics fitted from logs, hybrid has little regret in every world, keeps the envelope's promises and its intervals hold."""  # noqa: E501
    scores = run(SMALL).scores
    table = {(one.world, one.label): one for one in scores}
    figures = closed_loop.figures_of(table, SMALL)
    for name in ("regret_pct_w1", "regret_pct_worst_world", "interval_coverage"):
        record_property(name, round(figures[name], 3))
    assert figures["regret_pct_w1"] <= 2.5
    assert figures["regret_pct_worst_world"] <= 4.0
    assert figures["guard_violations"] == 0
    assert 0.8 <= figures["interval_coverage"] <= 0.97
    for world in SMALL.worlds:
        hybrid, static = table[world, "hybrid"], table[world, "static"]
        assert hybrid.regret_pct < static.regret_pct
        assert hybrid.own_pct == 100.0
