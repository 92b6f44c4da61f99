"""`python -m training` in this process: exit codes, what is printed, interruption."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from models import storage
from tests.model_artifacts import artifact
from training import __main__ as command

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    handler = signal.getsignal(signal.SIGTERM)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["training", *arguments])
        with pytest.raises(SystemExit) as ended:
            command.main()
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    yield call
    signal.signal(signal.SIGTERM, handler)


@pytest.fixture
def data(run: Run, tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    code, out, _ = run("simulate", "--days", "0.2", "--out", str(path))
    assert code == 0
    assert "half_regret_pct" in out
    return path


def test_train_and_show(run: Run, data: Path, tmp_path: Path) -> None:
    options = ("--data", str(data), "--service", "s", "--out", str(tmp_path / "m"))
    code, out, err = run("train", *options, "--settings", "quick", "--json")
    assert code == 0, err
    facts = json.loads(out)
    code, out, _ = run("show", str(tmp_path / "m"), "--json")
    assert code == 0
    assert json.loads(out)["digest"] == facts["digest"]


def test_an_untrusted_law_says_why(run: Run, data: Path, tmp_path: Path) -> None:
    header, *rows = data.read_text().splitlines()
    at = header.split(",").index("primary_cpu_avg")
    blind = [",".join("" if i == at else c for i, c in enumerate(r.split(","))) for r in rows]
    data.write_text("\n".join([header, *blind]))
    options = ("--data", str(data), "--service", "s", "--out", str(tmp_path / "m"))
    code, out, err = run("train", *options, "--settings", "quick")
    assert code == 0, err
    assert "primary_law_reason" in out
    assert "usable rows" in out


def test_a_report_is_kept_and_can_be_measured_again(run: Run, data: Path, tmp_path: Path) -> None:
    place = tmp_path / "m"
    options = ("--data", str(data), "--service", "s", "--out", str(place), "--settings", "quick")
    assert run("train", *options)[0] == 0
    kept = (place / "report.json").read_bytes()
    code, out, err = run("report", str(place), "--json")
    assert code == 0, err
    assert json.loads(out)["measured"] is True
    assert "SignalboxReport.show" in (place / "report.html").read_text(encoding="utf-8")
    (place / "report.json").unlink()
    page = tmp_path / "page.html"
    code, out, _ = run("report", str(place), "--out", str(page), "--json")
    assert (code, json.loads(out)["measured"]) == (0, False)
    code, _, err = run("report", str(place), "--data", str(data), "--out", str(page))
    assert code == 0, err
    assert (place / "report.json").read_bytes() == kept
    (place / "report.json").write_bytes(b"nonsense")
    code, _, err = run("report", str(place), "--out", str(page))
    assert (code, "report_invalid" in err) == (2, True)


@pytest.mark.parametrize("pair", ["1", "1,2,3", "a,b", "nan,1", "-1,2"])
def test_a_pair_that_is_none_is_refused(run: Run, data: Path, tmp_path: Path, pair: str) -> None:
    options = ("--data", str(data), "--service", "s", "--out", str(tmp_path / "m"))
    code, _, err = run("train", *options, "--servers", pair)
    assert code == 2
    assert "declared_invalid" in err


def test_simulate_replays_a_trace(run: Run, tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("period,count\n" + "".join(f"{i},{100 + i}\n" for i in range(100)))
    options = ("--trace", str(trace), "--out", str(tmp_path / "rows.csv"))
    code, _, err = run("simulate", *options)
    assert code == 2
    assert "trace_too_short" in err
    code, out, _ = run("simulate", *options, "--days", "0.05", "--json")
    assert code == 0
    assert json.loads(out)["rows"] == 72


@pytest.mark.parametrize(
    "told",
    [
        "simulate --out a/trace.csv --trace trace.csv",
        "simulate --out mine.toml --world mine.toml",
        "simulate --out new.csv --truth a/mine.toml --world mine.toml",
        "backtest --worlds W1,mine.toml --json mine.toml",
        "report m --out m/model.json",
        "report m --out m/report.json",
        "report m --out a/rows.csv --data rows.csv",
    ],
)
def test_no_result_overwrites_what_it_is_made_of(
    run: Run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").symlink_to(tmp_path)
    (tmp_path / "trace.csv").write_text("count\n" + "5\n" * 50_000)
    (tmp_path / "mine.toml").write_text('like = "W1"\n')
    storage.save(artifact(), tmp_path / "m")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()}
    code, _, err = run(*told.split())
    assert (code, "[option_invalid]" in err) == (2, True), err
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()}
    assert data in before


def test_a_missing_model_is_named(run: Run, tmp_path: Path) -> None:
    code, _, err = run("show", str(tmp_path))
    assert code == 2
    assert "model.json is missing" in err


def test_sigterm_stops_a_training(
    run: Run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask_to_stop(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)

    monkeypatch.setattr("training.learning.version.train_version", ask_to_stop)
    options = ("--data", str(data), "--service", "s", "--out", str(tmp_path / "m"))
    code, _, _ = run("train", *options)
    assert code == 130
    assert not (tmp_path / "m").exists()
