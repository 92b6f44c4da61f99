"""Shows the progress of training: the epochs of each stage, and their losses.

Used by `python -m training train`; the control plane reads the JSON lines of its jobs.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

from training import display
from training.learning.network import Epoch
from training.learning.version import StageProgress


@contextmanager
def shown(epochs: int, stream: TextIO | None = None) -> Iterator[StageProgress]:
    """Yield what training calls after every epoch; `epochs` is their number over all stages.

    `stream` is standard error if left out.
    """
    columns = (
        TextColumn("{task.description:>8}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f} epochs"),
        TextColumn(
            "loss {task.fields[facts][train_loss]:.4g}, "
            "held out {task.fields[facts][validation_loss]:.4g}"
        ),
        TimeRemainingColumn(),
    )
    with display.shown("training.epoch", columns, stream) as show:
        yield _Told(epochs, show)


class _Told:
    """Counts the epochs of all stages."""

    def __init__(self, epochs: int, show: display.Show) -> None:
        self._epochs = epochs
        self._show = show
        self._done = 0

    def __call__(self, stage: str, epoch: Epoch) -> None:
        self._done += 1
        facts = {
            "stage": stage,
            "epoch": epoch.number,
            "epochs": epoch.total,
            "progress": min(1.0, self._done / self._epochs),
            "train_loss": epoch.train_loss,
            "validation_loss": epoch.validation_loss,
        }
        self._show(stage, epoch.number, epoch.total, facts)
