"""Train one version of one service's model: laws, networks, scores, provenance.

Called by `python -m training train`. Tells `progress` after every epoch, so that it can be shown
and cancelled; reads no clock and writes no file.
"""

import hashlib
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from importlib.resources import files

import numpy as np
import scipy
import torch
from numpy.typing import NDArray

from controlplane.domain.errors import Invalid
from controlplane.domain.features import SCHEMA_DIGEST
from models.artifact import LawRecord, ModelArtifact, Provenance, Support
from models.forward import predict
from training.dataset import CenterSeries, Dataset
from training.learning.law_fit import Declared, LawFit, LawRows, fit_law
from training.learning.network import Epoch, TrainedNetwork, split_rows, train_network
from training.learning.profile import daily_profile
from training.learning.projection import greybox_ms, projected_inputs, total_load
from training.learning.scores import error_scores
from training.learning.settings import NetworkSettings, TrainingSettings

FloatArray = NDArray[np.float64]

StageProgress = Callable[[str, Epoch], None]

# Two batches and a tail: less is an anecdote.
MIN_ROWS = 40
# Ratios closer than this cannot tell what the ratio does.
MIN_RATIO_SPAN = 0.01
# The support box is this much wider than the rows, as a share of their range, at least
# `_MARGIN` where the feature is 0..1: a disk that fills up by 1 % is no new world.
_WIDER, _MARGIN = 0.05, 0.02


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
class _Residual:
    """Rows on which the residual network is trained: the laws answer and CPU is known."""

    x: FloatArray
    y: FloatArray
    greybox: FloatArray
    actual: FloatArray


def train_version(dataset: Dataset, job: Job, progress: StageProgress) -> ModelArtifact:
    """Fit the laws, train the networks that the settings ask for, and score them.

    Raises:
        Invalid: too few rows, a ratio that never varies, or no row on which a residual could be
            trained although the settings ask for nothing else.
    """
    _check(dataset)
    fits = (
        fit_law(_law_rows(dataset.primary), job.primary),
        fit_law(_law_rows(dataset.secondary), job.secondary),
    )
    residual_rows = _residual_rows(dataset, fits)
    scores = _law_scores(fits)
    trained: dict[str, TrainedNetwork] = {}
    if job.settings.mlp is not None:
        trained["mlp"] = _train_mlp(dataset, job, progress)
        scores |= _mlp_scores(dataset, trained["mlp"], job.settings.mlp)
    if job.settings.residual is not None and residual_rows.y.size >= MIN_ROWS:
        trained["residual"] = _train_residual(residual_rows, job, progress)
        scores |= _residual_scores(residual_rows, trained["residual"], job.settings.residual)
    if not trained:
        raise Invalid(
            "residual_impossible",
            f"the queue laws answer for {residual_rows.y.size} rows, at least {MIN_ROWS} needed: "
            f"{fits[0].reason or fits[1].reason or 'CPU and load of both centres are missing'}",
        )
    scores["residual_spread"] = _spread(scores, fits)
    return _artifact(dataset, job, fits, trained, scores)


def code_digest() -> str:
    """sha256 over the sources that decide what a version becomes."""
    digest = hashlib.sha256()
    for package in ("models", "training.learning"):
        for source in sorted(files(package).iterdir(), key=lambda path: path.name):
            if source.name.endswith(".py"):
                digest.update(source.name.encode() + source.read_bytes())
    digest.update(files("training").joinpath("dataset.py").read_bytes())
    domain = files("controlplane.domain")
    for name in ("features.py", "strategies/queue_law.py"):
        digest.update(name.encode() + domain.joinpath(*name.split("/")).read_bytes())
    return digest.hexdigest()


def _check(dataset: Dataset) -> None:
    rows = len(dataset)
    if rows < MIN_ROWS:
        raise Invalid(
            "too_few_rows",
            f"{rows} complete rows, at least {MIN_ROWS} needed: collect more before training",
        )
    span = float(np.ptp(dataset.ratio))
    if span < MIN_RATIO_SPAN:
        raise Invalid(
            "ratio_constant",
            f"the ratio varies by {span:.4f} over all rows, at least {MIN_RATIO_SPAN} needed: "
            "a constant ratio cannot show what the ratio does; run a commissioning sweep or dither",
        )


def _law_rows(series: CenterSeries) -> LawRows:
    return LawRows(
        response_time_ms=series.response_time_ms,
        cpu=series.cpu_avg,
        rate_rps=series.request_rate_rps,
    )


def _residual_rows(dataset: Dataset, fits: tuple[LawFit, LawFit]) -> _Residual:
    laws = (fits[0].law, fits[1].law)
    greybox = greybox_ms(dataset, laws)
    known = np.flatnonzero(np.isfinite(greybox) & (greybox > 0))
    actual = dataset.response_time_ms[known]
    return _Residual(
        x=projected_inputs(dataset, laws)[known],
        y=np.log(actual) - np.log(greybox[known]),
        greybox=greybox[known],
        actual=actual,
    )


