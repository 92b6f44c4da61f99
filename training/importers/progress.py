"""Shows how far an import is: what is read, and its share."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

from training import display
from training.importers.recorded import Tell


@contextmanager
def shown(stream: TextIO | None = None) -> Iterator[Tell]:
    """Yield what an import tells what is read, and how far that is, 0..1.

    `stream` is standard error if left out.
    """
    columns = (TextColumn("{task.description:>40.40}"), BarColumn(), TimeRemainingColumn())
    with display.shown("import.progress", columns, stream) as show:
        yield lambda what, done: show(
            what, done, 1.0, {"reading": what, "progress": round(done, 4)}
        )
