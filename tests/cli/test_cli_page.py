"""docs/cli.md names every command; links in the documents lead somewhere."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from controlplane.cli.app import app

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
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


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target, anchor in LINK.findall(path.read_text(encoding="utf-8")):
        place = (path.parent / target).resolve() if target else path
        assert place.exists(), f"{path.name} links to {target}"
        if anchor and place.suffix == ".md":
            heads = re.findall(r"^#+ (.*)$", place.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}
            assert anchor[1:] in slugs, f"{path.name} links to {target}{anchor}"