def _train_mlp(dataset: Dataset, job: Job, progress: StageProgress) -> TrainedNetwork:
    assert job.settings.mlp is not None
    return train_network(
        dataset.inputs(),
        dataset.response_time_ms,
        job.settings.mlp,
        job.seed,
        lambda epoch: progress("mlp", epoch),
    )


def _train_residual(rows: _Residual, job: Job, progress: StageProgress) -> TrainedNetwork:
    """Train on the log residual, then shrink the output by its regression on the held-out rows.

    A network that explains nothing there is shrunk to 0: hybrid is then the queue law alone.
    """
    settings = job.settings.residual
    assert settings is not None
    trained = train_network(
        rows.x, rows.y, settings, job.seed, lambda epoch: progress("residual", epoch)
    )
    held = split_rows(rows.y.size, settings).held
    guess = predict(trained.mlp, rows.x[held]).astype(np.float64)
    power = float(guess @ guess)
    gain = float(np.clip(guess @ rows.y[held] / power, 0.0, 1.0)) if power > 0 else 0.0
    mlp = replace(trained.mlp, y_mean=trained.mlp.y_mean * gain, y_scale=trained.mlp.y_scale * gain)
    return replace(trained, mlp=mlp)


def _law_scores(fits: tuple[LawFit, LawFit]) -> dict[str, float]:
    scores = {}
    for center, fit in zip(("primary", "secondary"), fits, strict=True):
        scores[f"{center}_law_spread"] = fit.spread
        scores[f"{center}_law_condition"] = fit.condition
        scores[f"{center}_law_rows"] = float(fit.rows)
    return scores


def _mlp_scores(
    dataset: Dataset, trained: TrainedNetwork, settings: NetworkSettings
) -> dict[str, float]:
    held = split_rows(len(dataset), settings).held
    guess = predict(trained.mlp, dataset.inputs()[held]).astype(np.float64)
    return error_scores("mlp", guess, dataset.response_time_ms[held])


def _residual_scores(
    rows: _Residual, trained: TrainedNetwork, settings: NetworkSettings
) -> dict[str, float]:
    held = split_rows(rows.y.size, settings).held
    correction = predict(trained.mlp, rows.x[held]).astype(np.float64)
    greybox, actual = rows.greybox[held], rows.actual[held]
    hybrid = greybox * np.exp(np.clip(correction, -0.05, 0.05))
    return error_scores("greybox", greybox, actual) | error_scores("hybrid", hybrid, actual)


def _spread(scores: dict[str, float], fits: tuple[LawFit, LawFit]) -> float:
    """The spread of what will decide: the hybrid, or the network where the laws cannot."""
    trusted = all(fit.trusted for fit in fits)
    order = ("hybrid", "mlp") if trusted else ("mlp", "hybrid")
    known = [
        scores[f"{name}_residual_spread"] for name in order if f"{name}_residual_spread" in scores
    ]
    return known[0]


def _artifact(
    dataset: Dataset,
    job: Job,
    fits: tuple[LawFit, LawFit],
    trained: dict[str, TrainedNetwork],
    scores: dict[str, float],
) -> ModelArtifact:
    mlp, residual = trained.get("mlp"), trained.get("residual")
    return ModelArtifact(
        service=job.service,
        kind=job.settings.name,
        mlp=mlp.mlp if mlp else None,
        residuals=(residual.mlp,) if residual else (),
        primary=_law_record(fits[0]),
        secondary=_law_record(fits[1]),
        support=_support(dataset, fits),
        scores=scores,
        best_epoch={name: network.best_epoch for name, network in trained.items()},
        losses={name: network.losses for name, network in trained.items()},
        profile=daily_profile(dataset.time_s, total_load(dataset), job.day_s),
        provenance=Provenance(
            data_digest=dataset.digest(),
            code_digest=code_digest(),
            settings_digest=job.settings.digest(),
            schema_digest=SCHEMA_DIGEST,
            rows=len(dataset),
            seed=job.seed,
        ),
        created_at_s=job.created_at_s,
        environment={
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "torch": torch.__version__,
        },
    )


def _law_record(fit: LawFit) -> LawRecord:
    return LawRecord(
        **asdict(fit.law), trusted=fit.trusted, reason=fit.reason, error_ratio=fit.error_ratio
    )


def _support(dataset: Dataset, fits: tuple[LawFit, LawFit]) -> Support:
    raw = dataset.inputs()
    moved = projected_inputs(dataset, (fits[0].law, fits[1].law))
    both = np.vstack([raw, moved])
    seen = np.isfinite(both)
    low = np.where(seen, both, np.inf).min(axis=0)
    high = np.where(seen, both, -np.inf).max(axis=0)
    reported = seen.any(axis=0)
    low, high = np.where(reported, low, 0.0), np.where(reported, high, 0.0)
    margin = np.maximum(_WIDER * (high - low), np.where(high <= 1.0, _MARGIN, 0.0))
    margin = np.where(reported, margin, 0.0)
    ratio_low, ratio_high = np.quantile(dataset.ratio, [0.01, 0.99])
    return Support(
        feature_min=tuple(float(value) for value in low - margin),
        feature_max=tuple(float(value) for value in high + margin),
        ratio_low=float(ratio_low),
        ratio_high=float(ratio_high),
    )
