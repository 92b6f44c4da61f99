"""Files of `-f`: read to their limit and no further."""

import io
from pathlib import Path

import pytest

from controlplane.api.edge.limits import MOST_BODY_BYTES
from controlplane.api.fleet_document import nodes
from controlplane.cli.commands import fleet
from controlplane.cli.text_files import read_text
from controlplane.domain.errors import Invalid, NotFound


def test_the_limits_of_both_sides_are_one() -> None:
    assert fleet.MOST_BYTES == nodes.MOST_BYTES == MOST_BODY_BYTES


def test_a_file_at_its_limit_is_read_and_one_over_it_is_not(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("12345")
    assert read_text(path, 5) == "12345"
    with pytest.raises(Invalid, match="more than 4 bytes") as caught:
        read_text(path, 4)
    assert caught.value.code == "file_too_large"


def test_an_endless_file_ends_at_the_limit() -> None:
    with pytest.raises(Invalid) as caught:
        read_text(Path("/dev/zero"), 1_000)
    assert caught.value.code == "file_too_large"


def test_standard_input_is_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a: \xc3\xa9")))
    assert read_text(Path("-"), 5) == "a: é"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"x" * 10)))
    with pytest.raises(Invalid):
        read_text(Path("-"), 5)


def test_what_is_no_text_or_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    with pytest.raises(NotFound, match=r"a\.yaml"):
        read_text(path, 5)
    path.write_bytes(b"a\xff")
    with pytest.raises(Invalid, match="byte 1"):
        read_text(path, 5)
