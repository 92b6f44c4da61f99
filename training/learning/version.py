"""Train versions of services' models: laws, networks, scores, provenance.

Called by `python -m training train` for one and by the backtest for many at once. Tells
`progress` after every epoch, so that it can be shown and cancelled; reads no clock and writes no
file.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from controlplane.domain.errors import Invalid
from controlplane.domain.features import CENTERS
from models.artifact import ModelArtifact
from models.forward import predict
from training.dataset import Dataset
from training.learning.law_fit import Declared, LawFit, fit_law
from training.learning.network import Epoch, Lesson, TrainedNetwork, split_rows, train_networks
from training.learning.profile import daily_profile
from training.learning.projection import total_load
from training.learning.provenance import (
    MIN_ROWS,
    check_rows,
    environment,
    law_record,
    law_rows,
    law_scores,
    provenance,
)
from training.learning.residual import (
    ResidualRows,
    residual_lesson,
    residual_rows,
    residual_scores,
    shrunk,
)
from training.learning.scores import error_scores
from training.learning.settings import NetworkSettings, TrainingSettings
from training.learning.support import support_of

FloatArray = NDArray[np.float64]

StageProgress = Callable[[str, Epoch], None]

# Ratios closer than this cannot tell what the ratio does.
MIN_RATIO_SPAN = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What to train; `primary` and `secondary` is what the fleet declares of the centres.

    `day_s` is the length of a day, for the daily profile; 86,400 unless time is scaled.
    """

    service: str
    settings: TrainingSettings
    seed: int
    created_at_s: float
    primary: Declared
    secondary: Declared
    day_s: float = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Draft:
    """One version on its way: the fitted laws, and the rows that they leave a residual of."""

    dataset: Dataset
    job: Job
    fits: tuple[LawFit, LawFit]
    rest: ResidualRows
    mlp: list[TrainedNetwork] = field(default_factory=list)
    residuals: list[TrainedNetwork] = field(default_factory=list)
    scores: dict[str, float] = field(default_factory=dict)


def train_version(dataset: Dataset, job: Job, progress: StageProgress) -> ModelArtifact:
    """Fit the laws, train the networks that the settings ask for, and score them.

    Raises:
        Invalid: too few rows, a ratio that never varies, or no row on which a residual could be
            trained although the settings ask for nothing else.
    """
    return train_versions([dataset], [job], progress)[0]


def train_versions(
    datasets: Sequence[Dataset], jobs: Sequence[Job], progress: StageProgress
) -> tuple[ModelArtifact, ...]:
    """Train a version per data set and job at once; all jobs have the same settings.

    Each version is, to the bit, what `train_version` makes of its data set and job alone. Those
    with equally many rows share one tensor program, so bring them to one length where that is
    yours to choose: 20 services then train in less than a third of the time.

    Args:
        progress: told after every epoch of a group of networks that advance together.

    Raises:
        Invalid: as `train_version`, for the first one that cannot be trained; none is, then.
        ValueError: the settings differ.
    """
    settings = {job.settings for job in jobs}
    if len(settings) > 1:
        raise ValueError("jobs with different settings cannot be trained at once")
    drafts = [_draft(dataset, job) for dataset, job in zip(datasets, jobs, strict=True)]
    for asked in settings:
        if asked.mlp is not None:
            _train_mlps(drafts, asked.mlp, progress)
        if asked.residual is not None:
            _train_residuals(drafts, asked.residual, progress)
    return tuple(_artifact(draft) for draft in drafts)


def _check(dataset: Dataset) -> None:
    check_rows(dataset)
    span = float(np.ptp(dataset.ratio))
    if span < MIN_RATIO_SPAN:
        raise Invalid(
            "ratio_constant",
            f"the ratio varies by {span:.4f} over all rows, at least {MIN_RATIO_SPAN} needed: "
            "a constant ratio cannot show what the ratio does; run a commissioning sweep or dither",
        )


