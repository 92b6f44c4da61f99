"""Rendered configuration against the text that is committed for it."""

from pathlib import Path

import pytest


def assert_golden(path: Path, text: str) -> None:
    """Compare with the committed text; after a wanted change, delete its file and run once."""
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        pytest.fail(f"{path.name} was missing and is written now: look at it and commit it")
    assert text == path.read_text()
