"""`python -m training backtest` as the command line starts it: table, files, refusals."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "training", "backtest", *arguments],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_the_table_goes_out_and_the_files_are_written(tmp_path: Path) -> None:
    place = tmp_path / "mine.toml"
    place.write_text('like = "W1"\nname = "mine"\n[arrivals]\npeak_rps = 100.0\n')
    files = [tmp_path / "new" / "scores.json", tmp_path / "other" / "page.html"]
    done = run(
        *("--strategies", "threshold, cpu_equalizer:bare,threshold", "--worlds", str(place)),
        *("--days", "1", "--seeds", "1", "--json", str(files[0]), "--html", str(files[1])),
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split()[:2] for line in done.stdout.splitlines()]
    assert rows[-2:] == [["mine", "threshold"], ["mine", "cpu_equalizer:bare"]]
    assert [json.loads(line)["stage"] for line in done.stderr.splitlines()] == ["play"]
    assert json.loads(files[0].read_text())["plan"]["worlds"] == [str(place)]
    assert "cpu_equalizer:bare" in files[1].read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("--strategies", "hybird"), "contestant_unknown"), (("--days", "0"), "--days")],
)
def test_what_cannot_be_played_is_refused(arguments: tuple[str, ...], said: str) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def children(process: int) -> list[Path]:
    """Directories of its children in /proc."""
    listed = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii")
    return [Path("/proc") / child for child in listed.split()]


def within(seconds: float, true: Callable[[], bool]) -> bool:
    until = time.monotonic() + seconds
    while not true() and time.monotonic() < until:
        time.sleep(0.05)
    return true()


def test_workers_end_with_a_parent_that_is_killed() -> None:
    long = ("--strategies", "threshold", "--worlds", "W1,W4", "--days", "300", "--seeds", "1")
    command = [sys.executable, "-m", "training", "backtest", *long, "--processes", "2"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as parent:
        # Two workers, and the tracker of their semaphores.
        assert within(30.0, lambda: len(children(parent.pid)) == 3)
        workers = children(parent.pid)
        parent.kill()
    assert within(30.0, lambda: not any(worker.exists() for worker in workers))