def _draft(dataset: Dataset, job: Job) -> _Draft:
    _check(dataset)
    fits = (
        fit_law(law_rows(dataset.primary), job.primary),
        fit_law(law_rows(dataset.secondary), job.secondary),
    )
    draft = _Draft(
        dataset=dataset,
        job=job,
        fits=fits,
        rest=residual_rows(dataset, (fits[0].law, fits[1].law)),
    )
    if job.settings.mlp is None and draft.rest.y.size < MIN_ROWS:
        raise Invalid(
            "residual_impossible",
            f"the queue laws answer for {draft.rest.y.size} rows, at least {MIN_ROWS} needed: "
            f"{fits[0].reason or fits[1].reason or 'CPU and load of both centres are missing'}",
        )
    return draft


def _train_mlps(
    drafts: Sequence[_Draft], settings: NetworkSettings, progress: StageProgress
) -> None:
    lessons = [
        Lesson(x=draft.dataset.inputs(), y=draft.dataset.response_time_ms, seeds=(draft.job.seed,))
        for draft in drafts
    ]
    trained = train_networks(lessons, settings, lambda epoch: progress("mlp", epoch))
    for draft, lesson, (network,) in zip(drafts, lessons, trained, strict=True):
        held = split_rows(lesson.y.size, settings).held
        guess = predict(network.mlp, lesson.x[held]).astype(np.float64)
        draft.mlp.append(network)
        draft.scores.update(error_scores("mlp", guess, lesson.y[held]))


def _train_residuals(
    drafts: Sequence[_Draft], settings: NetworkSettings, progress: StageProgress
) -> None:
    able = [draft for draft in drafts if draft.rest.y.size >= MIN_ROWS]
    lessons = [
        residual_lesson(draft.rest, settings, draft.job.seed, draft.job.day_s) for draft in able
    ]
    trained = train_networks(lessons, settings, lambda epoch: progress("residual", epoch))
    for draft, members in zip(able, trained, strict=True):
        draft.residuals.extend(shrunk(members, draft.rest, settings))
        draft.scores.update(
            residual_scores([member.mlp for member in draft.residuals], draft.rest, settings)
        )


def _spread(scores: dict[str, float], fits: tuple[LawFit, LawFit]) -> float:
    """The spread of what will decide: the hybrid, or the network where the laws cannot."""
    trusted = all(fit.trusted for fit in fits)
    order = ("hybrid", "mlp") if trusted else ("mlp", "hybrid")
    known = [
        scores[f"{name}_residual_spread"] for name in order if f"{name}_residual_spread" in scores
    ]
    return known[0]


def _artifact(draft: _Draft) -> ModelArtifact:
    dataset, job, fits = draft.dataset, draft.job, draft.fits
    networks = _named_networks(draft)
    scores = law_scores(dict(zip(CENTERS, fits, strict=True))) | draft.scores
    return ModelArtifact(
        service=job.service,
        kind=job.settings.name,
        mlp=draft.mlp[0].mlp if draft.mlp else None,
        residuals=tuple(member.mlp for member in draft.residuals),
        primary=law_record(fits[0]),
        secondary=law_record(fits[1]),
        support=support_of(dataset, (fits[0].law, fits[1].law)),
        scores=scores | {"residual_spread": _spread(scores, fits)},
        best_epoch={name: network.best_epoch for name, network in networks.items()},
        losses={name: network.losses for name, network in networks.items()},
        profile=daily_profile(dataset.time_s, total_load(dataset), job.day_s),
        provenance=provenance(dataset, job.settings.digest(), job.seed),
        created_at_s=job.created_at_s,
        environment={
            **environment(),
            "torch": torch.__version__,
            "cpu": torch.backends.cpu.get_cpu_capability(),
        },
    )


def _named_networks(draft: _Draft) -> dict[str, TrainedNetwork]:
    """Every network by its name in the version: `mlp`, `residual` or `residual_1`, ...."""
    names = ["mlp"] * len(draft.mlp)
    if len(draft.residuals) == 1:
        names.append("residual")
    else:
        names.extend(f"residual_{at}" for at in range(1, len(draft.residuals) + 1))
    return dict(zip(names, (*draft.mlp, *draft.residuals), strict=True))
