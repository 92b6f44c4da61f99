"""Shows how far a backtest is: the units of each stage."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

from training import display
from training.backtest.tournament import Tell


@contextmanager
def shown(stream: TextIO | None = None) -> Iterator[Tell]:
    """Yield what a backtest tells its units; to standard error unless a stream is given."""
    columns = (
        TextColumn("{task.description:>8}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        TimeRemainingColumn(),
    )
    with display.shown("backtest.progress", columns, stream) as show:
        yield lambda stage, done, total: show(
            stage, done, total, {"stage": stage, "done": done, "total": total}
        )
