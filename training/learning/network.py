"""Training the 14-64-32-1 network in torch; many networks as one tensor program.

Called by learning.version. An ensemble's members, many services and many seeds are the same here:
networks that advance together, up to `TOGETHER` of them.

Deterministic: one thread, seeded generators, no operation with a free order of summation. The
same data, settings and seed give the same bits on one machine, alone and among others.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from models.forward import LAYERS, Mlp
from training.learning.descent import Descent, Weights
from training.learning.scaling import TARGET, WIDTH, Scaler, fit_scaler, scaled_table
from training.learning.settings import HeldOut, Keep, NetworkSettings

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# More networks at once share the cost of a call, until their weights, gradients and Adam's two
# averages (49 KB each) no longer fit beside the batch into a core's second cache.
TOGETHER = 20
_INPUTS = LAYERS[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """Progress: mean squared errors in units of the target, the mean over the networks.

    `number` counts from 1 to `total`, on through networks that are not trained together.
    """

    number: int
    total: int
    train_loss: float
    validation_loss: float


Progress = Callable[[Epoch], None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lesson:
    """Rows in order of time, and the networks to train on them.

    Attributes:
        x: (rows, 14) float64, in the units of the features; NaN is missing, becomes the mean.
        y: (rows,) in the unit of the target.
        seeds: one for each network.
        samples: for each network the rows to train on, repeated where drawn repeatedly; () is all
            rows that `split_rows` does not hold out. Held-out rows must not be among them.
    """

    x: FloatArray
    y: FloatArray
    seeds: tuple[int, ...]
    samples: tuple[IntArray, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainedNetwork:
    """A network and how it came about.

    Attributes:
        losses: (2, epochs) float64, training (mean over the epoch's steps) and validation MSE in
            squared units of the target.
        best_epoch: 1-based epoch with the smallest validation loss.
    """

    mlp: Mlp
    losses: FloatArray
    best_epoch: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Split:
    """Row indices: trained on, and held out."""

    train: IntArray
    held: IntArray


def train_networks(
    lessons: Sequence[Lesson], settings: NetworkSettings, progress: Progress
) -> tuple[tuple[TrainedNetwork, ...], ...]:
    """Train every network of every lesson; those with equally many rows advance together.

    Args:
        progress: told after every epoch.

    Returns:
        For each lesson one network per seed, in that order, each with the bits that it would have
        had alone.
    """
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(mode=True)
    tasks = [task for lesson in lessons for task in _tasks(lesson, settings)]
    groups = _groups(tasks)
    trained: dict[int, TrainedNetwork] = {}
    for place, group in enumerate(groups):
        tell = _Tell(progress, place * settings.epochs, len(groups) * settings.epochs)
        with torch.inference_mode():
            networks = _Run([tasks[index] for index in group], settings).train(tell)
        trained.update(zip(group, networks, strict=True))
    ordered = iter(trained[index] for index in range(len(tasks)))
    return tuple(tuple(next(ordered) for _ in lesson.seeds) for lesson in lessons)


def split_rows(rows: int, settings: NetworkSettings) -> Split:
    """Indices of the rows to train on and of those held out, each in order of time."""
    held = max(1, round(rows * settings.validation_share))
    if settings.held_out is HeldOut.TAIL:
        return Split(train=np.arange(rows - held), held=np.arange(rows - held, rows))
    # The middle of `held` equal stretches.
    chosen = np.floor((np.arange(held) + 0.5) * rows / held).astype(np.int64)
    return Split(train=np.setdiff1d(np.arange(rows), chosen), held=chosen)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Task:
    """One network to train: rows of a scaled table (rows, 16) that it shares with its lesson."""

    table: Tensor
    scaler: Scaler
    rows: Tensor
    held: Tensor
    seed: int


@dataclass(frozen=True, slots=True)
class _Tell:
    """Numbers the epochs of one group among those of all."""

    progress: Progress
    before: int
    total: int

    def __call__(self, epoch: int, losses: FloatArray) -> None:
        train_loss, validation_loss = losses.mean(axis=0)
        self.progress(
            Epoch(
                number=self.before + epoch + 1,
                total=self.total,
                train_loss=float(train_loss),
                validation_loss=float(validation_loss),
            )
        )


def _tasks(lesson: Lesson, settings: NetworkSettings) -> Iterable[_Task]:
    split = split_rows(len(lesson.y), settings)
    scaler = fit_scaler(lesson.x[split.train], lesson.y[split.train], settings.target)
    table = scaled_table(scaler, lesson.x, lesson.y)
    samples = lesson.samples or (split.train,) * len(lesson.seeds)
    held = table[torch.from_numpy(split.held)]
    for seed, sample in zip(lesson.seeds, samples, strict=True):
        rows = torch.from_numpy(sample)
        yield _Task(table=table, scaler=scaler, rows=rows, held=held, seed=seed)


def _groups(tasks: Sequence[_Task]) -> list[list[int]]:
    """Indices of tasks that go together: of equal size, in groups of about the same number."""
    sizes: dict[tuple[int, int], list[int]] = defaultdict(list)
    for index, task in enumerate(tasks):
        sizes[len(task.rows), len(task.held)].append(index)
    groups: list[list[int]] = []
    for members in sizes.values():
        parts = -(-len(members) // TOGETHER)
        cuts = [part * len(members) // parts for part in range(parts + 1)]
        groups.extend(members[a:b] for a, b in pairwise(cuts))
    return groups


class _Run:
    """One group of networks in training."""

    def __init__(self, tasks: Sequence[_Task], settings: NetworkSettings) -> None:
        self.tasks, self.settings = tasks, settings
        self.unit = np.array([task.scaler.y_scale**2 for task in tasks])
        held = torch.stack([task.held for task in tasks])
        self.held_x = held[:, :, :_INPUTS].contiguous()
        self.held_y = held[:, :, TARGET:]
        # Each epoch's shuffled rows are written to the same memory, so that the views of its
        # steps are made once.
        self.shuffled = torch.empty(len(tasks), len(tasks[0].rows), WIDTH)
        self.errors = torch.empty(len(tasks), len(tasks[0].rows), 1)
        views = (self.shuffled[:, :, :_INPUTS], self.shuffled[:, :, TARGET:], self.errors)
        self.steps = [
            tuple(view[:, start : start + settings.batch] for view in views)
            for start in range(0, self.errors.shape[1], settings.batch)
        ]
        self.generators = [torch.Generator().manual_seed(task.seed) for task in tasks]
        self.weights = Weights.draw(self.generators)
        self.descent = Descent(self.weights, len(tasks), settings)

    def train(self, tell: Callable[[int, FloatArray], None]) -> list[TrainedNetwork]:
        """Run all epochs; `tell` gets the epoch, from 0, and its losses (networks, 2)."""
        networks, epochs = len(self.tasks), self.settings.epochs
        losses = np.empty((networks, 2, epochs))
        best_loss = np.full(networks, np.inf)
        best = np.zeros(networks, dtype=np.int64)
        kept = self.weights
        if self.settings.keep is Keep.BEST:
            kept = Weights(self.weights.flat.clone(), networks)
        for epoch in range(epochs):
            losses[:, 0, epoch] = self._epoch() * self.unit
            losses[:, 1, epoch] = self._validation() * self.unit
            better = losses[:, 1, epoch] < best_loss
            best[better], best_loss[better] = epoch, losses[better, 1, epoch]
            if kept is not self.weights:
                kept.keep(self.weights, torch.from_numpy(better))
            tell(epoch, losses[:, :, epoch])
        return [
            TrainedNetwork(
                mlp=_mlp(kept, task.scaler, index),
                losses=losses[index],
                best_epoch=int(best[index]) + 1,
            )
            for index, task in enumerate(self.tasks)
        ]

    def _epoch(self) -> FloatArray:
        """One pass over the rows; mean squared errors before each step, (networks,)."""
        for shuffled, task, generator in zip(
            self.shuffled, self.tasks, self.generators, strict=True
        ):
            order = task.rows[torch.randperm(len(task.rows), generator=generator)]
            torch.index_select(task.table, 0, order, out=shuffled)
        for x, y, error in self.steps:
            self.descent.step(x, y, error)
        return _mean_square(self.errors)

    def _validation(self) -> FloatArray:
        return _mean_square(self.descent.predict(self.held_x).sub_(self.held_y))


def _mean_square(errors: Tensor) -> FloatArray:
    # By numpy in each network's own rows: the same order of summation alone and among others.
    squares = np.square(errors[:, :, 0].numpy(), dtype=np.float64)
    return np.asarray(squares.mean(axis=1))


def _mlp(weights: Weights, scaler: Scaler, index: int) -> Mlp:
    return Mlp(
        w1=weights.w1[index].numpy().copy(),
        b1=weights.b1[index, 0].numpy().copy(),
        w2=weights.w2[index].numpy().copy(),
        b2=weights.b2[index, 0].numpy().copy(),
        w3=weights.w3[index].numpy().copy(),
        b3=weights.b3[index, 0].numpy().copy(),
        x_mean=scaler.x_mean,
        x_scale=scaler.x_scale,
        y_mean=scaler.y_mean,
        y_scale=scaler.y_scale,
    )
