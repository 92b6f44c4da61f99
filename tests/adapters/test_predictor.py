"""An artifact as the domain sees it."""

from dataclasses import replace

import numpy as np
import pytest

from controlplane.adapters.predictor import learned
from controlplane.domain.strategies.queue_law import CenterLaw
from models.forward import predict
from tests.model_artifacts import LAW, artifact


def test_networks_predict_what_the_forward_pass_does_in_float64() -> None:
    made = artifact()
    model = learned(made)
    assert made.mlp is not None
    assert model.network is not None
    x = np.random.default_rng(7).random((61, 14))
    y = model.network(x)
    assert y.dtype == np.float64
    np.testing.assert_array_equal(y, predict(made.mlp, x))


@pytest.mark.parametrize("members", [1, 5])
def test_the_ensemble_predicts_what_each_member_does(members: int) -> None:
    made = artifact()
    made = replace(made, residuals=made.residuals[:members])
    model = learned(made)
    assert model.ensemble is not None
    x = np.random.default_rng(7).random((61, 14))
    y = model.ensemble(x)
    assert y.dtype == np.float64
    assert y.shape == (members, 61)
    np.testing.assert_allclose(y, [predict(mlp, x) for mlp in made.residuals], atol=1e-5)


def test_laws_and_support() -> None:
    model = learned(replace(artifact(), scores={"residual_spread": 0.07}, profile=(0.5, 1.5)))
    assert model.laws[0] == CenterLaw(
        base_ms=20.0,
        contention=0.1,
        wait_ms=3.0,
        servers=8.0,
        saturation=0.9,
        idle_cpu=0.05,
        full_cpu=0.98,
    )
    assert model.laws[1].base_ms == 30.0
    assert (model.ratio_low, model.ratio_high) == (0.4, 0.65)
    assert model.feature_high == (1.0,) * 14
    assert model.residual_spread == 0.07
    assert model.profile == (0.5, 1.5)


def test_named_laws_keep_their_names() -> None:
    model = learned(
        replace(artifact(), centers=("a", "b", "c"), others=(replace(LAW, base_ms=40.0),))
    )
    assert model.centers == ("a", "b", "c")
    assert [law.base_ms for law in model.laws] == [20.0, 30.0, 40.0]


def test_one_law_without_trust_takes_both_away() -> None:
    doubtful = replace(LAW, trusted=False, reason="no variation")
    assert learned(replace(artifact(), secondary=doubtful)).laws == ()


def test_a_network_that_was_not_trained_is_missing() -> None:
    model = learned(replace(artifact(), mlp=None, residuals=()))
    assert model.network is None
    assert model.ensemble is None
