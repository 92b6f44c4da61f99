"""How long training takes: the published settings, one network and 64 at once.

The network of `paper` (14-64-32-1, Adam 0.001, batches of 32, target not scaled) learns a simulated
month of one-minute rows, the newest tenth held out. Beside ours in the same run, alternating: the
usual loop in torch (DataLoader, nn.Sequential, optim.Adam) and scikit-learn's MLPRegressor with the
same settings. Each has one thread, so time is the processor's, which other work on the machine
hardly changes. It is per epoch; ours has its setup and the loss on the held-out rows in it, theirs
has not.

The loss on the held-out rows must be as good as theirs, or the benchmark fails. How good a network
is after some epochs depends on its start and on the order of its rows more than on anything else,
so the loop begins with our start and takes the rows in our order: then the losses of the first
epochs must be equal but for rounding. scikit-learn cannot be led like that; the full run compares
with it, and with the loop again, after the whole training.
`python -m benchmarks.training [--quick] [--json]`
"""

import resource
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks import command
from benchmarks.training_ways import MANY, ROWS, SEED, WAYS, Trained, Work, prepare, train_many
from training.learning.settings import MEMBERS

FloatArray = NDArray[np.float64]

GAP, EXCESS, WHOLE = "_loss_gap_ratio", "_loss_excess_sd", "_whole"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much is trained: `rounds` of `epochs`, and once `whole` epochs (0: not)."""

    rounds: int
    epochs: int
    whole: int


QUICK = Plan(rounds=2, epochs=3, whole=0)
FULL = Plan(rounds=3, epochs=10, whole=300)
# Those that the full run lets train to the end.
WHOLE_WAYS = ("paper", "ensemble", "loop", "sklearn")
# From the same start and with the same order only rounding differs: 1e-8 of the loss after the
# first epoch. It grows from epoch to epoch, to 1e-2 after ten, so the first few are compared.
EQUAL_EPOCHS, EQUAL = 3, 1e-3
# Standard errors by which our loss may be above that of other seeds after the whole training.
WORSE = 2.0
# The same after a few epochs: losses still fall, two or three seeds of theirs are not normal.
WORSE_EARLY = 4.0


def main() -> None:
    """Measure, compare the losses, print."""
    options = command.options(__doc__, quick="fewer epochs, not all 300")
    plan = QUICK if options.quick else FULL
    # One thread each: more cost torch and scikit-learn more than they bring at 32 rows a step.
    torch.set_num_threads(1)
    with threadpool_limits(limits=1):
        figures = measure(prepare(ROWS), plan)
    show(figures, plan)
    command.end(options, "training", figures)
    if worse := worse_losses(figures):
        raise SystemExit(f"the loss on the held-out rows is worse than theirs: {', '.join(worse)}")


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


def worse_losses(figures: dict[str, float]) -> list[str]:
    """Names of the figures that say that our loss is worse than theirs."""
    return [name for name, value in figures.items() if value > _limit(name)]


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
    print(f"largest difference from the loop's loss: {figures[f'paper_vs_loop{GAP}']:.1e} of it")
    print(f"memory of {MANY} at once: {figures['batched_memory_mb']:.0f} MB")
    if plan.whole:
        print(
            f"all {plan.whole} epochs of one network: ours {figures['paper_whole_s']:.1f} s, "
            f"loop {figures['loop_whole_s']:.1f} s"
        )
        losses = ", ".join(f"{name} {figures[f'{name}_whole_loss_ms2']:.2f}" for name in WHOLE_WAYS)
        print(f"best losses then, ms^2: {losses}")


def _losses(results: dict[str, list[Trained]]) -> dict[str, float]:
    """Mean best losses; how far ours are from theirs, by rounding and in standard errors."""
    best = {name: np.concatenate([run.best for run in runs]) for name, runs in results.items()}
    figures = {f"{name}_loss_ms2": float(losses.mean()) for name, losses in best.items()}
    for mine, theirs in (("paper", "loop"), ("batched", "paper")):
        pairs = zip(results[mine], results[theirs], strict=True)
        figures[f"{mine}_vs_{theirs}{GAP}"] = max(
            float(np.abs(ours.losses[0] / others.losses[0] - 1.0)[:EQUAL_EPOCHS].max())
            for ours, others in pairs
        )
    figures[f"batched_vs_sklearn{EXCESS}"] = _excess(best["batched"], best["sklearn"])
    return figures


def _excess(mine: FloatArray, theirs: FloatArray) -> float:
    """Our mean loss above theirs in standard errors, with the spread of our seeds for both."""
    error = mine.std(ddof=1) * (1 / mine.size + 1 / theirs.size) ** 0.5
    return float((mine.mean() - theirs.mean()) / error)


def _limit(name: str) -> float:
    if name.endswith(GAP):
        return EQUAL
    if name.endswith(EXCESS):
        return WORSE if WHOLE in name else WORSE_EARLY
    return np.inf


def _whole(work: Work, epochs: int) -> dict[str, float]:
    """All epochs of the published settings; each of our five has the bits that it has alone."""
    trained = {name: WAYS[name](work, epochs, SEED) for name in WHOLE_WAYS}
    figures = {}
    for name, run in trained.items():
        figures[f"{name}{WHOLE}_s"] = run.epoch_s * epochs
        figures[f"{name}{WHOLE}_loss_ms2"] = float(run.best.mean())
    for theirs in ("loop", "sklearn"):
        excess = _excess(trained["ensemble"].best, trained[theirs].best)
        figures[f"ensemble_vs_{theirs}{WHOLE}{EXCESS}"] = excess
    return figures | {
        "paper_vs_loop_whole_ratio": figures["paper_whole_s"] / figures["loop_whole_s"]
    }


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
