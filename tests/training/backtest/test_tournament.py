"""Worlds, seeds and contestants: the same result however the work is shared."""

from dataclasses import asdict, replace

import pytest

from controlplane.domain.errors import Invalid
from training.backtest import preparation, tournament
from training.backtest.preparation import Schooling
from training.backtest.reference import labels
from training.backtest.tournament import Plan, Played, run

RULES = Plan(
    contestants=("cpu_equalizer", "cpu_equalizer:bare"),
    worlds=("W1", "W4"),
    days=1,
    seeds=2,
    processes=1,
)


@pytest.fixture(scope="module")
def played() -> Played:
    return run(RULES)


def test_scores_are_of_every_world_and_begin_with_the_references(played: Played) -> None:
    expected = [(w, who) for w in RULES.worlds for who in (*labels(), *RULES.contestants)]
    assert [(one.world, one.label) for one in played.scores] == expected
    assert {(one.seeds, one.days) for one in played.scores} == {(2, 1)}
    assert {one.seed for one in played.runs["W4"]} == {0, 1}


def test_one_process_and_two_give_the_same(played: Played) -> None:
    again = run(replace(RULES, processes=2))
    assert [asdict(one) for one in again.scores] == [asdict(one) for one in played.scores]
    assert again.sources_digest == played.sources_digest


def test_units_are_smaller_than_the_plan_and_change_nothing(
    played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tournament, "SEEDS_PLAYED", 1)
    told: list[tuple[str, int, int]] = []
    again = run(RULES, lambda *step: told.append(step))
    assert [asdict(one) for one in again.scores] == [asdict(one) for one in played.scores]
    assert told == [("play", done, 4) for done in (1, 2, 3, 4)]


def test_seeds_may_begin_later(played: Played) -> None:
    later = run(replace(RULES, worlds=("W1",), first_seed=1, seeds=1))
    kept = [one for one in played.runs["W1"] if one.seed == 1]
    assert [one.daily_cost.tolist() for one in later.runs["W1"]] == [
        one.daily_cost.tolist() for one in kept
    ]


@pytest.mark.usefixtures("short_logs")
def test_a_history_is_learned_from_once_for_all_worlds_that_share_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    schooled: list[tuple[str, tuple[int, ...]]] = []
    told: list[tuple[str, int, int]] = []

    def school(task: Schooling) -> None:
        schooled.append((task.world, task.seeds))
        preparation_school(task)

    preparation_school = preparation.school
    monkeypatch.setattr(preparation, "school", school)
    plan = Plan(
        contestants=("greybox",),
        worlds=("W1", "W5", "W6", "W1x4"),
        days=1,
        seeds=1,
        processes=1,
        settings="quick",
    )
    scores = {one.world: one for one in run(plan, lambda *s: told.append(s)).scores[5::6]}
    assert schooled == [("W1", (0,))]
    assert told[:2] == [("train", 1, 1), ("play", 1, 4)]
    # Four centers have no version here: the rule answers in its place.
    assert scores["W1"].own_pct > 50.0
    assert scores["W1x4"].own_pct == 0.0
    assert scores["W1"].coverage is not None


@pytest.mark.parametrize(
    ("contestants", "settings"),
    [
        (("cpu_equalizer", "observed_laws:bare"), ""),
        (("cpu_equalizer", "hybrid:dither"), "residual"),
        (("hybrid", "paper_mlp:bare"), "paper"),
        (("projected_mlp",), "paper"),
    ],
)
def test_training_is_what_the_contestants_need(contestants: tuple[str, ...], settings: str) -> None:
    plan = replace(RULES, contestants=contestants)
    assert plan.training == settings
    assert replace(plan, settings="quick").training == ("quick" if settings else "")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"contestants": ("hybrid", "magic")}, "contestant_unknown"),
        ({"contestants": ("hybrid", "oracle")}, "contestant_unknown"),
        ({"contestants": ("static", "hybrid")}, "contestant_invalid"),
        ({"worlds": ("W1", "W99")}, "world_unknown"),
    ],
)
def test_a_plan_that_cannot_be_played_is_refused_at_once(
    change: dict[str, tuple[str, ...]], code: str
) -> None:
    with pytest.raises(Invalid) as refused:
        run(replace(RULES, **change))
    assert refused.value.code == code
