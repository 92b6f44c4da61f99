"""Error series for the drift benchmark: of simulated sites, and of real metrics.

All are in units of the spread that was frozen before the first error, one error a cycle.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import as_file, files

import numpy as np
from numpy.typing import NDArray

from benchmarks.drift_detectors import DAY_CYCLES
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.guardrails.skill import calm_error
from controlplane.domain.strategies.situation import LearnedModel
from training.backtest import loop
from training.backtest.contestant import contestant
from training.backtest.lane import Lane, lane
from training.importers.series import read_series
from training.learning.law_fit import Declared, fit_law
from training.learning.projection import greybox_ms
from training.learning.provenance import law_rows
from training.learning.scores import relative_spread
from training.simulation import simulator, weather
from training.simulation.arrivals import DAY_MINUTES
from training.simulation.world import World, load_world

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

FITTED_DAYS = 10
# Of a real series, that make a profile.
KNOWN_DAYS = 5
# Labelled anomalies, UTC; data/series/NOTICE.md has their source.
WINDOWS = {
    "elb_request_count": (
        ("2014-04-12T09:04", "2014-04-13T01:44"),
        ("2014-04-22T11:14", "2014-04-23T03:54"),
    ),
    "ec2_cpu_utilization": (
        ("2014-02-18T16:02", "2014-02-19T08:42"),
        ("2014-02-24T10:17", "2014-02-25T02:57"),
    ),
    "ec2_network_in": (("2014-04-14T23:59", "2014-04-16T09:29"),),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RealSeries:
    """A cloud metric in steps of a cycle, and a daily profile as its model.

    Attributes:
        hour: (n,) hour of the day; level: (n,) log of the value.
        windows: which steps the source labels as anomalies, as (first, last).
    """

    name: str
    hour: IntArray
    level: FloatArray
    windows: tuple[tuple[int, int], ...]

    @property
    def resemblance(self) -> float:
        """Correlation between neighbouring errors of the first profile."""
        errors = self.errors(KNOWN_DAYS * DAY_CYCLES)
        return float(np.corrcoef(errors[1:], errors[:-1])[0, 1])

    def errors(self, trained: int) -> FloatArray:
        """Errors from step `trained` on, in spreads, of a profile of the days before it."""
        known = slice(max(trained - KNOWN_DAYS * DAY_CYCLES, 0), trained)
        hours, levels = self.hour[known], self.level[known]
        profile = np.array([np.median(levels[hours == hour]) for hour in range(24)])
        spread = float(np.std(levels - profile[hours]))
        return np.asarray((self.level[trained:] - profile[self.hour[trained:]]) / spread)


def simulated(name: str, days: int, seeds: Sequence[int]) -> list[FloatArray]:
    """Live errors of queue laws that were fitted to logs, in a closed loop of a world."""
    world = load_world(name)
    model = _fitted(world)
    lanes = [
        (at, lane(world, contestant("greybox"), model, EnvelopeLimits()))
        for at in range(len(seeds))
    ]
    kept = [_Kept(lane=one) for _, one in lanes]
    weathers = [weather.draw(world, days * DAY_MINUTES, seed) for seed in seeds]

    def keep(_cycles: int) -> None:
        for each in kept:
            each.keep()

    loop.play(world, weathers, lanes, keep)
    return [np.array(each.errors) / model.residual_spread for each in kept]


def real() -> list[RealSeries]:
    """Cloud metrics with labels."""
    return [_real(name) for name in WINDOWS]


class _Kept:
    """Collects what the ledger of a lane settles; it holds an hour only."""

    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self._until_s = -np.inf
        self.errors: list[float] = []

    def keep(self) -> None:
        for pair in self._lane.state.ledger.pairs:
            if pair.time_s > self._until_s:
                error = calm_error(pair)
                self.errors.append(np.inf if error is None else error)
                self._until_s = pair.time_s


def _fitted(world: World) -> LearnedModel:
    minutes = FITTED_DAYS * DAY_MINUTES
    drawn = weather.draw(world, minutes, 100)
    rows = simulator.simulate(world, drawn, weather.operator_ratio(world, minutes, 100))
    primary, secondary = (law_rows(series) for series in (rows.primary, rows.secondary))
    laws = (fit_law(primary, Declared()).law, fit_law(secondary, Declared()).law)
    guess = greybox_ms(rows, laws)
    known = np.isfinite(guess) & np.isfinite(rows.response_time_ms)
    spread = relative_spread(guess[known], rows.response_time_ms[known])
    return LearnedModel(digest="fitted", laws=laws, residual_spread=spread)


def _real(name: str) -> RealSeries:
    with as_file(files("data").joinpath("series", f"{name}.csv")) as path:
        time_s, value = read_series(path)
    return RealSeries(
        name=name,
        hour=(time_s // 3600.0).astype(np.int64) % 24,
        level=np.log1p(np.maximum(value, 0.0)),
        windows=tuple(
            (int(np.searchsorted(time_s, _utc(first))), int(np.searchsorted(time_s, _utc(last))))
            for first, last in WINDOWS[name]
        ),
    )


def _utc(text: str) -> float:
    return datetime.fromisoformat(f"{text}+00:00").timestamp()
