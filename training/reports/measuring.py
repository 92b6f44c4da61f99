"""Measure a version on the rows it was trained on: the report that is kept beside it.

Called by `python -m training train` after training, and by `python -m training report --data`
for a version that has none. Deterministic: the same rows and version give the same report.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from controlplane.domain.errors import Invalid
from controlplane.domain.services import StrategyName
from controlplane.domain.strategies.candidates import GRID
from models.artifact import ModelArtifact
from models.reports.report import DataFacts, Predictor, Report
from training.dataset import COLUMNS, Dataset, table
from training.learning.network import split_rows
from training.learning.projection import load_unit, total_load
from training.learning.settings import NetworkSettings, TrainingSettings
from training.reports import residuals
from training.reports.bands import band_of, figure, figures
from training.reports.expectations import (
    BY_LAWS,
    Version,
    expected_ms,
    version_of,
)
from training.reports.law_figures import law_figures
from training.reports.residuals import Held
from training.reports.scenes import scenes

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_QUANTILES = (0.0, 0.05, 0.5, 0.95, 1.0)


def measure(dataset: Dataset, artifact: ModelArtifact, settings: TrainingSettings) -> Report:
    """The report of `artifact`, which was trained on `dataset` with `settings`.

    Raises:
        Invalid: the rows or the settings are others than those of the version.
    """
    _check(dataset, artifact, settings)
    version = version_of(artifact)
    load = total_load(dataset)
    band = band_of(load)
    held = {
        name: own
        for name in version.strategies
        if (own := _held(dataset, load, band, (version, name, settings))) is not None
    }
    return Report(
        model=artifact.digest,
        decides=next((name.value for name in held), ""),
        data=_data_facts(dataset, load),
        settings=dict(_flat(settings)),
        ratios=figures(GRID),
        predictors=tuple(_predictor(name, own) for name, own in held.items()),
        scenes=scenes(dataset, load, band, version, held),
        laws=law_figures(dataset, version),
    )


def _check(dataset: Dataset, artifact: ModelArtifact, settings: TrainingSettings) -> None:
    provenance = artifact.provenance
    if dataset.digest() != provenance.data_digest:
        raise Invalid(
            "report_other_data",
            f"the rows have digest {dataset.digest()[:12]}, the version was trained on "
            f"{provenance.data_digest[:12]}: give the data set that it was trained on",
        )
    if settings.digest() != provenance.settings_digest:
        raise Invalid(
            "report_other_settings",
            f"settings {settings.name} are not those that the version was trained with: they were "
            "changed since, so its held-out rows are not known; train it again",
        )


def _held(
    dataset: Dataset,
    load: FloatArray,
    band: IntArray,
    asked: tuple[Version, StrategyName, TrainingSettings],
) -> Held | None:
    """Held rows of a strategy; None when it answers for none."""
    version, name, settings = asked
    predicted = expected_ms(version, name, dataset)
    rows = _held_rows(predicted, settings.residual if name in BY_LAWS else settings.mlp)
    rows = rows[np.isfinite(predicted[rows]) & (predicted[rows] > 0)]
    if rows.size == 0:
        return None
    return Held(
        time_s=dataset.time_s[rows],
        load=load[rows],
        band=band[rows],
        ratio=dataset.ratio[rows],
        predicted_ms=predicted[rows],
        actual_ms=dataset.response_time_ms[rows],
    )


def _held_rows(predicted: FloatArray, settings: NetworkSettings | None) -> IntArray:
    """Indices of the rows that the strategy's network was not trained on.

    A residual network is trained on the rows that the laws answer for, so those are split; the
    rows of one without settings (laws alone) are split as a tail would be.
    """
    known = np.flatnonzero(np.isfinite(predicted) & (predicted > 0))
    if not known.size:
        return known
    return known[split_rows(known.size, settings or NetworkSettings(epochs=0)).held]


def _predictor(name: StrategyName, held: Held) -> Predictor:
    return Predictor(
        name=name.value,
        laws_saw_rows=name in BY_LAWS,
        scores=residuals.scores(held),
        points=residuals.points(held),
        residuals=residuals.residuals(held),
        coverage=residuals.coverage(held),
    )


def _data_facts(dataset: Dataset, load: FloatArray) -> DataFacts:
    absent = np.isnan(table(dataset)).mean(axis=0)
    known = load[np.isfinite(load)]
    return DataFacts(
        rows=len(dataset),
        first_s=float(dataset.time_s[0]),
        last_s=float(dataset.time_s[-1]),
        load_unit=load_unit(dataset),
        load_quantiles=figures(np.quantile(known, _QUANTILES)) if known.size else (),
        ratio_quantiles=figures(np.quantile(dataset.ratio, _QUANTILES)),
        missing={
            name: figure(float(share))
            for name, share in zip(COLUMNS, absent, strict=True)
            if share > 0
        },
    )


def _flat(settings: TrainingSettings) -> Iterator[tuple[str, str | float]]:
    """`name`, and each network's settings as `mlp.epochs` and so on."""
    yield "name", settings.name
    for name in ("mlp", "residual"):
        network: NetworkSettings | None = getattr(settings, name)
        if network is not None:
            for key, value in dataclasses.asdict(network).items():
                yield f"{name}.{key}", value if isinstance(value, str) else float(value)
