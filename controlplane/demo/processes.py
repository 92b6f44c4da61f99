"""Starts the children of the demo, waits until they are ready, and ends every one of them in any
case.

Called by the demo. Each child is a process group of its own with its log in the work directory, and
on Linux it dies with the demo even when that is killed with -9. Never leaves anything running: use
`Processes` as a context manager.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import IO, Self

PR_SET_PDEATHSIG = 1
END_S = 3.0
"""How long the children may take to end before they are killed."""


class ChildFailed(RuntimeError):
    """A child ended or did not become ready; the message says where its log is and shows its
    end.
    """


class Interrupted(BaseException):
    """The demo was asked to end by a signal; like KeyboardInterrupt, not an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What to start: `talks` keeps pipes to the child's standard input and output."""

    name: str
    arguments: Sequence[str]
    environment: Mapping[str, str] | None = None
    talks: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A started process and its log."""

    name: str
    process: subprocess.Popen[str]
    log: Path

    @property
    def input(self) -> IO[str]:
        """Where a talking child reads; ValueError for another."""
        if self.process.stdin is None:
            raise ValueError(f"{self.name} does not talk")
        return self.process.stdin

    @property
    def output(self) -> IO[str]:
        """Where a talking child writes; ValueError for another."""
        if self.process.stdout is None:
            raise ValueError(f"{self.name} does not talk")
        return self.process.stdout

    def kill(self) -> None:
        """End the whole process group at once, as a power cut would."""
        _signal_group(self.process, signal.SIGKILL)
        self.process.wait()


class Processes:
    """The children of one demo; leaving the context ends them, last started first."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._children: list[Child] = []
        self._handlers: dict[int, signal.Handlers | int | None] = {}

    def __enter__(self) -> Self:
        self._directory.mkdir(parents=True, exist_ok=True)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            self._handlers[number] = signal.signal(number, _interrupt)  # type: ignore[assignment]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.end_all()
        finally:
            for number, handler in self._handlers.items():
                signal.signal(number, handler)

    def start(self, command: Command) -> Child:
        """Start a child in its own process group; its log is `<directory>/<name>.log`."""
        log = self._directory / f"{command.name}.log"
        pipe = subprocess.PIPE if command.talks else None
        with log.open("ab") as sink:
            process = subprocess.Popen(
                list(command.arguments),
                stdin=pipe or subprocess.DEVNULL,
                stdout=pipe or sink,
                stderr=sink,
                env=None if command.environment is None else {**os.environ, **command.environment},
                text=True,
                bufsize=1,
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )
        child = Child(name=command.name, process=process, log=log)
        self._children.append(child)
        return child

    def end(self, child: Child) -> None:
        """End one child: politely, then for good."""
        self._end([child])
        self._children.remove(child)

    def end_all(self) -> None:
        """End every child that is still there."""
        children, self._children = self._children[::-1], []
        self._end(children)

    def check(self) -> None:
        """Raise ChildFailed when a child ended that nobody ended."""
        for child in self._children:
            if child.process.poll() is not None:
                raise ChildFailed(_story(child, f"ended with {child.process.returncode}"))

    def forget(self, child: Child) -> None:
        """Stop watching a child that was killed on purpose."""
        self._children.remove(child)

    def _end(self, children: Sequence[Child]) -> None:
        for child in children:
            _signal_group(child.process, signal.SIGTERM)
        deadline_s = time.monotonic() + END_S
        for child in children:
            try:
                child.process.wait(max(0.0, deadline_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.kill()
            # The leader may be gone before others of its group.
            _signal_group(child.process, signal.SIGKILL)
            for stream in (child.process.stdin, child.process.stdout):
                if stream is not None:
                    _close(stream)


def wait_ready(child: Child, url: str, timeout_s: float) -> None:
    """Wait until `url` answers 200; ChildFailed when the child ends first or the time is over."""
    deadline_s = time.monotonic() + timeout_s
    while time.monotonic() < deadline_s:
        if child.process.poll() is not None:
            raise ChildFailed(
                _story(child, f"ended with {child.process.returncode} before it was ready")
            )
        try:
            with urllib.request.urlopen(url, timeout=1.0):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise ChildFailed(_story(child, f"was not ready at {url} within {timeout_s:g} s"))


def python_module(module: str, *arguments: str) -> tuple[str, ...]:
    """The command of a module with this interpreter; -P, or a folder `models` would hide ours."""
    return (sys.executable, "-P", "-m", module, *arguments)


def _die_with_parent() -> None:
    if sys.platform == "linux":
        _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


_LIBC = ctypes.CDLL(None)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise Interrupted(signal.Signals(number).name)


def _signal_group(process: subprocess.Popen[str], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _close(stream: IO[str]) -> None:
    with contextlib.suppress(OSError):
        stream.close()


def _story(child: Child, what: str) -> str:
    tail = child.log.read_text(errors="replace").splitlines()[-8:]
    return f"{child.name} {what}; its log is {child.log}:\n" + "\n".join(tail)
