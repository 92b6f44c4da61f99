"""docs/backtest.md: its columns, figures and Python are those of the program."""

import dataclasses
import re
from pathlib import Path

import pytest

from training.backtest.reference import labels
from training.backtest.result import COLUMNS, Column
from training.backtest.scores import Score

PAGE = (Path(__file__).parents[3] / "docs" / "backtest.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.field)
def test_each_column_has_a_row(column: Column) -> None:
    assert f"| `{column.title}` | `{column.field}` |" in PAGE


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Score)])
def test_each_figure_of_the_json_is_told(field: str) -> None:
    assert f"`{field}`" in PAGE


@pytest.mark.parametrize("label", labels())
def test_each_reference_has_a_row(label: str) -> None:
    assert f"| `{label}` |" in PAGE


def test_the_python_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "backtest.md", "exec"), {"__name__": "__main__"})
    assert "observed_laws" in capsys.readouterr().out
