"""How far the simulated worlds tell splits apart, and how fast they are played.

In each world the same weathers under 0.5, the best ratio in hindsight, an ideal equalizer of CPU
and a clairvoyant. For speed sixty lanes are played cycle by cycle, all at once and one after the
other, alternating. `python -m benchmarks.worlds [--quick] [--json]`
"""

import time
from collections.abc import Sequence

import numpy as np

from benchmarks import command
from controlplane.domain.strategies.candidates import GRID
from training.simulation import site, weather
from training.simulation.arrivals import DAY_MINUTES
from training.simulation.contrast import Contrast, contrast
from training.simulation.site import Lanes
from training.simulation.world import load_world, world_names

CYCLE_MINUTES = 5
LANES, CYCLES, ROUNDS = 60, 48, 5
QUICK_WORLDS = ("W1", "W3", "W4", "W9")
Figures = dict[str, float]


def main() -> None:
    """Measure and print."""
    options = command.options(__doc__, quick="four worlds, two seeds, five days")
    known = [name for name in world_names() if len(load_world(name).centers) == 2]
    names = QUICK_WORLDS if options.quick else known
    seeds, days = (2, 5) if options.quick else (20, 14)
    figures: Figures = {}
    for name in names:
        of_world = told_apart(name, range(seeds), days)
        show(name, of_world)
        figures |= {f"{figure}_{name.lower()}": value for figure, value in of_world.items()}
    figures |= speed()
    print(
        f"five minutes of {LANES} lanes of W1: {figures['cycle_ms']:.2f} ms at once, "
        f"{figures['cycle_ms'] * figures['lanes_speedup_ratio']:.1f} ms one after the other "
        f"({figures['lanes_speedup_ratio']:.0f} x)"
    )
    command.end(options, "worlds", figures)


def told_apart(name: str, seeds: Sequence[int], days: int) -> Figures:
    """Figures of one world, each the mean over the seeds."""
    world = load_world(name)
    each = [
        _figures(contrast(world, weather.draw(world, days * DAY_MINUTES, seed)), days)
        for seed in seeds
    ]
    return {figure: float(np.mean([one[figure] for one in each])) for figure in each[0]}


def _figures(seen: Contrast, days: int) -> Figures:
    half, oracle, static = seen.held(0.5), seen.oracle, seen.best_static
    low, high = np.quantile(GRID[oracle], [0.1, 0.9])
    figures = {
        "oracle_ms": seen.response_ms(oracle),
        "half_regret_pct": seen.regret_pct(half),
        "best_static_ratio": float(GRID[static[0]]),
        "best_static_regret_pct": seen.regret_pct(static),
        "equal_cpu_regret_pct": seen.regret_pct(seen.by_cpu),
        "best_ratio_low": float(low),
        "best_ratio_high": float(high),
        "oracle_overload_minutes_14d": seen.overloaded(oracle) * 14 / days,
        "half_overload_minutes_14d": seen.overloaded(half) * 14 / days,
    }
    if not seen.saturating.any():
        return figures
    base_ms, base_rps = seen.response_ms(half), seen.saturation_rps(half)
    for label, chosen in (("best_static", static), ("oracle", oracle)):
        figures[f"{label}_rt_pct"] = (seen.response_ms(chosen) / base_ms - 1) * 100
        figures[f"{label}_qps_pct"] = (seen.saturation_rps(chosen) / base_rps - 1) * 100
    return figures


def show(name: str, figures: Figures) -> None:
    """Print one world."""
    print(name)
    for figure, value in figures.items():
        print(f"  {figure:<28} {value:8.2f}")


def speed() -> Figures:
    """Time of a cycle of all lanes, and of the same lanes one after the other."""
    world = load_world("W1")
    drawn = [weather.draw(world, CYCLES * CYCLE_MINUTES, seed) for seed in range(20)]
    index = np.arange(LANES) % len(drawn)
    together = site.gather(world, drawn, index)
    alone = [site.gather(world, [drawn[at]]) for at in index]
    whole, parts = [], []
    for _ in range(ROUNDS):
        whole.append(_play_s(together))
        parts.append(sum(_play_s(one) for one in alone))
    return {
        "cycle_ms": min(whole) / CYCLES * 1000,
        "lanes_speedup_ratio": min(parts) / min(whole),
    }


def _play_s(lanes: Lanes) -> float:
    state, shares = site.start(lanes), np.full((lanes.index.size, 2), 0.5)
    begin = time.perf_counter()
    for cycle in range(CYCLES):
        minutes = slice(cycle * CYCLE_MINUTES, (cycle + 1) * CYCLE_MINUTES)
        _, state = site.play(lanes, state, minutes, shares)
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
