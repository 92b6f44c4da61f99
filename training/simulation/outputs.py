"""A simulated run as files and as facts: the data set, the truth beside it, what it is about.

Called by `python -m training simulate`; units are in the names of the facts.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training import dataset, site_dataset
from training.simulation import simulator, site_truth, tail, truth
from training.simulation.truth import Truth
from training.simulation.weather import Weather
from training.simulation.world import World

FloatArray = NDArray[np.float64]
Facts = dict[str, str | int | float | bool]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Run:
    """A world, its weather, and the shares (centers, n) that were applied."""

    world: World
    weather: Weather
    shares: FloatArray


def write(run: Run, out: Path, truth_out: Path | None) -> Facts:
    """Write the data set, and the truth where it is asked for; say what it is."""
    if len(run.world.centers) > 2:
        return _write_site(run, out, truth_out)
    rows = simulator.simulate(run.world, run.weather, run.shares[0])
    dataset.write_csv(rows, out)
    best = truth.find_truth(run.world, run.weather, run.shares[0])
    if truth_out is not None:
        truth.write_csv(best, truth_out)
    return {
        "world": run.world.name,
        "rows": len(rows),
        **_facts(run.world, best),
        **_tails(run, {"half": 0.5, "best_static": best.best_static_ratio}),
    }


def _tails(run: Run, held: dict[str, float]) -> Facts:
    """What 1 % of the requests of a minute exceed, in the mean of all minutes."""
    splits = {name: np.array([[ratio], [1.0 - ratio]]) for name, ratio in held.items()}
    return {
        f"{name}_p99_ms": float(tail.p99_ms(run.world, run.weather, shares).mean())
        for name, shares in ({"applied": run.shares} | splits).items()
    }


def _facts(world: World, best: Truth) -> Facts:
    """True response times, weighted by the requests; in a closed loop the throughput, too."""

    def mean_ms(values: FloatArray) -> float:
        requests = truth.requests_rps(world, best.arrival_rps, values)
        return float((values * requests).sum() / requests.sum())

    facts: Facts = {
        "applied_ms": mean_ms(best.applied_ms),
        "half_ms": mean_ms(best.half_ms),
        "oracle_ms": mean_ms(best.oracle_ms),
        "half_regret_pct": _above_pct(mean_ms(best.half_ms), mean_ms(best.oracle_ms)),
        "best_static_ratio": best.best_static_ratio,
        "best_static_regret_pct": _above_pct(mean_ms(best.best_static_ms), mean_ms(best.oracle_ms)),
    }
    if not best.saturating.any():
        return facts

    def served_rps(values: FloatArray) -> float:
        requests = truth.requests_rps(world, best.arrival_rps, values)
        return float(requests[best.saturating].mean())

    return {
        **facts,
        "saturating_minutes": int(best.saturating.sum()),
        "half_saturation_rps": served_rps(best.half_ms),
        "best_static_saturation_rps": served_rps(best.best_static_ms),
        "oracle_saturation_rps": served_rps(best.oracle_ms),
    }


def _write_site(run: Run, out: Path, truth_out: Path | None) -> Facts:
    rows = simulator.simulate_site(run.world, run.weather, run.shares)
    site_dataset.write_csv(rows, out)
    best = site_truth.find_truth(run.world, run.weather, run.shares)
    if truth_out is not None:
        site_truth.write_csv(best, truth_out)

    def mean_ms(values: FloatArray) -> float:
        return float((values * best.arrival_rps).sum() / best.arrival_rps.sum())

    return {
        "world": run.world.name,
        "rows": len(rows),
        "applied_ms": mean_ms(best.applied_ms),
        "equal_ms": mean_ms(best.equal_ms),
        "oracle_ms": mean_ms(best.oracle_ms),
        "equal_regret_pct": _above_pct(mean_ms(best.equal_ms), mean_ms(best.oracle_ms)),
        "applied_p99_ms": float(tail.p99_ms(run.world, run.weather, run.shares).mean()),
    }


def _above_pct(value: float, least: float) -> float:
    return (value / least - 1.0) * 100.0
