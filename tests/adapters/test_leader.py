"""Leadership: one holder, named to everybody else, free again when it dies."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from controlplane.adapters.leader import LeaderLock, read_holder
from controlplane.domain.errors import Conflict, Retryable

ADDRESS = "http://127.0.0.1:8080"
CHILD = """
import sys, time
from pathlib import Path
from controlplane.adapters.leader import LeaderLock
LeaderLock(Path(sys.argv[1])).acquire("http://127.0.0.1:9999", 1.7e9)
print("held", flush=True)
time.sleep(60)
"""


def test_the_second_is_told_who_holds_it(tmp_path: Path) -> None:
    first, second = LeaderLock(tmp_path / "leader.lock"), LeaderLock(tmp_path / "leader.lock")
    holder = first.acquire(ADDRESS, 1.7e9)
    assert first.held
    with pytest.raises(Conflict) as caught:
        second.acquire("http://127.0.0.1:1", 1.8e9)
    assert not second.held
    assert caught.value.code == "leader_elsewhere"
    assert str(os.getpid()) in caught.value.message
    assert ADDRESS in caught.value.message
    assert "2023-11-14" in caught.value.message
    assert caught.value.details["pid"] == os.getpid()
    assert read_holder(tmp_path / "leader.lock") == holder


def test_released_and_taken_by_the_next(tmp_path: Path) -> None:
    first, second = LeaderLock(tmp_path / "leader.lock"), LeaderLock(tmp_path / "leader.lock")
    first.acquire("http://a-long-name.example:8080/with/path", 1.0)
    first.release()
    first.release()
    assert not first.held
    holder = second.acquire("http://b", 2.0)
    assert read_holder(tmp_path / "leader.lock") == holder
    second.release()


def test_a_killed_holder_leaves_it_free(tmp_path: Path) -> None:
    path = tmp_path / "data" / "leader.lock"
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"held\n"
    lock = LeaderLock(path)
    with pytest.raises(Conflict, match=f"process {child.pid} "):
        lock.acquire(ADDRESS, 1.0)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    lock.acquire(ADDRESS, 1.0)
    lock.release()


def test_a_holder_without_a_name(tmp_path: Path) -> None:
    path = tmp_path / "leader.lock"
    first = LeaderLock(path)
    first.acquire(ADDRESS, 1.0)
    path.write_text("nonsense")
    with pytest.raises(Conflict, match="another process"):
        LeaderLock(path).acquire(ADDRESS, 1.0)
    first.release()


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Retryable):
        LeaderLock(tmp_path / "file" / "leader.lock").acquire(ADDRESS, 1.0)
