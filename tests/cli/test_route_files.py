"""docs/route-files.md as it stands: every command of its examples, and what it prints."""

import re
import shlex
import shutil
from importlib.resources import files
from pathlib import Path

import pytest

from tests.cli.conftest import Run

PAGE = Path(__file__).parents[2] / "docs" / "route-files.md"
ROUTES = Path(str(files("data"))) / "routes"
FLEET = Path(str(files("data"))) / "fleets" / "two-centers.yaml"
FILE = re.compile(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", re.DOTALL)
EXAMPLE = re.compile(r"<!-- example -->\n```console\n(.*?)```", re.DOTALL)


def test_the_examples_print_what_the_page_says(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PAGE.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name, content in FILE.findall(text):
        Path(name).write_text(content, encoding="utf-8")
    for path in ROUTES.iterdir():
        shutil.copy(path, tmp_path)
    assert run("apply", "-f", str(FLEET)).code == 0
    examples = EXAMPLE.findall(text)
    assert examples
    for example in examples:
        for words, expected in commands(example):
            done = run(*shlex.split(words))
            told = (done.out + done.err).splitlines()
            assert matches(told, expected), f"{words}\n" + "\n".join(told)


def commands(example: str) -> list[tuple[str, list[str]]]:
    """Each command of an example and the lines below it."""
    found: list[tuple[str, list[str]]] = []
    for line in example.splitlines():
        if line.startswith("$ signalbox "):
            found.append((line.removeprefix("$ signalbox "), []))
        else:
            found[-1][1].append(line)
    return found


def matches(told: list[str], expected: list[str]) -> bool:
    """Whether the lines are the same; `...` stands for any number of lines."""
    if not expected:
        return not told
    if expected[0] == "...":
        return any(matches(told[start:], expected[1:]) for start in range(len(told) + 1))
    return bool(told) and told[0] == expected[0] and matches(told[1:], expected[1:])
