"""docs/route-files.md as it stands: every command of its examples, and what it prints."""

import json
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


def test_notes_objections_and_json(run: Run, tmp_path: Path) -> None:
    assert run("apply", "-f", str(FLEET)).code == 0
    secured = tmp_path / "secured.yaml"
    paths = "".join(f"  /p{number}: {{get: {{security: []}}}}\n" for number in range(12))
    secured.write_text(f"openapi: 3.1.0\npaths:\n{paths}", encoding="utf-8")
    options = ("--format", "openapi", "--service", "tickets", "--collection", "p")
    done = run("routes", "import", str(secured), *options)
    assert done.code == 0
    assert "secured.yaml:3:25: security of operations is not imported" in done.err
    assert "(12 times)" in done.err
    secured.write_text("openapi: 3.1.0\npaths: {/p0: {get: {}}}\n", encoding="utf-8")
    told = run("routes", "import", str(secured), *options, "--dry-run")
    assert "1 routes would be imported" in told.err
    assert "import will refuse this unless forced: " in told.err
    assert run("routes", "import", str(secured), *options).code == 5
    whole = json.loads(run("routes", "import", str(secured), *options, "--force", "--json").out)
    assert (whole["imported"], whole["notes"]) == (1, [])
    exported = json.loads(run("routes", "export", "--format", "csv", "--json").out)
    assert "p.p0" in exported["document"]
    assert exported["notes"] == []
