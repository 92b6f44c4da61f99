"""`python -m training` as the command line starts it: a process of its own."""

import json
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest

from training.learning.network import Epoch
from training.progress import shown


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "training", *arguments],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "rows.csv"
    done = run(
        "simulate", "--days", "0.3", "--seed", "5", "--out", str(path),
        "--truth", str(path.with_name("truth.csv")), "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["rows"] == 432
    assert facts["oracle_ms"] <= facts["half_ms"]
    return path


def test_truth_has_one_line_per_row(data: Path) -> None:
    truth = data.with_name("truth.csv").read_text().splitlines()
    assert truth[0] == "time_s,oracle_ratio,oracle_ms,applied_ms,half_ms"
    rows = data.read_text().splitlines()
    assert len(truth) == len(rows) == 433
    assert truth[1].split(",")[0] == rows[1].split(",")[0]


def test_train_then_show(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    done = run(
        "train", "--data", str(data), "--service", "tickets", "--settings", "quick",
        "--out", str(out), "--servers", "20,12", "--full-cpu", "0.98,", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    trained = json.loads(done.stdout)
    events = [json.loads(line) for line in done.stderr.splitlines()]
    assert {event["stage"] for event in events} == {"mlp", "residual"}
    assert events[-1]["epoch"] == events[-1]["epochs"]
    assert events[-1]["progress"] == 1.0
    assert [e["progress"] for e in events] == sorted(e["progress"] for e in events)
    assert trained["primary_full_cpu"] == 0.98
    assert trained["secondary_full_cpu"] == 1.0
    assert trained["seconds"] < 15
    shown_ = run("show", str(out), "--json")
    assert shown_.returncode == 0
    assert json.loads(shown_.stdout)["digest"] == trained["digest"]
    plain = run("show", str(out))
    assert trained["digest"] in plain.stdout
    (out / "model.npz").write_bytes(b"")
    broken = run("show", str(out))
    assert broken.returncode == 2
    assert "model_invalid" in broken.stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"--settings": "better"}, "paper, residual, quick"),
        ({"--servers": "20"}, "two numbers, primary first"),
        ({"--servers": "20,-1"}, "not negative"),
        ({"--data": "nothing.csv"}, "nothing.csv"),
    ],
)
def test_what_is_wrong_is_said(
    data: Path, tmp_path: Path, change: dict[str, str], message: str
) -> None:
    options = {"--data": str(data), "--service": "tickets", "--out": str(tmp_path)} | change
    done = run("train", *(part for pair in options.items() for part in pair))
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_terminal_gets_a_bar() -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    with shown(2, stream) as tell:
        for number in (1, 2):
            tell("mlp", Epoch(number=number, total=2, train_loss=3.5, validation_loss=4.5))
    assert "2/2 epochs" in stream.getvalue()
    assert "held out 4.5" in stream.getvalue()


def test_a_leashed_training_ends_with_its_parent(data: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "training", "train", "--data", str(data), "--service", "tickets",
         "--out", str(tmp_path), "--settings", "paper", "--leashed"],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    assert process.stdin is not None
    with process, process.stderr, process.stdin:
        process.stderr.readline()
        process.stdin.close()
        assert process.wait(20) == 130


def test_without_its_packages_training_says_what_to_install(data: Path, tmp_path: Path) -> None:
    # A module that cannot be found, in front of the one that is installed.
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError(name='torch')")
    done = subprocess.run(
        [sys.executable, "-m", "training", "train", "--data", str(data), "--service", "tickets",
         "--out", str(tmp_path)],
        env=os.environ | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "'.[training]'" in done.stderr
    assert "[training_not_installed]" in done.stderr
