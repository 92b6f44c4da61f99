"""The digest of what the figures depend on."""

from pathlib import Path

import pytest

from training.backtest import digest
from training.backtest.digest import sources_digest


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # A name of its own: Python remembers where a package was.
    folder = tmp_path / f"sources_{tmp_path.name}"
    (folder / "worlds").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "law.py").write_text("LOAD = 1\n")
    (folder / "worlds" / "w1.toml").write_text("name = 'W1'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(digest, "_SOURCES", (folder.name,))
    return folder


def test_it_is_that_of_the_sources_at_hand() -> None:
    assert sources_digest() == sources_digest()
    assert len(sources_digest()) == 64


@pytest.mark.parametrize("name", ["law.py", "worlds/w1.toml"])
def test_a_byte_of_a_source_changes_it(package: Path, name: str) -> None:
    before = sources_digest()
    source = package / name
    source.write_bytes(source.read_bytes() + b"#")
    assert sources_digest() != before


def test_a_name_changes_it(package: Path) -> None:
    before = sources_digest()
    (package / "law.py").rename(package / "laws.py")
    assert sources_digest() != before


def test_what_no_figure_depends_on_does_not(package: Path) -> None:
    before = sources_digest()
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "law.py").write_text("stale")
    (package / "notes.md").write_text("words")
    assert sources_digest() == before
