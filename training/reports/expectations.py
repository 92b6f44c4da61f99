"""What each strategy expects: of every row at the applied ratio, and of every candidate.

The formulas are those that training and serving use; nothing is fitted here. Strategies that the
version cannot answer for are left out.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from controlplane.domain.services import StrategyName
from controlplane.domain.strategies.candidates import GRID
from controlplane.domain.strategies.center_use import MEMORY_PERIODS
from controlplane.domain.strategies.greybox import RESIDUAL_LIMIT
from controlplane.domain.strategies.queue_law import CenterLaw
from models.artifact import ModelArtifact
from models.forward import predict
from training.dataset import Dataset
from training.learning.projection import greybox_ms, projected_inputs
from training.learning.provenance import law_of

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Expect = Callable[[Dataset], FloatArray]

BY_LAWS = (StrategyName.HYBRID, StrategyName.GREYBOX)
BY_NETWORK = (StrategyName.PROJECTED_MLP, StrategyName.PAPER_MLP)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Version:
    """A trained version, ready to be asked about rows."""

    artifact: ModelArtifact
    laws: tuple[CenterLaw, CenterLaw]

    @property
    def strategies(self) -> tuple[StrategyName, ...]:
        """Those it has the parts for; first the one that would decide."""
        trusted = self.artifact.primary.trusted and self.artifact.secondary.trusted
        order = (*BY_LAWS, *BY_NETWORK) if trusted else (*BY_NETWORK, *BY_LAWS)
        lacking = set() if self.artifact.residuals else {StrategyName.HYBRID}
        lacking |= set() if self.artifact.mlp is not None else set(BY_NETWORK)
        return tuple(name for name in order if name not in lacking)


def version_of(artifact: ModelArtifact) -> Version:
    """The version with its laws, trusted or not: a report shows also why one is not."""
    return Version(artifact=artifact, laws=(law_of(artifact.primary), law_of(artifact.secondary)))


def expected_ms(version: Version, name: StrategyName, rows: Dataset) -> FloatArray:
    """Predicted response time of each row at its ratio: (n,) in ms; NaN where unanswerable."""
    if name is StrategyName.PAPER_MLP:
        return _network(version, rows.inputs())
    if name is StrategyName.PROJECTED_MLP:
        return _network(version, projected_inputs(rows, version.laws))
    base = greybox_ms(rows, version.laws)
    if name is StrategyName.GREYBOX:
        return base
    log_ratio = _correction(version, rows)
    return np.asarray(base * _factor(np.where(np.isfinite(log_ratio), log_ratio, 0.0)))


def candidates_ms(version: Version, name: StrategyName, rows: Dataset) -> FloatArray:
    """Predicted response time of each row at each ratio of `GRID`: (n, 61) in ms."""
    if name is not StrategyName.HYBRID:
        return _along_grid(rows, lambda moved: expected_ms(version, name, moved))
    base = _along_grid(rows, lambda moved: greybox_ms(moved, version.laws))
    log_ratio = _along_grid(rows, lambda moved: _correction(version, moved))
    return np.asarray(base * _factor(np.array([_within_support(row) for row in log_ratio])))


def with_past(dataset: Dataset, chosen: IntArray) -> tuple[Dataset, IntArray]:
    """The chosen rows, each after those that its averages read; and where they stand there.

    Rows too early to have a past are left out.
    """
    chosen = chosen[chosen >= MEMORY_PERIODS - 1]
    blocks = chosen[:, None] + np.arange(1 - MEMORY_PERIODS, 1)
    return take(dataset, blocks.ravel()), np.arange(chosen.size) * MEMORY_PERIODS + (
        MEMORY_PERIODS - 1
    )


def take(dataset: Dataset, rows: IntArray) -> Dataset:
    """The rows with these indices, in that order."""
    return Dataset(
        time_s=dataset.time_s[rows],
        primary=dataset.primary.at(rows),
        secondary=dataset.secondary.at(rows),
        ratio=dataset.ratio[rows],
        response_time_ms=dataset.response_time_ms[rows],
    )


def _along_grid(rows: Dataset, expect: Expect) -> FloatArray:
    moved = [expect(replace(rows, ratio=np.full(len(rows), ratio))) for ratio in GRID]
    return np.column_stack(moved)


def _network(version: Version, x: FloatArray) -> FloatArray:
    mlp = version.artifact.mlp
    assert mlp is not None
    return predict(mlp, x).astype(np.float64)


def _correction(version: Version, rows: Dataset) -> FloatArray:
    """Mean log residual of the members, (n,); NaN outside the box that the training rows cover."""
    x = projected_inputs(rows, version.laws)
    support = version.artifact.support
    outside = (x < np.asarray(support.feature_min)) | (x > np.asarray(support.feature_max))
    members = [predict(mlp, x).astype(np.float64) for mlp in version.artifact.residuals]
    mean = np.mean(members, axis=0)
    return np.where(outside.any(axis=1) | ~np.isfinite(mean), np.nan, mean)


def _within_support(log_ratio: FloatArray) -> FloatArray:
    """Along `GRID`: outside the box the nearest value inside goes on, as in serving."""
    usable = np.isfinite(log_ratio)
    if not usable.any():
        return np.zeros_like(log_ratio)
    return np.interp(GRID, GRID[usable], log_ratio[usable])


def _factor(log_ratio: FloatArray) -> FloatArray:
    return np.asarray(np.exp(np.clip(log_ratio, -RESIDUAL_LIMIT, RESIDUAL_LIMIT)))
