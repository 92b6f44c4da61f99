"""Poisoned rows are found, sound ones of every world pass."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from controlplane.domain.services import StrategyName
from models.examination import Check
from tests.training import poisons
from tests.training.examination.fitted import fitted
from training.dataset import Dataset
from training.examination.evidence import ranks_agree
from training.examination.examine import examine

WORLDS = ("W1", "W2", "W3", "W4", "W5", "W6", "W7", "W8", "W9")

# Poison -> the check that must find it, whatever others do.
FOUND_BY = {
    "shuffled labels": "label_follows",
    "shuffled responses": "primary_response_own",
    "seconds": "primary_level_possible",
    "seconds in a third": "secondary_response_unit",
    "seconds at one centre": "primary_level_possible",
    "a hundredth of CPU": "primary_law_trusted",
    "a hundredth of CPU in a fifth": "primary_cpu_unit",
    "percent": "shares_possible",
    "bytes for bits": "primary_bandwidth_unit",
    "exchanged centres": "share_follows_ratio",
    "exchanged response times": "primary_response_own",
    "exchanged CPU": "primary_cpu_own",
    "exchanged rates": "share_of_rates",
    "exchanged shares": "share_of_rates",
}


@cache
def week(world: str) -> Dataset:
    return poisons.clean(world, 2, 3)


def failed(rows: Dataset) -> dict[str, Check]:
    return {check.code: check for check in examine(rows, fitted(rows)) if not check.passed}


@pytest.mark.parametrize("world", WORLDS)
def test_sound_rows_pass(world: str) -> None:
    assert failed(week(world)) == {}


def test_a_single_day_is_enough_to_be_examined() -> None:
    checks = examine(rows := poisons.clean("W1", 1, 1), fitted(rows))
    assert [check.code for check in checks if "not decided" in check.message] == []
    assert len({check.code for check in checks}) == len(checks)
    assert all(np.isfinite([check.figure, check.limit]).all() for check in checks)
    # As JSON has them.
    assert {(type(check.passed), type(check.figure)) for check in checks} == {(bool, float)}


@pytest.mark.parametrize("name", poisons.POISONS)
def test_a_poison_is_found_and_named(name: str) -> None:
    found = failed(poisons.POISONS[name](week("W1")))
    assert FOUND_BY[name] in found, list(found)


@pytest.mark.parametrize(("slower", "step"), [(0.3, 0.05), (0.1, 0.05), (0.3, -0.05)])
def test_a_confounder_is_found(slower: float, step: float) -> None:
    found = failed(poisons.planted("W1", 5, 4, slower, step))
    assert "not_confounded" in found
    # It is about as large as what was planted.
    assert found["not_confounded"].figure == pytest.approx(slower, rel=0.3)


def test_a_slow_change_of_both_is_no_confounder() -> None:
    # A release makes everything slower, and from then on another ratio is the best one.
    rows = week("W1")
    later = np.arange(len(rows)) > len(rows) / 2
    slower = np.where(later, 1.2, 1.0)
    times = [each.response_time_ms * slower for each in (rows.primary, rows.secondary)]
    changed = replace(
        rows,
        primary=replace(rows.primary, response_time_ms=times[0]),
        secondary=replace(rows.secondary, response_time_ms=times[1]),
        response_time_ms=rows.response_time_ms * slower,
    )
    assert "not_confounded" not in failed(changed)


def test_damage_of_its_own_must_not_loosen_the_measure() -> None:
    rows = poisons.damaged("W1", 2, 5)
    artifact, sound = fitted(rows), fitted(week("W1"))
    # Judged by such a spread, nothing would ever be wrong again.
    assert artifact.scores["residual_spread"] > 5 * sound.scores["residual_spread"]
    found = {check.code for check in examine(rows, artifact) if not check.passed}
    assert "spread_explained" in found


def test_a_strategy_that_asks_the_network_alone_needs_no_laws() -> None:
    rows = poisons.small_cpu(week("W1"))
    codes = {check.code for check in examine(rows, fitted(rows), StrategyName.PAPER_MLP)}
    assert "primary_law_trusted" not in codes


def test_what_the_rows_cannot_decide_passes_and_says_so() -> None:
    rows = week("W1")
    nothing = np.full(len(rows), np.nan)
    names = (
        "cpu_avg",
        "request_rate_rps",
        "ingress_bandwidth_bps",
        "traffic_share",
        "response_time_ms",
    )
    hidden = dict.fromkeys(names, nothing)
    bare = replace(
        rows,
        primary=replace(rows.primary, **hidden),
        secondary=replace(rows.secondary, **hidden),
        ratio=np.full(len(rows), 0.5),
    )
    artifact = replace(fitted(rows), scores={})
    checks = examine(bare, artifact, StrategyName.PAPER_MLP)
    assert all(check.passed for check in checks)
    undecided = {check.code for check in checks if "not decided" in check.message}
    assert {"label_follows", "not_confounded", "spread_explained", "primary_cpu_own"} <= undecided


def test_a_sweep_through_a_few_ratios_decides_nothing_about_a_cause() -> None:
    rows = week("W1")
    steps = np.repeat(np.linspace(0.4, 0.6, 5), 60)
    part = replace(rows, ratio=np.resize(steps, len(rows)))
    few = replace(part, ratio=np.sort(part.ratio))
    check = {each.code: each for each in examine(few, fitted(rows))}["not_confounded"]
    assert (check.passed, "too few" in check.message) == (True, True)


def test_ranks_of_too_few_rows_do_not_agree() -> None:
    assert ranks_agree(np.arange(9.0), np.arange(9.0)) == 0.0
    assert ranks_agree(np.arange(99.0), np.arange(99.0) ** 3) == pytest.approx(1.0)


def test_ranks_know_equal_values_and_what_never_changes() -> None:
    rising = np.arange(99.0)
    assert ranks_agree(rising, np.full(99, 0.3)) == 0.0
    assert ranks_agree(np.floor(rising / 10), -np.floor(rising / 10)) == pytest.approx(-1.0)


def test_a_disk_in_percent_is_refused() -> None:
    rows = week("W1")
    wrong = replace(rows, primary=replace(rows.primary, disk=rows.primary.disk * 100.0))
    found = {check.code for check in examine(wrong, fitted(rows)) if not check.passed}
    assert found == {"shares_possible"}
