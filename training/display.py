"""How far a long command is: bars on a terminal, JSON lines elsewhere.

`progress` of training, of imports and of backtests say what is shown. Both forms go to standard
error, so that standard output carries the result alone; a caller that shows progress of its own
reads the JSON lines.
"""

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol, TextIO

from rich.console import Console
from rich.progress import Progress, ProgressColumn, TaskID

# Lines of one name at most this often: 300 epochs of a small data set pass in less than a second.
_EVERY_S = 0.5


class Show(Protocol):
    """What to call after each step of `name`, of which `done` of `total` are done then.

    `facts` are the rest of its line, and fields of its bar.
    """

    def __call__(
        self, name: str, done: float, total: float, facts: Mapping[str, object]
    ) -> None: ...


def plain(text: str) -> str:
    """Text of files and sources for a terminal, which it must not steer; lines stay lines."""
    shown = (
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode()
        for char in text
    )
    return "".join(shown)


@contextmanager
def shown(event: str, columns: Sequence[ProgressColumn], stream: TextIO | None) -> Iterator[Show]:
    """Yield what a command calls after each step.

    Args:
        event: of each JSON line.
        columns: of each bar.
        stream: standard error where None.
    """
    stream = sys.stderr if stream is None else stream
    if not stream.isatty():
        yield _JsonLines(event, stream)
        return
    with Progress(*columns, console=Console(file=stream)) as bars:
        yield _Bars(bars)


class _Bars:
    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, name: str, done: float, total: float, facts: Mapping[str, object]) -> None:
        fields = dict(facts)
        if name not in self._tasks:
            self._tasks[name] = self._bars.add_task(name, facts=fields)
        self._bars.update(self._tasks[name], completed=done, total=total, facts=fields)


class _JsonLines:
    """The first and the last line of each name are always written."""

    def __init__(self, event: str, stream: TextIO) -> None:
        self._event = event
        self._stream = stream
        self._last_s: dict[str, float] = {}

    def __call__(self, name: str, done: float, total: float, facts: Mapping[str, object]) -> None:
        now_s = time.monotonic()
        if name in self._last_s and now_s - self._last_s[name] < _EVERY_S and done < total:
            return
        self._last_s[name] = now_s
        self._stream.write(json.dumps({"event": self._event, **facts}) + "\n")
        self._stream.flush()
