"""A trained version: reproducible, honest about what it could not learn, the same in serving."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from controlplane.adapters.predictor import learned
from controlplane.domain.errors import Invalid
from controlplane.domain.features import SCHEMA_DIGEST
from models import storage
from models.forward import predict
from training.dataset import Dataset
from training.learning.law_fit import Declared
from training.learning.network import Epoch
from training.learning.profile import PARTS, daily_profile
from training.learning.settings import SETTINGS, NetworkSettings, TrainingSettings
from training.learning.version import Job, train_version, train_versions
from training.simulation import simulator, weather
from training.simulation.arrivals import DAY_MINUTES
from training.simulation.world import load_world

WORLD = load_world("W1")
SHORT = TrainingSettings(
    name="short", mlp=NetworkSettings(epochs=3), residual=NetworkSettings(epochs=3)
)

DAY_S = 86_400.0


def silent(_stage: str, _epoch: Epoch) -> None:
    pass


def rows(minutes: int = DAY_MINUTES, seed: int = 0, sd: float = 0.08) -> Dataset:
    operator = dataclasses.replace(WORLD.operator, shares=(0.52, 0.48), share_sd=sd)
    world = dataclasses.replace(WORLD, operator=operator)
    drawn = weather.draw(world, minutes + 1, seed)
    ratio = weather.operator_ratio(world, minutes + 1, seed)
    return simulator.simulate(world, drawn, ratio)


def job(settings: TrainingSettings = SHORT, seed: int = 0, created_at_s: float = 0.0) -> Job:
    centers = (WORLD.primary, WORLD.secondary)
    primary, secondary = (
        Declared(servers=c.servers, idle_cpu=c.idle_cpu, full_cpu=c.full_cpu) for c in centers
    )
    return Job(
        service="ticket-stock",
        settings=settings,
        seed=seed,
        created_at_s=created_at_s,
        primary=primary,
        secondary=secondary,
    )


def test_same_data_settings_and_seed_give_the_same_digest() -> None:
    data = rows()
    first = train_version(data, job(created_at_s=1.0), silent)
    again = train_version(data, job(created_at_s=2.0), silent)
    assert first.digest == again.digest
    assert train_version(data, job(seed=1), silent).digest != first.digest
    assert train_version(rows(seed=1), job(), silent).digest != first.digest


ENSEMBLE = TrainingSettings(
    name="ensemble", mlp=NetworkSettings(epochs=2), residual=NetworkSettings(epochs=2, members=5)
)


def test_many_versions_at_once_have_the_digests_that_each_has_alone() -> None:
    datasets = [rows(600, seed=0), rows(700), rows(600, seed=2)]
    jobs = [job(ENSEMBLE, seed) for seed in range(3)]
    together = train_versions(datasets, jobs, silent)
    assert len({artifact.digest for artifact in together}) == 3
    for data, asked, artifact in zip(datasets, jobs, together, strict=True):
        assert artifact.digest == train_version(data, asked, silent).digest


def test_versions_without_a_residual_are_trained_among_others() -> None:
    datasets = [rows(600), without_cpu(rows(600))]
    whole, bare = train_versions(datasets, [job(ENSEMBLE)] * 2, silent)
    assert len(whole.residuals) == 5
    assert bare.residuals == ()
    assert list(bare.losses) == ["mlp"]
    assert train_versions([], [], silent) == ()


def test_jobs_with_different_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="different settings"):
        train_versions([rows(100)] * 2, [job(SHORT), job(ENSEMBLE)], silent)


def test_the_members_of_the_ensemble_differ() -> None:
    artifact = train_version(rows(600), job(ENSEMBLE), silent)
    names = ["mlp", *(f"residual_{member}" for member in range(1, 6))]
    assert list(artifact.losses) == list(artifact.best_epoch) == names
    assert "residual_member_sd" in artifact.scores
    assert len({member.w1.tobytes() for member in artifact.residuals}) == 5
    assert len({member.x_mean.tobytes() for member in artifact.residuals}) == 1


def test_a_version_is_stored_and_served_as_it_was_trained(tmp_path: Path) -> None:
    data = rows(4 * DAY_MINUTES)
    artifact = train_version(data, job(), silent)
    storage.save(artifact, tmp_path)
    model = learned(storage.load(tmp_path, SCHEMA_DIGEST))
    assert model.network is not None
    assert model.ensemble is not None
    assert artifact.mlp is not None
    x = data.inputs()[:61]
    np.testing.assert_array_equal(model.network(x), predict(artifact.mlp, x))
    assert len(model.laws) == 2
    assert len(model.profile) == PARTS
    assert 0.0 < model.residual_spread < 0.5
    assert 0.3 < model.ratio_low < model.ratio_high < 0.75
    assert (x >= np.array(model.feature_low)).all()
    assert (x <= np.array(model.feature_high)).all()


def test_quick_learns_from_a_few_hundred_rows() -> None:
    artifact = train_version(rows(300), job(SETTINGS["quick"]), silent)
    assert artifact.mlp is not None
    assert len(artifact.residuals) == 5
    assert artifact.scores["hybrid_mape_pct"] < 8.0
    assert artifact.scores["hybrid_rmse_ms"] <= 1.05 * artifact.scores["greybox_rmse_ms"]
    assert artifact.losses["mlp"].shape == (2, 150)


def test_residual_settings_train_no_other_network() -> None:
    stages: set[str] = set()
    settings = dataclasses.replace(SETTINGS["residual"], residual=NetworkSettings(epochs=2))
    artifact = train_version(rows(), job(settings), lambda stage, _epoch: stages.add(stage))
    assert artifact.mlp is None
    assert artifact.residuals
    assert stages == {"residual"}


def test_too_few_rows_and_a_constant_ratio_are_refused() -> None:
    with pytest.raises(Invalid, match="39 complete rows, at least 40"):
        train_version(rows(39), job(), silent)
    data = rows(300)
    constant = dataclasses.replace(data, ratio=np.full(len(data), 0.5))
    with pytest.raises(Invalid, match="sweep or dither"):
        train_version(constant, job(), silent)


def without_cpu(data: Dataset) -> Dataset:
    nothing = np.full(len(data), np.nan)
    return dataclasses.replace(
        data, primary=dataclasses.replace(data.primary, cpu_avg=nothing, cpu_max=nothing)
    )


def test_without_cpu_there_are_no_laws_but_a_network() -> None:
    artifact = train_version(without_cpu(rows()), job(), silent)
    assert artifact.mlp is not None
    assert artifact.residuals == ()
    assert not artifact.primary.trusted
    assert artifact.secondary.trusted
    assert learned(artifact).laws == ()
    assert storage.from_bytes(storage.to_bytes(artifact), SCHEMA_DIGEST).digest == artifact.digest
    with pytest.raises(Invalid, match="answer for 0 rows"):
        train_version(without_cpu(rows()), job(SETTINGS["residual"]), silent)


def test_the_profile_needs_days_and_is_relative_to_the_mean() -> None:
    time_s = np.arange(5 * 288) * 300.0
    load = 100.0 + 50.0 * np.sin(time_s / DAY_S * 2 * np.pi)
    load[1000] = np.nan
    profile = np.array(daily_profile(time_s, load * np.repeat([1, 2, 3, 2, 1], 288), DAY_S))
    assert profile.mean() == pytest.approx(1.0, abs=1e-3)
    assert profile[72] == pytest.approx(1.5, abs=0.01)
    assert daily_profile(time_s[:500], load[:500], DAY_S) == ()
    assert daily_profile(time_s, np.full(load.size, np.nan), DAY_S) == ()
    scaled = daily_profile(time_s / 1200, load, DAY_S / 1200)
    assert scaled == daily_profile(time_s, load, DAY_S)
