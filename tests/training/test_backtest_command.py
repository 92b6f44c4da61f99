"""`python -m training backtest` as the command line starts it: table, files, refusals."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
    [
        (("--strategies", "hybird"), "contestant_unknown"),
        (("--strategies", ","), "option_invalid"),
        (("--worlds", "W1,w1"), "two worlds are called W1"),
        (("--days", "0"), "--days"),
        (("--days", "300", "--json", "/"), "out_unwritable"),
        (("--days", "300", "--json", "x", "--html", "./x"), "option_invalid"),
    ],
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


@contextmanager
def playing(temporary: Path) -> Iterator[tuple[subprocess.Popen[str], list[Path]]]:
    """A backtest of minutes in two processes, and its workers: two, and a tracker."""
    long = ("--strategies", "threshold", "--worlds", "W1,W4", "--days", "300", "--seeds", "1")
    command = [sys.executable, "-m", "training", "backtest", *long, "--processes", "2"]
    place = {**os.environ, "TMPDIR": str(temporary)}
    # A shell that starts this in the background ignores Ctrl-C, and everyone below it.
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=place) as parent:
        signal.signal(signal.SIGINT, heard)
        try:
            assert within(30.0, lambda: len(children(parent.pid)) == 3)
            # The tracker is the first; a worker that has begun has loaded its libraries.
            workers = children(parent.pid)
            assert within(30.0, lambda: all(threads(one) > 1 for one in workers[1:]))
            yield parent, workers
        finally:
            parent.kill()


def threads(process: Path) -> int:
    return len(list((process / "task").iterdir()))


def left(temporary: Path) -> list[Path]:
    return list(temporary.glob("signalbox-*"))


def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    with playing(tmp_path) as (parent, workers):
        assert left(tmp_path)
        parent.kill()
    assert within(30.0, lambda: not any(worker.exists() for worker in workers))
    assert not left(tmp_path)


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_a_backtest_that_is_stopped_ends_at_once_and_tidies_up(
    tmp_path: Path, sign: signal.Signals
) -> None:
    with playing(tmp_path) as (parent, workers):
        parent.send_signal(sign)
        _, said = parent.communicate(timeout=10)
    assert parent.returncode == 130, said
    assert "Traceback" not in said
    # The tracker of their semaphores goes when it sees that they are gone.
    assert within(3.0, lambda: not any(worker.exists() for worker in workers))
    assert not left(tmp_path)


def test_a_worker_that_is_killed_ends_the_backtest_with_a_word(tmp_path: Path) -> None:
    with playing(tmp_path) as (parent, workers):
        os.kill(int(workers[-1].name), signal.SIGKILL)
        _, said = parent.communicate(timeout=10)
    assert (parent.returncode, "backtest_process_lost" in said) == (6, True), said
    assert not left(tmp_path)
