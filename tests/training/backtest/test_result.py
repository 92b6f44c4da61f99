"""Table and JSON of a backtest."""

import dataclasses
import json
from pathlib import Path

import pytest

from tests.training.backtest.shown import EVERYONE, PLAN, SCORE, played
from training.backtest import result
from training.backtest.result import COLUMNS
from training.backtest.scores import Score


def test_the_table_has_a_line_for_everyone_in_every_world() -> None:
    head, *lines = result.table(played().scores).splitlines()
    assert len(lines) == len(EVERYONE) * len(PLAN.worlds)
    assert all(len(line) == len(head) for line in lines)
    assert [line.split()[1] for line in lines[: len(EVERYONE)]] == list(EVERYONE)


def test_a_long_name_stands_apart_from_its_neighbor() -> None:
    row = dataclasses.replace(SCORE, world="slow disk", label="cpu_equalizer:dither")
    assert "slow disk cpu_equalizer:dither " in result.table([row])


def test_a_cell_is_rounded_and_what_does_not_exist_is_empty() -> None:
    bare = dataclasses.replace(SCORE, coverage=None)
    cells = {column.field: column.cell(bare) for column in COLUMNS}
    assert (cells["regret_pct"], cells["coverage"], cells["violations"]) == ("1.25", "", "0")


def test_columns_are_figures_of_a_score() -> None:
    fields = {field.name for field in dataclasses.fields(Score)}
    assert {column.field for column in COLUMNS} <= fields
    assert len({column.title for column in COLUMNS}) == len(COLUMNS)


def test_the_document_has_the_plan_the_scores_and_where_they_come_from(tmp_path: Path) -> None:
    path = tmp_path / "new" / "result.json"
    result.write_json(result.document(PLAN, played(), 1.234), path)
    read = json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert read["plan"]["contestants"] == list(PLAN.contestants)
    assert read["sources_digest"] == "5d" * 32
    assert read["minutes"] == 1.2
    assert set(read["machine"]) == {"cores", "python", "numpy"}
    assert len(read["scores"]) == len(EVERYONE) * len(PLAN.worlds)
    assert read["scores"][-1]["coverage"] is None


def test_a_figure_that_is_no_number_is_not_written_as_one(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        result.write_json({"regret_pct": float("nan")}, tmp_path / "result.json")
