"""Files that are whole or not there, with real folders, pipes and a full device."""

import os
import threading
from pathlib import Path

import pytest

from controlplane.domain.errors import Invalid
from training.whole_file import check_folder, check_places, whole


def test_a_file_is_replaced_at_the_end_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "new" / "rows.csv"
    for text in ("first", "second"):
        with whole(path) as place:
            place.write_text(text)
            assert not path.exists() or path.read_text() == "first"
    assert path.read_text() == "second"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_what_was_there_stays_when_writing_ends_early(
    tmp_path: Path, error: type[BaseException] | BaseException
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("before")

    def broken() -> None:
        with whole(path) as place:
            place.write_text("half")
            raise error

    with pytest.raises((Invalid, KeyboardInterrupt)):
        broken()
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_device_is_told() -> None:
    with (
        pytest.raises(Invalid, match="/dev/full cannot be written: No space left") as refused,
        whole(Path("/dev/full")) as place,
    ):
        place.write_text("row")
    assert refused.value.code == "out_unwritable"


def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    check_places(pipe)
    with whole(pipe) as place:
        place.write_text("row")
    reader.join(5)
    assert read == ["row"]
    assert pipe.is_fifo()


def test_a_link_keeps_its_target(tmp_path: Path) -> None:
    target, link = tmp_path / "rows.csv", tmp_path / "link.csv"
    link.symlink_to(target)
    with whole(link) as place:
        place.write_text("row")
    assert link.is_symlink()
    assert target.read_text() == "row"


def test_a_place_is_tried_before_and_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    check_places(path, None, tmp_path / "new" / "page.html")
    assert not path.exists()
    path.write_text("before")
    check_places(path)
    assert path.read_text() == "before"


@pytest.mark.parametrize("place", ["", "file/rows.csv"])
def test_a_place_that_cannot_be_written_is_told(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(Invalid, match="cannot be written") as refused:
        check_places(tmp_path / place)
    assert refused.value.code == "out_unwritable"


@pytest.mark.parametrize("place", ["file", "file/m", "/proc/m", "/proc/m/n"])
def test_a_folder_that_cannot_be_filled_is_told(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Invalid, match="cannot be written") as refused:
        check_folder(tmp_path / place)
    assert refused.value.code == "out_unwritable"


def test_a_folder_is_tried_without_a_trace(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    for place in ("new", "new/newer", "there"):
        check_folder(tmp_path / place)
    assert [one.name for one in tmp_path.rglob("*")] == ["there"]


def test_two_results_in_one_file_and_one_in_its_own_input_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    for places, read in (((path, tmp_path / "." / "rows.csv"), ()), ((path,), (path,))):
        with pytest.raises(Invalid, match="give each file its own name"):
            check_places(*places, read=read)
