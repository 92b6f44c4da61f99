"""docs/gateway.md against the program: every option is there, and its YAML is what it says."""

import re
import shlex
import textwrap
from pathlib import Path

import pytest

from controlplane.api.fleet_document.parsing import parse
from gateway.commands.run import run_options
from gateway.commands.wiring import PLANES, wiring

PAGE = (Path(__file__).parents[2] / "docs" / "gateway.md").read_text(encoding="utf-8")
OPTION = re.compile(r"--[a-z][a-z-]+")


def _help(capsys: pytest.CaptureFixture[str], command: object) -> set[str]:
    assert callable(command)
    with pytest.raises(SystemExit):
        command(["--help"])
    return set(OPTION.findall(capsys.readouterr().out)) - {"--help"}


def test_every_option_of_run_has_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    rows = re.findall(r"^\| (`--.*?) \|", PAGE, re.MULTILINE)
    # The example below the options names those of another command.
    assert set(OPTION.findall(" ".join(rows))) == _help(capsys, run_options) - {"--plane"}


def test_every_option_of_wiring_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    section = PAGE.partition("## What a proxy is told")[2].partition("\n## ")[0]
    # Named in the help, and options of `run`.
    others = {"--forward-auth", "--proxy"}
    assert _help(capsys, wiring) - others <= set(OPTION.findall(section))
    for plane in PLANES:
        assert f"| {plane} |".lower() in section.lower()


def test_its_yaml_is_a_fleet() -> None:
    found = re.findall(r"^ *```yaml\n(.*?)^ *```", PAGE, re.DOTALL | re.MULTILINE)
    assert len(found) == 2
    for text in found:
        parse("datacenters: [{name: a, role: primary, region: north}]\n" + textwrap.dedent(text))


def test_its_command_is_one_that_the_program_takes(tmp_path: Path) -> None:
    line = re.search(r"signalbox gateway run (.*?)\n\s*```", PAGE, re.DOTALL)
    assert line is not None
    words = shlex.split(line.group(1).replace("\\\n", " "))
    options = run_options(words)
    assert options.group == "edge"
    assert options.policies is not None
