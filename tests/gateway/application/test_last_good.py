"""The last good configuration on disk."""

from pathlib import Path

import pytest

from gateway.application.last_good import FILE_NAME, LastGood, configuration
from tests.gateway.fleet import GROUP, body, fleet


def test_it_reads_back_with_its_tag_and_revision(tmp_path: Path) -> None:
    one = LastGood(tmp_path / "new" / "folder")
    assert one.load(GROUP) is None
    one.store(body(fleet()), '"abc"', 7)
    found = LastGood(tmp_path / "new" / "folder").load(GROUP)
    assert found is not None
    assert (found.revision, found.tag) == (7, '"abc"')
    assert found.weights == {"gates": {"east": 8_000, "west": 2_000}}


def test_a_region_has_its_own_weights() -> None:
    south = configuration(body(fleet()), "", 1, "south")
    assert south.weights == {"gates": {"east": 2_500, "west": 7_500}}
    assert configuration(body(fleet()), "", 1, "unknown").weights["gates"]["east"] == 8_000


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "other"])
def test_what_is_damaged_is_ignored(tmp_path: Path, damage: str) -> None:
    one = LastGood(tmp_path)
    one.store(body(fleet()), "", 1)
    path = tmp_path / FILE_NAME
    data = path.read_bytes()
    changed = {"flip": data[:-1] + b"?", "cut": data[:-5], "empty": b"", "other": b"x" * 500}
    path.write_bytes(changed[damage])
    assert one.load(GROUP) is None


def test_content_that_this_version_cannot_read_is_ignored(tmp_path: Path) -> None:
    one = LastGood(tmp_path)
    one.store(b'{"endpoints":{"later":1}}', "", 1)
    assert one.load(GROUP) is None
