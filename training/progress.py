"""Shows the progress of training: a bar on a terminal, JSON lines elsewhere.

Used by `python -m training train`. Both go to standard error, so that standard output carries
the result alone; a caller that shows progress of its own reads the JSON lines.
"""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from training.learning.network import Epoch
from training.learning.version import StageProgress

# JSON lines at most this often: 300 epochs of a small data set pass in a fraction of a second.
_EVERY_S = 0.5


@contextmanager
def shown(epochs: int, stream: TextIO | None = None) -> Iterator[StageProgress]:
    """Yield what training calls after every epoch; `epochs` is their number over all stages.

    `stream` is standard error if left out.
    """
    stream = sys.stderr if stream is None else stream
    if not stream.isatty():
        yield _JsonLines(epochs, stream)
        return
    columns = (
        TextColumn("{task.description:>8}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f} epochs"),
        TextColumn("loss {task.fields[train_loss]:.4g}, held out {task.fields[held_out]:.4g}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(file=stream)) as bars:
        yield _Bars(bars)


class _Bars:
    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, stage: str, epoch: Epoch) -> None:
        loss, held_out = epoch.train_loss, epoch.validation_loss
        if stage not in self._tasks:
            self._tasks[stage] = self._bars.add_task(
                stage, total=epoch.total, train_loss=loss, held_out=held_out
            )
        self._bars.update(
            self._tasks[stage], completed=epoch.number, train_loss=loss, held_out=held_out
        )


class _JsonLines:
    def __init__(self, epochs: int, stream: TextIO) -> None:
        self._epochs = epochs
        self._stream = stream
        self._last_s = 0.0
        self._done = 0

    def __call__(self, stage: str, epoch: Epoch) -> None:
        self._done += 1
        now_s = time.monotonic()
        if now_s - self._last_s < _EVERY_S and epoch.number not in (1, epoch.total):
            return
        self._last_s = now_s
        line = {
            "event": "training.epoch",
            "stage": stage,
            "epoch": epoch.number,
            "epochs": epoch.total,
            "progress": min(1.0, self._done / self._epochs),
            "train_loss": epoch.train_loss,
            "validation_loss": epoch.validation_loss,
        }
        self._stream.write(json.dumps(line) + "\n")
        self._stream.flush()
