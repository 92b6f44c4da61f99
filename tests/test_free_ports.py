"""Ports for the servers of tests: no two processes are given the same."""

import subprocess
import sys

import pytest

from benchmarks import free_ports
from benchmarks.free_ports import BEHIND

ASK = "from benchmarks.free_ports import free_ports as f; print(*f(500)); input()"


def test_processes_that_live_together_get_different_ports() -> None:
    command = [sys.executable, "-c", ASK]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    asked = [subprocess.Popen(command, **pipes) for _ in range(3)]
    given = [port for one in asked for port in one.stdout.readline().split()]
    for one in asked:
        one.communicate("\n")
    assert len(given) == len(set(given)) == 1500


def test_what_is_given_once_is_not_given_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(free_ports, "FIRST", BEHIND - 200)
    given = free_ports.free_ports(100)
    assert len(set(given)) == 100
    with pytest.raises(OSError, match=r"of 150 ports are free from 17800 to 17999"):
        free_ports.free_ports(150)
