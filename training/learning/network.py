"""Training the 14-64-32-1 network in torch; several networks of equal size at once.

Called by learning.version. All tensors carry a leading axis (networks, ...), so an ensemble or
many services are one tensor program.

Deterministic: one thread, seeded generators, no operation with a free order of summation. The
same data, settings and seed give the same bits on one machine.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from models.forward import Mlp
from training.learning.descent import Descent, Weights
from training.learning.scaling import Scaler, fit_scaler, scale
from training.learning.settings import HeldOut, Keep, NetworkSettings

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """Progress: 1-based number of the epoch and mean squared errors in units of the target."""

    number: int
    total: int
    train_loss: float
    validation_loss: float


Progress = Callable[[Epoch], None]


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

    train: NDArray[np.int64]
    held: NDArray[np.int64]


def train_network(
    x: FloatArray, y: FloatArray, settings: NetworkSettings, seed: int, progress: Progress
) -> TrainedNetwork:
    """Train one network on x (rows, 14) with missing = NaN and y (rows,), in order of time."""
    return train_networks(x[None], y[None], settings, (seed,), progress)[0]


def train_networks(
    x: FloatArray,
    y: FloatArray,
    settings: NetworkSettings,
    seeds: Sequence[int],
    progress: Progress,
) -> tuple[TrainedNetwork, ...]:
    """Train one network per seed, all at once.

    Args:
        x: (networks, rows, 14), in the units of the features; NaN is missing and becomes the mean.
        y: (networks, rows), in the unit of the target.
        progress: told after every epoch, with the losses' mean over the networks.

    Returns:
        One trained network per seed, in that order; each as if it had been trained alone up to
        rounding.
    """
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(mode=True)
    split = split_rows(x.shape[1], settings)
    scaler = fit_scaler(x[:, split.train], y[:, split.train], settings.target)
    inputs, targets = scale(scaler, x, y)
    run = _Run(inputs, targets, split, settings, seeds)
    with torch.inference_mode():
        losses, best, weights = run.train(progress, np.square(scaler.y_scale))
    return tuple(
        TrainedNetwork(
            mlp=_mlp(weights, scaler, index),
            losses=losses[index],
            best_epoch=int(best[index]) + 1,
        )
        for index in range(len(seeds))
    )


def split_rows(rows: int, settings: NetworkSettings) -> Split:
    """Indices of the rows to train on and of those held out, each in order of time."""
    held = max(1, round(rows * settings.validation_share))
    if settings.held_out is HeldOut.TAIL:
        return Split(train=np.arange(rows - held), held=np.arange(rows - held, rows))
    # The middle of `held` equal stretches.
    chosen = np.floor((np.arange(held) + 0.5) * rows / held).astype(np.int64)
    return Split(train=np.setdiff1d(np.arange(rows), chosen), held=chosen)


class _Run:
    """One training run: x (networks, rows, 14) and y (networks, rows, 1), float32, scaled."""

    def __init__(
        self,
        x: Tensor,
        y: Tensor,
        split: Split,
        settings: NetworkSettings,
        seeds: Sequence[int],
    ) -> None:
        train, held = torch.from_numpy(split.train), torch.from_numpy(split.held)
        self.x, self.y = x[:, train], y[:, train]
        self.held_x, self.held_y = x[:, held], y[:, held]
        self.settings = settings
        self.generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        self.weights = Weights.draw(self.generators)
        self.descent = Descent(self.weights, settings)

    def train(
        self, progress: Progress, unit: FloatArray
    ) -> tuple[FloatArray, NDArray[np.int64], Weights]:
        """Run all epochs; `unit` (networks,) turns scaled losses into squared target units."""
        networks, epochs = self.x.shape[0], self.settings.epochs
        losses = np.empty((networks, 2, epochs))
        best_loss = np.full(networks, np.inf)
        best = np.zeros(networks, dtype=np.int64)
        kept = self.weights.flat.clone()
        for epoch in range(epochs):
            losses[:, 0, epoch] = self._epoch() * unit
            losses[:, 1, epoch] = self.descent.loss(self.held_x, self.held_y) * unit
            better = losses[:, 1, epoch] < best_loss
            best[better], best_loss[better] = epoch, losses[better, 1, epoch]
            if self.settings.keep is Keep.BEST:
                kept[better] = self.weights.flat[better]
            train_loss, validation_loss = losses[:, :, epoch].mean(axis=0)
            progress(
                Epoch(
                    number=epoch + 1,
                    total=epochs,
                    train_loss=float(train_loss),
                    validation_loss=float(validation_loss),
                )
            )
        if self.settings.keep is Keep.LAST:
            kept = self.weights.flat
        return losses, best, Weights(kept)

    def _epoch(self) -> FloatArray:
        networks, rows, _ = self.x.shape
        order = torch.stack([torch.randperm(rows, generator=g) for g in self.generators])
        pick = torch.arange(networks)[:, None]
        x, y = self.x[pick, order], self.y[pick, order]
        total = torch.zeros(networks, dtype=torch.float64)
        for start in range(0, rows, self.settings.batch):
            stop = min(start + self.settings.batch, rows)
            total += self.descent.step(x[:, start:stop], y[:, start:stop])
        return np.asarray((total / rows).numpy())


def _mlp(weights: Weights, scaler: Scaler, index: int) -> Mlp:
    return Mlp(
        w1=weights.w1[index].numpy().copy(),
        b1=weights.b1[index, 0].numpy().copy(),
        w2=weights.w2[index].numpy().copy(),
        b2=weights.b2[index, 0].numpy().copy(),
        w3=weights.w3[index].numpy().copy(),
        b3=weights.b3[index, 0].numpy().copy(),
        x_mean=scaler.x_mean[index],
        x_scale=scaler.x_scale[index],
        y_mean=float(scaler.y_mean[index]),
        y_scale=float(scaler.y_scale[index]),
    )
