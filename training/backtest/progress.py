"""Shows how far a backtest is: a bar per stage on a terminal, JSON lines elsewhere.

Both go to standard error, so that standard output carries the table alone.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from training.backtest.tournament import Tell


@contextmanager
def shown(stream: TextIO | None = None) -> Iterator[Tell]:
    """Yield what a backtest tells its units; to standard error unless a stream is given."""
    stream = sys.stderr if stream is None else stream
    if not stream.isatty():
        yield _JsonLines(stream)
        return
    columns = (
        TextColumn("{task.description:>8}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(file=stream)) as bars:
        yield _Bars(bars)


class _Bars:
    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage not in self._tasks:
            self._tasks[stage] = self._bars.add_task(stage, total=total)
        self._bars.update(self._tasks[stage], completed=done)


class _JsonLines:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __call__(self, stage: str, done: int, total: int) -> None:
        line = {"event": "backtest.progress", "stage": stage, "done": done, "total": total}
        self._stream.write(json.dumps(line) + "\n")
        self._stream.flush()
