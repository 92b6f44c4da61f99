"""The figures of benchmarks.closed_loop: from which rows they are, and that each is documented."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.closed_loop import FAULTY, FULL, MAIN, QUICK, Figures, Table, figures_of
from tests.training.backtest.shown import SCORE
from training.backtest.reference import labels
from training.backtest.tournament import Plan

PAGE = (Path(__file__).parents[3] / "docs" / "benchmarks.md").read_text(encoding="utf-8")


def table(plan: Plan) -> Table:
    """Everyone has the same figures in every world."""
    return {
        (world, label): replace(SCORE, world=world, label=label, saturation_rps=300.0)
        for world in plan.worlds
        for label in (*labels(), *plan.contestants)
    }


def changed(world: str, label: str, **figures: float) -> Figures:
    """The figures of the full plan when one row is different."""
    rows = table(FULL)
    rows[world, label] = replace(rows[world, label], **figures)
    return figures_of(rows, FULL)


@pytest.mark.parametrize("name", [*figures_of(table(FULL), FULL), "minutes"])
def test_each_figure_is_documented(name: str) -> None:
    told = re.sub(r"^(regret_pct_w)\d$", r"\g<1>1", name)
    assert f"`{told}`" in PAGE


def test_a_quick_run_has_those_that_its_worlds_allow() -> None:
    quick = figures_of(table(QUICK), QUICK)
    assert {"regret_pct_w1", "regret_pct_worst_world", "gap_to_best_simple_pts"} <= set(quick)
    assert not {"regret_pct_w2", "worst_fault_world_vs_static_pct", "paper_table_rt_pct"} & set(
        quick
    )


@pytest.mark.parametrize("world", FAULTY)
def test_where_something_breaks_static_is_the_measure_and_not_the_clairvoyant(world: str) -> None:
    usual = figures_of(table(FULL), FULL)
    found = changed(world, MAIN, regret_pct=9.0, vs_static_pct=3.0)
    assert found["worst_fault_world_vs_static_pct"] == 3.0
    assert found["regret_pct_worst_world"] == usual["regret_pct_worst_world"]


def test_the_worst_sound_world_counts() -> None:
    assert changed("W8", MAIN, regret_pct=2.5)["regret_pct_worst_world"] == 2.5


def test_the_gap_is_to_the_simple_strategy_that_is_best_in_that_world() -> None:
    assert changed("W6", "threshold", regret_pct=0.5)["gap_to_best_simple_pts"] == pytest.approx(
        SCORE.regret_pct - 0.5
    )


@pytest.mark.parametrize("label", ["hybrid:dither", "threshold"])
def test_a_violation_counts_whoever_has_it(label: str) -> None:
    assert changed("W9", label, violations=2)["guard_violations"] == 2.0


def test_more_overload_than_the_clairvoyant_has_is_excess() -> None:
    found = changed("W3", MAIN, overload_minutes_14d=SCORE.overload_minutes_14d + 7.0)
    assert found["excess_overload_minutes_14d"] == 7.0


def test_throughput_is_compared_where_users_saturate_the_site() -> None:
    found = changed("W9", MAIN, saturation_rps=360.0, vs_static_pct=-20.0)
    assert found["paper_table_qps_pct"] == pytest.approx(20.0)
    assert found["paper_table_rt_pct"] == -20.0
    assert found["best_static_qps_pct"] == pytest.approx(0.0)


def test_coverage_is_with_dither() -> None:
    assert changed("W1", MAIN, coverage=0.5)["interval_coverage"] == SCORE.coverage
    found = changed("W2", "hybrid:dither", coverage=0.8)
    assert (found["interval_coverage"], found["interval_coverage_lowest"]) == (0.9, 0.8)


def test_a_quick_plan_without_dither_claims_no_coverage() -> None:
    assert "interval_coverage" not in figures_of(table(QUICK), QUICK)
