"""The residual ensemble: it corrects what it can explain, and nothing else."""

import dataclasses

import numpy as np

from models.forward import predict
from training.learning.network import Epoch, TrainedNetwork, split_rows, train_networks
from training.learning.residual import ResidualRows, residual_lesson, residual_scores, shrunk
from training.learning.settings import NetworkSettings

DAY_S = 86_400.0
SETTINGS = NetworkSettings(epochs=15, members=5)


def silent(_epoch: Epoch) -> None:
    pass


def rows(strength: float) -> ResidualRows:
    """Two weeks in which the law is off by what the first input says, and noise of 2 %."""
    rng = np.random.default_rng(5)
    n = 14 * 144
    x = rng.normal(0.0, 1.0, (n, 14))
    y = strength * np.tanh(x[:, 0]) + rng.normal(0.0, 0.02, n)
    greybox = rng.uniform(20.0, 60.0, n)
    return ResidualRows(
        x=x, y=y, greybox=greybox, actual=greybox * np.exp(y), time_s=np.arange(n) * 600.0
    )


def members(of: ResidualRows, settings: NetworkSettings = SETTINGS) -> tuple[TrainedNetwork, ...]:
    return train_networks([residual_lesson(of, settings, 3, DAY_S)], settings, silent)[0]


def test_what_can_be_explained_is_corrected() -> None:
    data = rows(strength=0.03)
    trained = shrunk(members(data), data, SETTINGS)
    scores = residual_scores([member.mlp for member in trained], data, SETTINGS)
    assert scores["hybrid_mape_pct"] < 0.8 * scores["greybox_mape_pct"]
    assert 0.0005 < scores["residual_member_sd"] < 0.02


def test_noise_is_corrected_by_next_to_nothing() -> None:
    data = rows(strength=0.0)
    trained = shrunk(members(data), data, SETTINGS)
    scores = residual_scores([member.mlp for member in trained], data, SETTINGS)
    assert scores["hybrid_mape_pct"] <= 1.01 * scores["greybox_mape_pct"]


def test_what_makes_it_worse_is_shrunk_to_nothing() -> None:
    data = rows(strength=0.03)
    trained = members(data)
    wrong = dataclasses.replace(data, y=-data.y)
    for member in shrunk(trained, wrong, SETTINGS):
        assert not predict(member.mlp, data.x).any()
    constant = [
        dataclasses.replace(member, mlp=dataclasses.replace(member.mlp, y_scale=0.0, y_mean=0.0))
        for member in trained
    ]
    for member in shrunk(constant, data, SETTINGS):
        assert not predict(member.mlp, data.x).any()


def test_members_draw_days_of_the_rows_that_are_trained_on() -> None:
    data = rows(strength=0.03)
    lesson = residual_lesson(data, SETTINGS, 3, DAY_S)
    held = split_rows(data.y.size, SETTINGS).held
    assert len(lesson.samples) == len(set(lesson.seeds)) == 5
    for sample in lesson.samples:
        assert sample.size == data.y.size - held.size
        assert not np.isin(sample, held).any()
    assert not np.array_equal(lesson.samples[0], lesson.samples[1])
    alone = residual_lesson(data, NetworkSettings(epochs=1), 3, DAY_S)
    assert alone.seeds == (3,)
    assert alone.samples == ()
