"""A report: what it measures is what training and serving do, bounded and reproducible."""

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from controlplane.domain.errors import Invalid
from controlplane.domain.services import StrategyName
from controlplane.domain.strategies.candidates import GRID
from models.artifact import ModelArtifact
from models.forward import predict
from models.reports import encoding
from models.reports.report import Report
from training.dataset import CenterSeries, Dataset
from training.learning.law_fit import Declared
from training.learning.projection import greybox_ms, projected_inputs
from training.learning.settings import NetworkSettings, TrainingSettings
from training.learning.version import Job, train_version
from training.reports.bands import BANDS, NO_BAND, band_of, figures, thinned
from training.reports.expectations import candidates_ms, expected_ms, take, version_of, with_past
from training.reports.measuring import measure

SHORT = TrainingSettings(
    name="short", mlp=NetworkSettings(epochs=2), residual=NetworkSettings(epochs=2)
)
ROWS = 1_500


@pytest.fixture(scope="module", autouse=True)
def torch_as_before() -> Iterator[None]:
    threads = torch.get_num_threads()
    yield
    torch.use_deterministic_algorithms(mode=False)
    torch.set_num_threads(threads)


def rows(count: int = ROWS, seed: int = 0) -> Dataset:
    """Two centers whose CPU follows their load and whose response time follows their CPU."""
    draws = np.random.default_rng(seed)
    minute = np.arange(count)
    load = 250.0 + 150.0 * np.sin(minute / 1_440 * 2 * np.pi) + draws.normal(0, 5, count)
    ratio = np.round(np.clip(0.52 + draws.normal(0, 0.05, count), 0.3, 0.7), 2)

    def center(share: np.ndarray, capacity: float) -> tuple[CenterSeries, np.ndarray]:
        rate = load * share
        use = np.minimum(rate / capacity, 0.97)
        time_ms = 40.0 * (1 + 0.3 * use**2) + 8.0 * use**5 / (1 - use)
        time_ms *= np.exp(draws.normal(0, 0.02, count))
        cpu = 0.08 + 0.9 * use
        series = CenterSeries(
            request_rate_rps=rate,
            response_time_ms=time_ms,
            cpu_avg=cpu,
            cpu_max=np.minimum(cpu + 0.02, 1.0),
            ingress_bandwidth_bps=rate * 8e3,
            memory=np.full(count, np.nan),
            disk=np.full(count, 0.4),
            traffic_share=share,
        )
        return series, time_ms

    primary, first_ms = center(ratio, 260.0)
    secondary, second_ms = center(1 - ratio, 230.0)
    return Dataset(
        time_s=1.7e9 + 60.0 * minute,
        primary=primary,
        secondary=secondary,
        ratio=ratio,
        response_time_ms=ratio * first_ms + (1 - ratio) * second_ms,
    )


def trained(data: Dataset, settings: TrainingSettings = SHORT) -> ModelArtifact:
    declared = Declared(servers=None, idle_cpu=0.08, full_cpu=0.98)
    job = Job(
        service="tickets",
        settings=settings,
        seed=0,
        created_at_s=1.0,
        primary=declared,
        secondary=declared,
    )
    return train_version(data, job, lambda _stage, _epoch: None)


DATA = rows()


@pytest.fixture(scope="module")
def artifact() -> ModelArtifact:
    return trained(DATA)


@pytest.fixture(scope="module")
def report(artifact: ModelArtifact) -> Report:
    return measure(DATA, artifact, SHORT)


def test_a_report_is_bounded_reproducible_and_complete(
    artifact: ModelArtifact, report: Report
) -> None:
    body = encoding.encode(report)
    assert body == encoding.encode(measure(DATA, artifact, SHORT))
    assert len(body) < 150_000
    assert encoding.decode(body) == report
    assert report.model == artifact.digest
    assert report.decides == "hybrid"
    names = ["hybrid", "greybox", "projected_mlp", "paper_mlp"]
    assert [one.name for one in report.predictors] == names
    assert [scene.band for scene in report.scenes] == list(BANDS)
    assert [[curve.strategy for curve in scene.curves] for scene in report.scenes] == [names] * 4
    assert report.data.missing == {"primary_memory": 1.0, "secondary_memory": 1.0}
    assert report.data.load_unit == "requests/s"
    assert report.settings["mlp.epochs"] == 2.0
    assert [law.center for law in report.laws] == ["primary", "secondary"]


def test_its_scores_are_those_of_training(artifact: ModelArtifact, report: Report) -> None:
    for name, scored in (("hybrid", "hybrid"), ("greybox", "greybox"), ("paper_mlp", "mlp")):
        own = next(one for one in report.predictors if one.name == name).scores[0]
        assert own.band == "all"
        assert own.mae_ms == pytest.approx(artifact.scores[f"{scored}_mae_ms"], rel=1e-3)
        assert own.r2 == pytest.approx(artifact.scores[f"{scored}_r2"], abs=1e-3)


