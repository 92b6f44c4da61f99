"""The numpy forward pass: equal to torch's, missing inputs, many services at once."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from models.forward import Mlp, predict, predict_members, predict_stack, stack
from tests.torch_network import torch_network


def random_mlp(seed: int, *, spread: float = 1.0) -> Mlp:
    rng = np.random.default_rng(seed)
    return Mlp(
        w1=rng.normal(0, 0.25, (14, 64)),
        b1=rng.normal(0, 0.25, 64),
        w2=rng.normal(0, 0.15, (64, 32)),
        b2=rng.normal(0, 0.15, 32),
        w3=rng.normal(0, 0.2, (32, 1)),
        b3=rng.normal(0, 0.2, 1),
        x_mean=rng.normal(0, 1e3 * spread, 14),
        x_scale=rng.uniform(0.5, 2.0, 14) * spread,
        y_mean=0.3,
        y_scale=1.5,
    )


def torch_predict(mlp: Mlp, x: np.ndarray) -> np.ndarray:
    layers = ((mlp.w1, mlp.b1), (mlp.w2, mlp.b2), (mlp.w3, mlp.b3))
    network = torch_network([(torch.from_numpy(w), torch.from_numpy(b)) for w, b in layers])
    with torch.no_grad():
        scaled = np.nan_to_num((x - mlp.x_mean) / mlp.x_scale).astype(np.float32)
        y = network(torch.from_numpy(scaled))[:, 0].numpy()
    return np.asarray(y * mlp.y_scale + mlp.y_mean)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(1, 200),
    spread=st.sampled_from([1e-3, 1.0, 1e7]),
    missing=st.floats(0.0, 0.5),
)
def test_numpy_forward_equals_torch_within_1e_5(
    seed: int, rows: int, spread: float, missing: float
) -> None:
    mlp = random_mlp(seed, spread=spread)
    rng = np.random.default_rng(seed + 1)
    x = mlp.x_mean + mlp.x_scale * rng.normal(0, 1.5, (rows, 14))
    x[rng.random(x.shape) < missing] = np.nan
    assert np.abs(predict(mlp, x) - torch_predict(mlp, x)).max() <= 1e-5


def test_missing_counts_as_the_training_mean() -> None:
    mlp = random_mlp(3)
    x = np.tile(mlp.x_mean, (2, 1))
    x[1, 4] = np.nan
    first, second = predict(mlp, x)
    assert first == second


def test_input_is_not_changed() -> None:
    mlp = random_mlp(4)
    x = np.full((5, 14), np.nan)
    predict(mlp, x)
    assert np.isnan(x).all()


@pytest.mark.parametrize("services", [1, 2, 16, 17, 50])
def test_stack_equals_each_network(services: int) -> None:
    mlps = [random_mlp(seed) for seed in range(services)]
    rng = np.random.default_rng(0)
    x = np.stack([mlp.x_mean + rng.normal(0, 1, (61, 14)) for mlp in mlps])
    x[0, 3, 5] = np.nan
    expected = np.stack([predict(mlp, rows) for mlp, rows in zip(mlps, x, strict=True)])
    np.testing.assert_allclose(predict_stack(stack(mlps), x), expected, atol=1e-5)


@pytest.mark.parametrize("members", [2, 5, 17])
def test_members_equal_each_network_on_the_same_rows(members: int) -> None:
    mlps = [random_mlp(seed) for seed in range(members)]
    x = np.random.default_rng(0).normal(0, 1e3, (61, 14))
    x[3, 5] = np.nan
    expected = np.stack([predict(mlp, x) for mlp in mlps])
    np.testing.assert_allclose(predict_members(stack(mlps), x), expected, rtol=1e-4, atol=1e-3)
