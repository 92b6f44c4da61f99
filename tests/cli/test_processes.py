"""Commands that become another program, and the start of the service with wrong settings."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("gateway", "xds-cache"),
        ("gateway run", "--redis"),
        ("gateway xds-cache", "--xds-cache"),
        ("simulate", "--days"),
        ("backtest", "--strategies"),
        ("dataset import", "--url"),
    ],
)
def test_options_are_passed_on(command: str, option: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "controlplane", *command.split(), "--help"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert option in done.stdout


def test_a_folder_with_the_name_of_a_package_hides_none(tmp_path: Path) -> None:
    for name in ("data", "models", "training"):
        (tmp_path / name).mkdir()
    out = "rows.csv"
    done = subprocess.run(
        [sys.executable, "-P", "-m", "controlplane", "simulate", "--out", out, "--days", "1"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / out).exists()


def test_the_exit_code_of_the_program_is_ours() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "controlplane", "gateway", "--nonsense"],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2


def test_an_unknown_setting_stops_the_start(offline: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGNALBOX_HTTP_PROT", "1")
    done = offline("serve")
    assert done.code == 2
    assert "SIGNALBOX_HTTP_PROT" in done.err