def test_an_interval_covers_what_it_should_of_stable_noise(report: Report) -> None:
    greybox = report.predictors[1]
    assert greybox.coverage is not None
    observed = dict(zip(greybox.coverage.nominal, greybox.coverage.observed, strict=True))
    assert 0.75 < observed[0.9] <= 1.0
    assert list(greybox.coverage.observed) == sorted(greybox.coverage.observed)


def test_a_row_is_expected_as_training_does_it(artifact: ModelArtifact) -> None:
    version = version_of(artifact)
    assert artifact.mlp is not None
    paper = expected_ms(version, StrategyName.PAPER_MLP, DATA)
    np.testing.assert_array_equal(paper, predict(artifact.mlp, DATA.inputs()))
    base = greybox_ms(DATA, version.laws)
    np.testing.assert_array_equal(expected_ms(version, StrategyName.GREYBOX, DATA), base)
    hybrid = expected_ms(version, StrategyName.HYBRID, DATA)
    assert np.abs(np.log(hybrid / base)).max() <= 0.05 + 1e-9
    moved = expected_ms(version, StrategyName.PROJECTED_MLP, DATA)
    x = projected_inputs(DATA, version.laws)
    np.testing.assert_array_equal(moved, predict(artifact.mlp, x))


@pytest.mark.parametrize("name", [StrategyName.HYBRID, StrategyName.PAPER_MLP])
def test_a_curve_passes_through_what_is_expected_at_its_ratio(
    artifact: ModelArtifact, name: StrategyName
) -> None:
    version = version_of(artifact)
    asked, at = with_past(DATA, np.array([1, 700, 1_200]))
    assert at.size == 2
    curves = candidates_ms(version, name, asked)[at]
    assert curves.shape == (2, len(GRID))
    whole = expected_ms(version, name, DATA)
    for curve, row in zip(curves, (700, 1_200), strict=True):
        index = int(np.argmin(np.abs(GRID - DATA.ratio[row])))
        assert curve[index] == pytest.approx(whole[row], rel=1e-6)


def test_without_cpu_the_network_is_shown_and_the_laws_are_not() -> None:
    nothing = np.full(ROWS, np.nan)
    blind = dataclasses.replace(
        DATA, primary=dataclasses.replace(DATA.primary, cpu_avg=nothing, cpu_max=nothing)
    )
    report = measure(blind, trained(blind), SHORT)
    assert [one.name for one in report.predictors] == ["projected_mlp", "paper_mlp"]
    assert report.decides == "projected_mlp"
    assert [law.center for law in report.laws] == ["secondary"]


def test_without_load_there_are_no_bands() -> None:
    nothing = np.full(ROWS, np.nan)
    series = {
        name: dataclasses.replace(
            getattr(DATA, name), request_rate_rps=nothing, ingress_bandwidth_bps=nothing
        )
        for name in ("primary", "secondary")
    }
    unknown = dataclasses.replace(DATA, **series)
    report = measure(unknown, trained(unknown), SHORT)
    assert report.scenes == ()
    assert report.data.load_quantiles == ()
    assert [score.band for score in report.predictors[0].scores] == ["all"]


def test_few_rows_have_no_interval() -> None:
    few = take(DATA, np.arange(60))
    report = measure(few, trained(few), SHORT)
    assert all(one.coverage is None for one in report.predictors)
    assert all(curve.low_ms == () for scene in report.scenes for curve in scene.curves)


def test_other_rows_and_other_settings_are_refused(artifact: ModelArtifact) -> None:
    with pytest.raises(Invalid) as caught:
        measure(rows(seed=1), artifact, SHORT)
    assert caught.value.code == "report_other_data"
    with pytest.raises(Invalid) as caught:
        measure(DATA, artifact, dataclasses.replace(SHORT, residual=NetworkSettings(epochs=9)))
    assert caught.value.code == "report_other_settings"


def test_bands_and_thinning() -> None:
    load = np.array([np.nan, *np.arange(100.0)])
    band = band_of(load)
    assert band[0] == NO_BAND
    assert np.bincount(band[1:]).tolist() == [25, 50, 20, 5]
    assert (band_of(load[:1]) == NO_BAND).all()
    assert thinned(np.arange(10), 5).tolist() == [1, 3, 5, 7, 9]
    assert thinned(np.arange(3), 5).tolist() == [0, 1, 2]
    assert figures(np.array([1.234567, 98765.4])) == (1.2346, 98765.0)
