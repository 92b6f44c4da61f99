"""Shows how far an import is: a bar on a terminal, JSON lines elsewhere, on standard error."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from training.importers.recorded import Tell

_EVERY_S = 0.5


@contextmanager
def shown(stream: TextIO = sys.stderr) -> Iterator[Tell]:
    """Yield what an import tells what is read, and how far that is, 0..1."""
    if not stream.isatty():
        yield _JsonLines(stream)
        return
    columns = (TextColumn("{task.description:>40.40}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=stream)) as bars:
        yield _Bars(bars)


class _Bars:
    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, what: str, done: float) -> None:
        if what not in self._tasks:
            self._tasks[what] = self._bars.add_task(what, total=1.0)
        self._bars.update(self._tasks[what], completed=done)


class _JsonLines:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._last_s = 0.0

    def __call__(self, what: str, done: float) -> None:
        now_s = time.monotonic()
        if now_s - self._last_s < _EVERY_S and done < 1.0:
            return
        self._last_s = now_s
        line = {"event": "import.progress", "reading": what, "progress": round(done, 4)}
        self._stream.write(json.dumps(line) + "\n")
        self._stream.flush()
