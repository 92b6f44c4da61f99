"""Confounding: the ratio is not a sign of something else that slows a site.

When an operator raises the ratio whenever an unrelated load slows everything, the rows say that a
high ratio is slow. Physics tells the difference: a higher ratio takes load *from* the secondary,
so it cannot slow both centres beyond what their own loads explain. Each centre's excess over its
law, without what its own and the other's load still explain, is averaged over each run of one
ratio and regressed on the ratio, within stretches of `STRETCH` rows: between weeks both may change
for reasons of their own. A slope of the same sign at both centres is the sign of a common cause.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.examination import Check
from training.examination.evidence import Evidence, undecided

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

STRETCH = 720
# A sweep through a few ratios goes along with the time of day; that decides nothing.
FEWEST_RUNS = 30
BINS = 20
# Common effect over the 5 % to 95 % range of the ratio within a stretch, as a ratio.
MOST_COMMON = 0.03
SURE = 4.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Runs:
    """Runs of one ratio within one stretch: (runs,) rows in each, and of each row (n,) which."""

    of_row: IntArray
    stretch: IntArray
    rows: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class _Effect:
    """Relative change over the range of the ratio; `sure` is how many standard errors it is."""

    size: float
    sure: float


def not_confounded(evidence: Evidence) -> Check:
    """Ask that the ratio does not go along with a slowness of both centres."""
    ratio = np.append(evidence.dataset.ratio[:1], evidence.dataset.ratio[:-1])
    first, second = evidence.centers
    known = np.isfinite(first.excess) & np.isfinite(second.excess)
    known[1:] &= evidence.followed
    ratio = ratio[known]
    runs = _runs(ratio, np.flatnonzero(known))
    moves = runs.rows.size - np.unique(runs.stretch).size
    if moves < FEWEST_RUNS:
        return undecided("not_confounded", MOST_COMMON, f"{moves} changes of the ratio are too few")
    effects = [
        _effect(_unexplained(own.excess[known], own.use[known], other.use[known]), ratio, runs)
        for own, other in ((first, second), (second, first))
    ]
    figure = _common(effects)
    return Check(
        code="not_confounded",
        passed=figure <= MOST_COMMON,
        figure=figure,
        limit=MOST_COMMON,
        message=(
            f"over the range of the ratio both centres change by {effects[0].size:+.1%} and "
            f"{effects[1].size:+.1%} beyond what their loads explain; a ratio takes from one what "
            "it gives to the other, so a sure change in the same direction has a common cause"
        ),
    )


def _common(effects: Sequence[_Effect]) -> float:
    """The smaller effect when both are sure and have the same sign, else 0."""
    if any(effect.sure < SURE for effect in effects) or effects[0].size * effects[1].size < 0:
        return 0.0
    return min(abs(effect.size) for effect in effects)


def _runs(ratio: FloatArray, at: IntArray) -> _Runs:
    stretch = at // STRETCH
    if not at.size:
        return _Runs(of_row=at, stretch=at, rows=np.zeros(0))
    begins = np.append(True, (np.diff(ratio) != 0) | (np.diff(stretch) != 0))
    of_row = np.cumsum(begins) - 1
    return _Runs(
        of_row=of_row,
        stretch=stretch[begins],
        rows=np.bincount(of_row).astype(np.float64),
    )


def _unexplained(excess: FloatArray, *uses: FloatArray) -> FloatArray:
    """Take out the mean of each twentieth of the load, once for each centre's load."""
    for use in uses:
        edges = np.quantile(use, np.linspace(0.0, 1.0, BINS + 1)[1:-1])
        bin_of = np.searchsorted(edges, use)
        excess = excess - _means(excess, bin_of)[bin_of]
    return excess


def _effect(rest: FloatArray, ratio: FloatArray, runs: _Runs) -> _Effect:
    """Regress one value per run on the ratio of the run."""
    weight = runs.rows
    y, x = (_within(_means(values, runs.of_row), runs) for values in (rest, ratio))
    power = float(weight @ np.square(x))
    if not power > 0:
        return _Effect(size=0.0, sure=0.0)
    slope = float(weight @ (x * y)) / power
    # Each run counts once, however long: rows of one run resemble each other.
    error = float(np.square(weight * x) @ np.square(y - slope * x)) ** 0.5 / power
    low, high = np.quantile(x, [0.05, 0.95])
    return _Effect(size=slope * float(high - low), sure=abs(slope) / max(error, 1e-12))


def _within(values: FloatArray, runs: _Runs) -> FloatArray:
    """Less the mean of the stretch."""
    total = np.bincount(runs.stretch, runs.rows * values)
    rows = np.maximum(np.bincount(runs.stretch, runs.rows), 1.0)
    return np.asarray(values - (total / rows)[runs.stretch])


def _means(values: FloatArray, group: IntArray) -> FloatArray:
    counts = np.maximum(np.bincount(group), 1)
    return np.asarray(np.bincount(group, values) / counts)
