"""The residual ensemble: what the queue laws leave unexplained, learned at projected loads.

Called by training.learning.version. Each member predicts log(actual / queue law); serving uses
their mean within +-5 % and their spread as a part of the uncertainty.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from controlplane.domain.strategies.greybox import RESIDUAL_LIMIT
from models.forward import Mlp, predict_members, stack
from training.dataset import Dataset
from training.learning.ensemble import drawn_days, member_seeds
from training.learning.network import Lesson, TrainedNetwork, split_rows
from training.learning.projection import Laws, greybox_ms, projected_inputs
from training.learning.scores import error_scores
from training.learning.settings import NetworkSettings

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ResidualRows:
    """Rows on which a residual can be learned: the laws answer and CPU is known.

    Attributes:
        x: (n, 14) projected inputs; y: (n,) log(actual / greybox).
        greybox, actual: (n,) in ms; time_s: (n,) UTC epoch seconds.
    """

    x: FloatArray
    y: FloatArray
    greybox: FloatArray
    actual: FloatArray
    time_s: FloatArray


def residual_rows(dataset: Dataset, laws: Laws) -> ResidualRows:
    """The rows of a data set that the laws answer for."""
    greybox = greybox_ms(dataset, laws)
    known = np.flatnonzero(np.isfinite(greybox) & (greybox > 0))
    actual = dataset.response_time_ms[known]
    return ResidualRows(
        x=projected_inputs(dataset, laws)[known],
        y=np.log(actual) - np.log(greybox[known]),
        greybox=greybox[known],
        actual=actual,
        time_s=dataset.time_s[known],
    )


def residual_lesson(
    rows: ResidualRows, settings: NetworkSettings, seed: int, day_s: float
) -> Lesson:
    """The members to train: each with its own seed and, where there are several, its own days."""
    seeds = member_seeds(seed, settings.members)
    train = split_rows(rows.y.size, settings).train
    samples: tuple[NDArray[np.int64], ...] = ()
    if settings.members > 1:
        samples = tuple(train[drawn_days(rows.time_s[train], day_s, seed)] for seed in seeds)
    return Lesson(x=rows.x, y=rows.y, seeds=seeds, samples=samples)


def shrunk(
    members: Sequence[TrainedNetwork], rows: ResidualRows, settings: NetworkSettings
) -> tuple[TrainedNetwork, ...]:
    """Shrink all members by the regression of the held-out rows on their mean.

    An ensemble that explains nothing there is shrunk to 0: hybrid is then the queue law alone.
    """
    mlps = tuple(member.mlp for member in members)
    held = split_rows(rows.y.size, settings).held
    guess = _corrections(mlps, rows.x[held]).mean(axis=0)
    power = float(guess @ guess)
    gain = float(np.clip(guess @ rows.y[held] / power, 0.0, 1.0)) if power > 0 else 0.0
    return tuple(
        replace(
            member,
            mlp=replace(
                member.mlp, y_mean=member.mlp.y_mean * gain, y_scale=member.mlp.y_scale * gain
            ),
        )
        for member in members
    )


def residual_scores(
    mlps: Sequence[Mlp], rows: ResidualRows, settings: NetworkSettings
) -> dict[str, float]:
    """Errors on the held-out rows with and without the ensemble, and what its members differ by.

    Returns:
        `greybox_*` and `hybrid_*` as `error_scores`; `residual_member_sd`: standard deviation of
        the members' log corrections, the mean over the rows (0.01 is about 1 %).
    """
    held = split_rows(rows.y.size, settings).held
    corrections = _corrections(mlps, rows.x[held])
    greybox, actual = rows.greybox[held], rows.actual[held]
    hybrid = greybox * np.exp(np.clip(corrections.mean(axis=0), -RESIDUAL_LIMIT, RESIDUAL_LIMIT))
    return (
        error_scores("greybox", greybox, actual)
        | error_scores("hybrid", hybrid, actual)
        | {"residual_member_sd": float(corrections.std(axis=0).mean())}
    )


def _corrections(mlps: Sequence[Mlp], x: FloatArray) -> FloatArray:
    """(members, n) log corrections, not limited."""
    return predict_members(stack(mlps), x).astype(np.float64)
