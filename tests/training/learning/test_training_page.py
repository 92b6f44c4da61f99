"""docs/training.md: its example runs, and its table says what the settings are."""

import re
from pathlib import Path

import pytest

from training.learning.settings import SETTINGS, HeldOut, Keep, NetworkSettings, Target

PAGE = Path(__file__).resolve().parents[3] / "docs" / "training.md"


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    (example,) = re.findall(r"<!-- example: run -->\n```python\n(.*?)```", page, re.DOTALL)
    exec(compile(example, str(PAGE), "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["service-0", "service-1", "service-2"]
    assert len({line.split()[1] for line in lines}) == 3


def cells(settings: NetworkSettings) -> list[str]:
    decay = f", decay {settings.weight_decay:f}".rstrip("0") if settings.weight_decay else ""
    held = {HeldOut.TAIL: "newest 10 %", HeldOut.SPREAD: "every fifth row"}[settings.held_out]
    assert settings.validation_share == (0.1 if settings.held_out is HeldOut.TAIL else 0.2)
    return [
        str(settings.epochs),
        str(settings.batch),
        f"{settings.learning_rate:g}{decay}",
        {Target.UNSCALED: "in ms, not scaled", Target.Z_SCORED: "z-scored"}[settings.target],
        {Keep.LAST: "last epoch", Keep.BEST: "best epoch"}[settings.keep],
        held,
    ]


def test_the_table_says_what_the_settings_are() -> None:
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("|")
    ]
    start = next(at for at, row in enumerate(rows) if row[:2] == ["name", "network"])
    paper, residual, alias, quick = rows[start + 2 : start + 6]
    settings = SETTINGS["paper"]
    assert settings.mlp is not None
    assert settings.residual is not None
    assert paper == ["`paper`", "`mlp`", *cells(settings.mlp), str(settings.mlp.members)]
    assert residual == ["", "residual", *cells(settings.residual), str(settings.residual.members)]
    assert alias[0] == "`residual`"
    assert SETTINGS["residual"].residual == settings.residual
    small = SETTINGS["quick"]
    assert small.mlp is not None
    assert small.residual is not None
    assert quick[:-1] == ["`quick`", "both", *cells(small.mlp)]
    assert cells(small.residual) == cells(small.mlp)
    assert quick[-1] == f"{small.mlp.members} and {small.residual.members}"
