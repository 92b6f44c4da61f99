"""The ways of training that `benchmarks.training` compares, and the rows that they all get.

The usual loop in torch begins with our start and takes the rows in our order: what is left of a
difference is rounding. scikit-learn has its own.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.neural_network import MLPRegressor
from torch.utils.data import DataLoader, TensorDataset

from models.forward import LAYERS
from training.learning.descent import Weights
from training.learning.network import Lesson, split_rows, train_networks
from training.learning.scaling import fit_scaler
from training.learning.settings import MEMBERS, SETTINGS, NetworkSettings
from training.simulation import simulator, weather
from training.simulation.world import load_world

FloatArray = NDArray[np.float64]
Float32 = NDArray[np.float32]

ROWS = 44_640
# Of the world's arrivals: at its peaks a few overloaded minutes would be nearly all of the loss.
LOAD = 0.8
MANY = 64
SEED = 2025


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Work:
    """The same rows for everyone: as we take them, and scaled as the others want them."""

    x: FloatArray
    y: FloatArray
    settings: NetworkSettings
    train_x: Float32
    train_y: Float32
    held_x: Float32
    held_y: Float32


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trained:
    """Seconds per epoch; (networks, epochs) mean squared errors on the held-out rows in ms^2."""

    epoch_s: float
    losses: FloatArray

    @property
    def best(self) -> FloatArray:
        """(networks,) of the best epoch: a single epoch's is mostly luck at this learning rate."""
        return np.asarray(self.losses.min(axis=1))


Way = Callable[[Work, int, int], Trained]


def prepare(minutes: int) -> Work:
    """Simulate the first world and scale its rows, one a minute."""
    world = load_world("W1")
    lighter = replace(world.arrivals, peak_rps=LOAD * world.arrivals.peak_rps)
    world = replace(world, arrivals=lighter)
    drawn = weather.draw(world, minutes + 1, SEED)
    rows = simulator.simulate(world, drawn, weather.operator_ratio(world, minutes + 1, SEED))
    settings = SETTINGS["paper"].mlp
    assert settings is not None
    x, y = rows.inputs(), rows.response_time_ms
    split = split_rows(len(y), settings)
    scaler = fit_scaler(x[split.train], y[split.train], settings.target)
    scaled = np.nan_to_num((x - scaler.x_mean) / scaler.x_scale).astype(np.float32)
    target = ((y - scaler.y_mean) / scaler.y_scale).astype(np.float32)
    return Work(
        x=x,
        y=y,
        settings=settings,
        train_x=scaled[split.train],
        train_y=target[split.train],
        held_x=scaled[split.held],
        held_y=target[split.held],
    )


def train_one(work: Work, epochs: int, seed: int) -> Trained:
    """Our training of one network."""
    return _ours(work, epochs, (seed,))


def train_five(work: Work, epochs: int, seed: int) -> Trained:
    """Our training of an ensemble's five members."""
    return _ours(work, epochs, tuple(seed + member for member in range(MEMBERS)))


def train_many(work: Work, epochs: int, seed: int) -> Trained:
    """Our training of 64 networks, each with rows of its own."""
    return _ours(work, epochs, tuple(seed + network for network in range(MANY)))


def train_by_loop(work: Work, epochs: int, seed: int) -> Trained:
    """The usual loop in torch, from our start and with our order of the rows."""
    generator = torch.Generator().manual_seed(seed)
    network = _network(Weights.draw([generator]))
    rows = TensorDataset(torch.from_numpy(work.train_x), torch.from_numpy(work.train_y[:, None]))
    order = _Shuffled(rows=len(rows), generator=generator)
    loader = DataLoader(rows, batch_size=work.settings.batch, sampler=order)
    optimizer = torch.optim.Adam(network.parameters(), lr=work.settings.learning_rate)
    criterion = torch.nn.MSELoss()
    spent_s, losses = 0.0, []
    for _ in range(epochs):
        start_s = time.process_time()
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(network(x), y)
            loss.backward()
            optimizer.step()
        spent_s += time.process_time() - start_s
        with torch.no_grad():
            losses.append(_loss(work, network(torch.from_numpy(work.held_x))[:, 0].numpy()))
    return Trained(epoch_s=spent_s / epochs, losses=np.array([losses]))


def train_by_sklearn(work: Work, epochs: int, seed: int) -> Trained:
    """scikit-learn's MLPRegressor, an epoch at a time; float32, as the others."""
    regressor = MLPRegressor(
        hidden_layer_sizes=LAYERS[1:3],
        alpha=0.0,
        batch_size=work.settings.batch,
        learning_rate_init=work.settings.learning_rate,
        random_state=seed,
    )
    spent_s, losses = 0.0, []
    for _ in range(epochs):
        start_s = time.process_time()
        regressor.partial_fit(work.train_x, work.train_y)
        spent_s += time.process_time() - start_s
        losses.append(_loss(work, regressor.predict(work.held_x)))
    return Trained(epoch_s=spent_s / epochs, losses=np.array([losses]))


WAYS: dict[str, Way] = {
    "paper": train_one,
    "ensemble": train_five,
    "batched": train_many,
    "loop": train_by_loop,
    "sklearn": train_by_sklearn,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shuffled:
    """The order of the rows in each epoch, as our training draws it."""

    rows: int
    generator: torch.Generator

    def __iter__(self) -> Iterator[int]:
        return iter(torch.randperm(self.rows, generator=self.generator).tolist())


def _network(start: Weights) -> torch.nn.Sequential:
    first, second, third, last = LAYERS
    network = torch.nn.Sequential(
        torch.nn.Linear(first, second),
        torch.nn.ReLU(),
        torch.nn.Linear(second, third),
        torch.nn.ReLU(),
        torch.nn.Linear(third, last),
    )
    with torch.no_grad():
        # Weight and bias of each layer in turn, in both; torch has its weights as (out, in).
        for mine, theirs in zip(start.parts, network.parameters(), strict=True):
            theirs.copy_(mine[0].T if theirs.dim() == 2 else mine[0, 0])
    return network


def _ours(work: Work, epochs: int, seeds: tuple[int, ...]) -> Trained:
    lessons = [Lesson(x=work.x, y=work.y, seeds=(seed,)) for seed in seeds]
    start_s = time.process_time()
    trained = train_networks(lessons, replace(work.settings, epochs=epochs), lambda _: None)
    spent_s = time.process_time() - start_s
    losses = np.array([network.losses[1] for (network,) in trained])
    return Trained(epoch_s=spent_s / epochs, losses=losses)


def _loss(work: Work, predicted: Float32) -> float:
    return float(np.square(predicted.astype(np.float64) - work.held_y).mean())
