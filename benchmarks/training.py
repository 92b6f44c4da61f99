"""How long training takes: the published settings, one network and 64 at once.

The network of `paper` (14-64-32-1, Adam 0.001, batches of 32, target not scaled) learns a simulated
month of one-minute rows, the newest tenth held out. Beside ours in the same run, alternating: the
usual loop in torch (DataLoader, nn.Sequential, optim.Adam) and scikit-learn's MLPRegressor with the
same settings. Each has one thread, so time is the processor's, which other work on the machine
hardly changes. It is per epoch; ours has its setup and the loss on the held-out rows in it, theirs
has not. The loss on the held-out rows must be as good as theirs.
`python -m benchmarks.training [--quick] [--json]`
"""

import argparse
import json
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.neural_network import MLPRegressor
from threadpoolctl import threadpool_limits
from torch.utils.data import DataLoader, TensorDataset

from models.forward import LAYERS
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
EXCESS = "_loss_excess_sd"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much is trained: `rounds` of `epochs`, and once `whole` epochs (0: not)."""

    rounds: int
    epochs: int
    whole: int


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

QUICK = Plan(rounds=2, epochs=3, whole=0)
FULL = Plan(rounds=3, epochs=10, whole=300)
# Standard errors by which our loss may be above theirs: both depend on their seeds.
WORSE = 2.0


def main() -> None:
    """Measure, compare the losses, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer epochs, not all 300")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    plan = QUICK if options.quick else FULL
    # One thread each: more cost torch and scikit-learn more than they bring at 32 rows a step.
    torch.set_num_threads(1)
    with threadpool_limits(limits=1):
        figures = measure(prepare(ROWS), plan)
    show(figures, plan)
    if options.json:
        print(json.dumps({"benchmark": "training", "figures": figures}))
    worse = [name for name, value in figures.items() if name.endswith(EXCESS) and value > WORSE]
    if worse:
        raise SystemExit(f"the loss on the held-out rows is worse than theirs: {', '.join(worse)}")


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
    """The usual loop in torch."""
    torch.manual_seed(seed)
    first, second, third, last = LAYERS
    network = torch.nn.Sequential(
        torch.nn.Linear(first, second),
        torch.nn.ReLU(),
        torch.nn.Linear(second, third),
        torch.nn.ReLU(),
        torch.nn.Linear(third, last),
    )
    rows = TensorDataset(torch.from_numpy(work.train_x), torch.from_numpy(work.train_y[:, None]))
    loader = DataLoader(rows, batch_size=work.settings.batch, shuffle=True)
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


def measure(work: Work, plan: Plan) -> dict[str, float]:
    """Train in every way with the same seeds, alternating; medians, the units are in the names."""
    peak_before = _peak_mb()
    train_many(work, 1, SEED)
    memory_mb = _peak_mb() - peak_before
    results: dict[str, list[Trained]] = {name: [] for name in WAYS}
    for turn in range(plan.rounds):
        for name, way in WAYS.items():
            results[name].append(way(work, plan.epochs, SEED + 100 * turn))
    epoch_s = {name: float(np.median([r.epoch_s for r in runs])) for name, runs in results.items()}
    figures = {f"{name}_epoch_s": seconds for name, seconds in epoch_s.items()}
    figures |= {
        "paper_vs_loop_ratio": epoch_s["paper"] / epoch_s["loop"],
        "batched_speedup_vs_loop": MANY * epoch_s["loop"] / epoch_s["batched"],
        "batched_speedup_vs_sklearn": MANY * epoch_s["sklearn"] / epoch_s["batched"],
        "batched_speedup_vs_one": MANY * epoch_s["paper"] / epoch_s["batched"],
        "ensemble_to_one_ratio": epoch_s["ensemble"] / epoch_s["paper"],
        "batched_memory_mb": memory_mb,
    }
    return figures | _losses(results) | (_whole(work, plan.whole) if plan.whole else {})


def show(figures: dict[str, float], plan: Plan) -> None:
    """Print the table: each way per epoch and network, its loss, and how many times our time."""
    batched_s = figures["batched_epoch_s"] / MANY
    rows = (
        ("usual loop", "loop", figures["loop_epoch_s"]),
        ("scikit-learn", "sklearn", figures["sklearn_epoch_s"]),
        ("ours, one network", "paper", figures["paper_epoch_s"]),
        (f"ours, {MEMBERS} at once, each", "ensemble", figures["ensemble_epoch_s"] / MEMBERS),
        (f"ours, {MANY} at once, each", "batched", batched_s),
    )
    print(f"per epoch of {ROWS} rows, medians of {plan.rounds} turns of {plan.epochs} epochs")
    for label, name, seconds in rows:
        loss = figures[f"{name}_loss_ms2"]
        print(
            f"{label:<24}{seconds * 1e3:>9.1f} ms{seconds / batched_s:>8.1f} x"
            f"   best loss {loss:.2f} ms^2"
        )
    print(f"memory of {MANY} at once: {figures['batched_memory_mb']:.0f} MB")
    if plan.whole:
        print(
            f"all {plan.whole} epochs of one network: ours {figures['paper_whole_s']:.1f} s, "
            f"loop {figures['loop_whole_s']:.1f} s"
        )


def _ours(work: Work, epochs: int, seeds: tuple[int, ...]) -> Trained:
    lessons = [Lesson(x=work.x, y=work.y, seeds=(seed,)) for seed in seeds]
    start_s = time.process_time()
    trained = train_networks(lessons, replace(work.settings, epochs=epochs), lambda _: None)
    spent_s = time.process_time() - start_s
    losses = np.array([network.losses[1] for (network,) in trained])
    return Trained(epoch_s=spent_s / epochs, losses=losses)


def _loss(work: Work, predicted: Float32) -> float:
    return float(np.square(predicted.astype(np.float64) - work.held_y).mean())


def _losses(results: dict[str, list[Trained]]) -> dict[str, float]:
    """Mean best losses, and ours above theirs in standard errors of the difference."""
    best = {name: np.concatenate([run.best for run in runs]) for name, runs in results.items()}
    spread = float(best["batched"].std())
    figures = {f"{name}_loss_ms2": float(losses.mean()) for name, losses in best.items()}
    for mine, theirs in (("paper", "loop"), ("batched", "loop"), ("batched", "sklearn")):
        error = spread * (1 / best[mine].size + 1 / best[theirs].size) ** 0.5
        excess = figures[f"{mine}_loss_ms2"] - figures[f"{theirs}_loss_ms2"]
        figures[f"{mine}_vs_{theirs}{EXCESS}"] = excess / error
    return figures


def _whole(work: Work, epochs: int) -> dict[str, float]:
    """All epochs of the published settings: ours and the loop, one network each."""
    figures = {}
    for name in ("paper", "loop"):
        trained = WAYS[name](work, epochs, SEED)
        figures[f"{name}_whole_s"] = trained.epoch_s * epochs
        figures[f"{name}_whole_loss_ms2"] = float(trained.best.mean())
    return figures | {
        "paper_vs_loop_whole_ratio": figures["paper_whole_s"] / figures["loop_whole_s"]
    }


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
