"""Files of alert policies, scenarios and planned changes, as the command line reads them."""

from pathlib import Path

import pytest

from controlplane.cli.declared import read
from controlplane.domain.errors import Invalid


def written(folder: Path, text: str) -> Path:
    file = folder / "change.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_time_needs_no_quotes(tmp_path: Path) -> None:
    read_back = read(written(tmp_path, "starts: 2026-12-01T03:00:00Z\nday: 2026-12-01\n"))
    assert read_back == {"starts": "2026-12-01T03:00:00+00:00", "day": "2026-12-01"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("share: .nan", "JSON compliant"),
        ("data: !!binary aGk=", "nothing that JSON has"),
        ("a: [", "expected"),
        ("[" * 5_000, "nested too deeply"),
        ("- one", "no mapping"),
        ("a: &x {b: *x}", "cannot be read"),
    ],
)
def test_what_cannot_be_sent_is_an_error_with_its_file(
    tmp_path: Path, text: str, words: str
) -> None:
    file = written(tmp_path, text)
    with pytest.raises(Invalid, match=words) as raised:
        read(file)
    assert str(file) in raised.value.message
