"""How soon early retraining starts after a change, and how often without one.

The policy itself (`domain.retraining.due`, with its pause of six hours) is asked once a cycle.
Beside it on the same errors: the published rule of six cycles alone, and river's ADWIN, which the
design names. Errors are drawn (a correlation of 0.5 between neighbours), those of queue laws in a
closed loop of simulated worlds, and those of a daily profile on real cloud metrics.
`python -m benchmarks.drift [--quick] [--json]`
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from benchmarks import command
from benchmarks.drift_detectors import (
    AFTER,
    BEFORE,
    DAY_CYCLES,
    DETECTORS,
    WEEK_CYCLES,
    Detector,
    delay,
    drawn,
)
from benchmarks.drift_series import KNOWN_DAYS, RealSeries, real, simulated

# Of a real series: the first profile's, and between two.
KNOWN = KNOWN_DAYS * DAY_CYCLES
PAUSE = 72
SHIFTS = (0.5, 1.0, 2.0)
WORLDS = ("W1", "W2", "W3", "W4")
SEED = 2025


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much is measured: AR(1) runs of four weeks, runs for each shift, days and seeds."""

    stable_runs: int
    shift_runs: int
    worlds: tuple[str, ...]
    days: int
    seeds: tuple[int, ...]


FULL = Effort(stable_runs=150, shift_runs=200, worlds=WORLDS, days=28, seeds=(1, 2))
QUICK = Effort(stable_runs=40, shift_runs=60, worlds=WORLDS[:1], days=7, seeds=(1,))


def main() -> None:
    """Measure, print."""
    options = command.options(__doc__, quick="fewer runs")
    effort = QUICK if options.quick else FULL
    figures = measure(effort)
    command.end(options, "drift", figures)


def measure(effort: Effort) -> dict[str, float]:
    """All parts; prints each table when it is there."""
    return {**_on_noise(effort), **_in_worlds(effort), **_on_metrics(real())}


def _on_noise(effort: Effort) -> dict[str, float]:
    figures: dict[str, float] = {}
    stable = [list(row) for row in drawn(effort.stable_runs, 4 * WEEK_CYCLES, SEED)]
    noise = drawn(effort.shift_runs, BEFORE + AFTER, SEED + 1)
    print(f"errors with a correlation of 0.5: {4 * effort.stable_runs} weeks, then")
    print(f"{effort.shift_runs} runs with each shift of the mean; delays are medians in cycles")
    heads = "".join(f"{f'{shift:g} spreads':>13}" for shift in SHIFTS)
    print(f"{'':<14}{'alarms/week':>12}{'90 % interval':>18}{heads}")
    for name, detect in DETECTORS.items():
        alarms = sum(len(detect(row)) for row in stable)
        low, high = _interval(alarms, 4 * effort.stable_runs)
        delays = [delay(detect, noise, shift) for shift in SHIFTS]
        rate = alarms / (4 * effort.stable_runs)
        cells = "".join(f"{cycles:>13.0f}" for cycles in delays)
        print(f"{name:<14}{rate:>12.3f}{f'{low:.3f}..{high:.3f}':>18}{cells}")
        prefix = "" if name == "policy" else f"{name}_"
        figures[f"{prefix}false_alarms_per_week"] = rate
        figures[f"{prefix}false_alarms_per_week_high"] = high
        for shift, cycles in zip(SHIFTS, delays, strict=True):
            figures[f"{prefix}drift_delay_cycles_{shift:g}_spreads"] = cycles
    figures["drift_delay_cycles"] = figures["drift_delay_cycles_2_spreads"]
    return figures


def _in_worlds(effort: Effort) -> dict[str, float]:
    figures: dict[str, float] = {}
    print(f"\nlive errors of fitted queue laws, {len(effort.seeds)} x {effort.days} days each")
    for world in effort.worlds:
        series = simulated(world, effort.days, effort.seeds)
        weeks = sum(len(errors) for errors in series) / WEEK_CYCLES
        together = np.concatenate(series)
        together = together[np.isfinite(together)]
        cells = ""
        for name, detect in DETECTORS.items():
            rate = sum(len(detect(list(errors))) for errors in series) / weeks
            cells += f"  {name} {rate:.2f}"
            prefix = "" if name == "policy" else f"{name}_"
            figures[f"{prefix}alarms_per_week_{world.lower()}"] = rate
        print(
            f"{world:<4} {together.size} errors, mean {together.mean():+.2f} and spread "
            f"{together.std():.2f} of the frozen one; alarms a week:{cells}"
        )
    return figures


def _on_metrics(series: Iterable[RealSeries]) -> dict[str, float]:
    figures: dict[str, float] = {}
    print(
        "\nreal metrics against a daily profile, which is made anew after each alarm: windows that"
    )
    print("the source labels and that had an alarm, alarms a week outside of them")
    for each in series:
        cells = ""
        for name, detect in DETECTORS.items():
            alarms = _with_retraining(each, detect)
            windows = [window for window in each.windows if window[1] > KNOWN]
            hit = sum(any(a <= alarm <= b for alarm in alarms) for a, b in windows)
            others = [x for x in alarms if not any(a <= x <= b for a, b in windows)]
            rate = len(others) / ((len(each.level) - KNOWN) / WEEK_CYCLES)
            cells += f"  {name} {hit}/{len(windows)}, {rate:.1f}"
            prefix = "" if name == "policy" else f"{name}_"
            figures[f"{prefix}{each.name}_windows_found"] = float(hit)
            figures[f"{prefix}{each.name}_other_alarms_per_week"] = rate
        print(f"{each.name:<20} neighbours {each.resemblance:.2f}: {cells}")
    return figures


def _with_retraining(series: RealSeries, detect: Detector) -> list[int]:
    """Steps of all alarms, each followed by a new profile."""
    alarms: list[int] = []
    trained = KNOWN
    while found := detect(list(series.errors(trained))):
        trained += max(found[0], PAUSE)
        alarms.append(trained)
    return alarms


def _interval(alarms: int, weeks: int) -> tuple[float, float]:
    """90 % interval of a Poisson rate."""
    low = chi2.ppf(0.05, 2 * alarms) / 2 if alarms else 0.0
    return float(low) / weeks, float(chi2.ppf(0.95, 2 * alarms + 2)) / 2 / weeks


if __name__ == "__main__":
    main()
