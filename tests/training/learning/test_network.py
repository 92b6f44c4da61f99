"""Training the network: the step against torch's own, determinism, scaling, hold-out."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from models.forward import predict
from tests.torch_network import torch_network
from training.learning.descent import Descent, Weights
from training.learning.network import (
    TOGETHER,
    Epoch,
    Lesson,
    TrainedNetwork,
    split_rows,
    train_networks,
)
from training.learning.settings import SETTINGS, HeldOut, Keep, NetworkSettings, Target


def silent(_epoch: Epoch) -> None:
    pass


def alone(
    x: np.ndarray,
    y: np.ndarray,
    settings: NetworkSettings,
    seed: int,
    progress: Callable[[Epoch], None],
) -> TrainedNetwork:
    return train_networks([Lesson(x=x, y=y, seeds=(seed,))], settings, progress)[0][0]


def problem(rows: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(3.0, 2.0, (rows, 14))
    y = 50.0 + 5.0 * np.tanh(x[:, 0] - 3.0) + 3.0 * x[:, 7] + rng.normal(0, 0.5, rows)
    return x, y


def reference(weights: Weights) -> torch.nn.Sequential:
    layers = ((weights.w1, weights.b1), (weights.w2, weights.b2), (weights.w3, weights.b3))
    return torch_network([(weight[0], bias[0, 0]) for weight, bias in layers])


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_steps_equal_torch_autograd_and_adam(decay: float) -> None:
    settings = NetworkSettings(epochs=1, weight_decay=decay)
    weights = Weights.draw([torch.Generator().manual_seed(1)])
    network = reference(weights)
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.001, weight_decay=decay)
    descent = Descent(weights, 1, settings)
    error = torch.empty(1, 32, 1)
    generator = torch.Generator().manual_seed(2)
    for _ in range(25):
        x = torch.randn(32, 14, generator=generator)
        y = torch.randn(32, 1, generator=generator)
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(network(x), y)
        loss.backward()
        optimizer.step()
        with torch.inference_mode():
            descent.step(x[None], y[None], error)
        assert float(error.square().mean()) == pytest.approx(float(loss.detach()), rel=1e-4)
    torch.testing.assert_close(weights.w1[0].T, network[0].weight.detach(), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(weights.w3[0].T, network[4].weight.detach(), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(weights.b2[0, 0], network[2].bias.detach(), atol=1e-5, rtol=1e-4)


def test_paper_settings_are_the_published_ones() -> None:
    paper = SETTINGS["paper"].mlp
    assert paper is not None
    assert (paper.epochs, paper.batch, paper.learning_rate) == (300, 32, 0.001)
    assert paper.target is Target.UNSCALED
    assert paper.keep is Keep.LAST
    assert paper.weight_decay == 0.0


def test_same_seed_same_bits_and_another_seed_others() -> None:
    x, y = problem()
    settings = NetworkSettings(epochs=5)
    first, again, other = (alone(x, y, settings, seed, silent) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.mlp.w1, again.mlp.w1)
    np.testing.assert_array_equal(first.losses, again.losses)
    assert not np.array_equal(first.mlp.w1, other.mlp.w1)


def assert_same(mine: TrainedNetwork, theirs: TrainedNetwork) -> None:
    for part in ("w1", "b1", "w2", "b2", "w3", "b3", "x_mean", "x_scale"):
        np.testing.assert_array_equal(getattr(mine.mlp, part), getattr(theirs.mlp, part))
    np.testing.assert_array_equal(mine.losses, theirs.losses)
    assert mine.best_epoch == theirs.best_epoch


@pytest.mark.parametrize("keep", list(Keep))
@pytest.mark.parametrize("services", [2, 3, TOGETHER + 3])
def test_many_at_once_are_bit_for_bit_what_each_is_alone(services: int, keep: Keep) -> None:
    problems = [problem(rows=407, seed=seed) for seed in range(services)]
    settings = NetworkSettings(epochs=4, keep=keep)
    lessons = [Lesson(x=x, y=y, seeds=(5 + i,)) for i, (x, y) in enumerate(problems)]
    together = train_networks(lessons, settings, silent)
    for index, (x, y) in enumerate(problems):
        assert_same(together[index][0], alone(x, y, settings, 5 + index, silent))


def test_lessons_of_unequal_length_are_told_apart() -> None:
    problems = [problem(rows) for rows in (100, 140, 100)]
    lessons = [Lesson(x=x, y=y, seeds=(1, 2)) for x, y in problems]
    settings = NetworkSettings(epochs=3)
    seen: list[tuple[int, int]] = []
    trained = train_networks(
        lessons, settings, lambda epoch: seen.append((epoch.number, epoch.total))
    )
    assert seen == [(number, 6) for number in range(1, 7)]
    for lesson, networks in zip(lessons, trained, strict=True):
        for seed, network in zip(lesson.seeds, networks, strict=True):
            assert_same(network, alone(lesson.x, lesson.y, settings, seed, silent))


def test_a_sample_is_what_a_network_sees() -> None:
    x, y = problem(300)
    settings = NetworkSettings(epochs=3)
    train = split_rows(300, settings).train
    half = np.repeat(train[: len(train) // 2], 2)
    lesson = Lesson(x=x, y=y, seeds=(1, 1), samples=(train, half))
    everything, sampled = train_networks([lesson], settings, silent)[0]
    assert_same(everything, alone(x, y, settings, 1, silent))
    # The target of a row that no sample has changes nothing: the inputs alone are not scaled.
    wild = y.copy()
    wild[half[-1] + 1 : train[-1] + 1] = 1e6
    unscaled = NetworkSettings(epochs=3, target=Target.UNSCALED)
    tame, same = (
        train_networks([Lesson(x=x, y=t, seeds=(1,), samples=(half,))], unscaled, silent)[0][0]
        for t in (y, wild)
    )
    assert_same(tame, same)
    assert not np.array_equal(everything.mlp.w1, sampled.mlp.w1)


@pytest.mark.parametrize("target", list(Target))
def test_it_learns_and_the_best_epoch_is_kept(target: Target) -> None:
    x, y = problem(1500)
    x[::7, 3] = np.nan
    settings = NetworkSettings(epochs=60, target=target)
    trained = alone(x, y, settings, 0, silent)
    held = split_rows(len(y), settings).held
    loss = np.mean(np.square(predict(trained.mlp, x[held]) - y[held]))
    assert loss == pytest.approx(trained.losses[1].min(), rel=1e-3)
    assert trained.best_epoch == int(trained.losses[1].argmin()) + 1
    assert loss < 0.2 * np.var(y)


def test_a_constant_and_a_missing_feature_do_no_harm() -> None:
    x, y = problem()
    x[:, 2] = 7.0
    x[:, 5] = np.nan
    trained = alone(x, y, NetworkSettings(epochs=3), 0, silent)
    assert np.isfinite(predict(trained.mlp, x)).all()
    assert trained.mlp.x_scale[2] == 1.0
    assert trained.mlp.x_mean[5] == 0.0


def test_progress_is_told_every_epoch_and_can_stop_training() -> None:
    x, y = problem(100)
    seen: list[int] = []

    def stop_at_three(epoch: Epoch) -> None:
        seen.append(epoch.number)
        if epoch.number == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        alone(x, y, NetworkSettings(epochs=10), 0, stop_at_three)
    assert seen == [1, 2, 3]


@pytest.mark.parametrize("held_out", list(HeldOut))
@pytest.mark.parametrize("rows", [40, 41, 150, 44_640])
def test_rows_are_split_without_loss(held_out: HeldOut, rows: int) -> None:
    split = split_rows(rows, NetworkSettings(epochs=1, held_out=held_out, validation_share=0.2))
    assert sorted([*split.train, *split.held]) == list(range(rows))
    assert len(split.held) == round(rows * 0.2)
