"""docs/cli.md names every command; links in the documents lead somewhere."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from controlplane.cli.app import app

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Their options are those of another program, and of the shell's completion.
PASSED_ON = {"gateway", "simulate", "backtest", "import"}
OF_TYPER = re.compile(r"--(install|show)-completion$")
LINK = re.compile(r"\]\((?!https?://)([^)#\s]*)(#[^)\s]*)?\)")


def commands() -> Iterator[tuple[str, object]]:
    """Full name -> command, of every command that does something."""
    for name, command in typer.main.get_command(app).commands.items():
        for sub_name, sub in getattr(command, "commands", {}).items():
            yield f"{name} {sub_name}", sub
        if not hasattr(command, "commands"):
            yield name, command


@pytest.mark.parametrize(("name", "command"), list(commands()), ids=lambda value: str(value)[:40])
def test_each_command_has_a_row_and_a_help(name: str, command: object) -> None:
    assert re.search(rf"^\| `{name}[ `]", PAGE, re.MULTILINE)
    assert getattr(command, "help", "")


def calls(text: str) -> Iterator[list[str]]:
    """The words of every call of a command that stands in code."""
    for code in re.findall(r"`(signalbox [^`]+)`", text) + re.findall(
        r"^(signalbox .+)$", text, re.MULTILINE
    ):
        yield code.split()[1:]


def told_wrongly(words: list[str]) -> str:
    """What of a call does not exist; "" when all does."""
    command: Any = typer.main.get_command(app)
    name = ""
    for word in words:
        if word in ("|", "||", ">"):
            break
        option, _, _ = word.partition("=")
        if option.startswith("--"):
            known = {given for one in command.params for given in one.opts} | {"--help"}
            if option not in known and name not in PASSED_ON and not OF_TYPER.match(option):
                return f"{name} {option}"
        elif re.fullmatch(r"[a-z][a-z|-]*", word) and hasattr(command, "commands"):
            named = [command.commands.get(one) for one in word.split("|")]
            if None in named:
                return f"{name} {word}"
            command, name = named[0], word
    return ""


@pytest.mark.parametrize("path", [*DOCUMENTS, ROOT / "CHANGELOG.md"], ids=lambda path: path.name)
def test_every_call_in_the_documents_exists(path: Path) -> None:
    found = list(calls(path.read_text(encoding="utf-8")))
    assert [wrong for words in found if (wrong := told_wrongly(words))] == []


@pytest.mark.parametrize("text", ["findings list --state all", "finding list", "status --yaml"])
def test_a_call_that_does_not_exist_would_be_found(text: str) -> None:
    (words,) = calls(f"see `signalbox {text}` there")
    assert told_wrongly(words)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target, anchor in LINK.findall(path.read_text(encoding="utf-8")):
        place = (path.parent / target).resolve() if target else path
        assert place.exists(), f"{path.name} links to {target}"
        if anchor and place.suffix == ".md":
            heads = re.findall(r"^#+ (.*)$", place.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}
            assert anchor[1:] in slugs, f"{path.name} links to {target}{anchor}"
