from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from controlplane.domain.features import FEATURE_NAMES
from controlplane.domain.services import StrategyName
from controlplane.domain.strategies.candidates import GRID
from controlplane.domain.strategies.center_use import observed_shares
from controlplane.domain.strategies.networks import projected_rows
from controlplane.domain.strategies.registry import propose
from controlplane.domain.strategies.situation import LearnedModel, Muster, Network
from controlplane.domain.topology import Role
from tests.domain.two_centers import (
    LAWS,
    Load,
    alone,
    centers,
    changed,
    codes,
    law_model,
    situation,
)

FloatArray = NDArray[np.float64]
COLUMN = {name: index for index, name in enumerate(FEATURE_NAMES)}
RATIO = COLUMN["primary.scheduling_ratio"]
NETWORKS = (StrategyName.PAPER_MLP, StrategyName.PROJECTED_MLP)


class Recorder:
    """A network with its best ratio at 0.40, S4's shape; keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[FloatArray] = []

    def __call__(self, x: FloatArray) -> FloatArray:
        self.asked.append(x)
        return np.asarray(1800.0 + 5000.0 * (x[:, RATIO] - 0.40) ** 2)


def model(network: Network) -> LearnedModel:
    return LearnedModel(digest="m1", network=network)


def test_the_grid_is_the_papers() -> None:
    assert len(GRID) == 61
    assert (GRID[0], GRID[20], GRID[-1]) == (0.20, 0.40, 0.80)


@pytest.mark.parametrize("strategy", NETWORKS)
def test_the_smallest_prediction_wins(strategy: StrategyName) -> None:
    proposal = propose(situation(strategy, model=model(Recorder())))
    assert proposal.shares == (0.40, 0.60)
    assert proposal.learned
    assert proposal.strategy == strategy
    assert len(proposal.curve) == 61
    assert min(proposal.curve, key=lambda p: p.response_time_ms).ratio == 0.40


def test_the_paper_holds_every_metric_still() -> None:
    network = Recorder()
    propose(situation(StrategyName.PAPER_MLP, applied=(0.6, 0.4), model=model(network)))
    x = network.asked[0]
    assert x.shape == (61, 14)
    np.testing.assert_array_equal(x[:, RATIO], GRID)
    np.testing.assert_array_equal(x[:, COLUMN["secondary.scheduling_ratio"]], 1.0 - GRID)
    still = [i for name, i in COLUMN.items() if "ratio" not in name]
    assert (x[:, still] == x[0, still]).all()
    assert x[0, COLUMN["primary.traffic_share"]] == pytest.approx(0.6)
    assert x[0, COLUMN["primary.cpu_avg"]] == pytest.approx(90 * 0.6 / 80)


def test_the_projection_moves_cpu_bandwidth_and_share() -> None:
    facts = situation(applied=(0.5, 0.5))
    x = projected_rows(facts)
    np.testing.assert_allclose(x[:, COLUMN["primary.traffic_share"]], GRID)
    np.testing.assert_allclose(x[:, COLUMN["primary.cpu_avg"]], 90 * GRID / 80)
    np.testing.assert_allclose(
        x[:, COLUMN["secondary.cpu_avg"]], np.minimum(90 * (1 - GRID) / 50, 1)
    )
    np.testing.assert_allclose(x[:, COLUMN["primary.ingress_bandwidth_bps"]], 90 * GRID * 8000)
    assert (x[:, COLUMN["primary.memory"]] == 0.4).all()
    assert (x[:, COLUMN["secondary.disk"]] == 0.3).all()


def test_the_projection_keeps_idle_cpu() -> None:
    laws = tuple(replace(law, idle_cpu=0.1) for law in LAWS)
    facts = situation(applied=(0.5, 0.5), model=law_model(laws=laws))
    x = projected_rows(facts)
    seen = 90 * 0.5 / 80
    np.testing.assert_allclose(x[:, COLUMN["primary.cpu_avg"]], 0.1 + (seen - 0.1) * GRID / 0.5)


@pytest.mark.parametrize("strategy", NETWORKS)
def test_predictions_that_are_no_numbers_are_dropped(strategy: StrategyName) -> None:
    def partly(x: FloatArray) -> FloatArray:
        return np.where(x[:, RATIO] < 0.5, np.nan, x[:, RATIO])

    proposal = propose(situation(strategy, model=model(partly)))
    assert proposal.shares == (0.5, 0.5)
    assert len(proposal.curve) == 31
    assert codes(proposal.notes) == ["prediction_not_finite"]


@pytest.mark.parametrize("strategy", NETWORKS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_network_that_answers_nothing_holds(strategy: StrategyName, value: float) -> None:
    network = model(lambda x: np.full(len(x), value))
    proposal = propose(situation(strategy, applied=(0.55, 0.45), model=network))
    assert proposal.shares == (0.55, 0.45)
    assert proposal.curve == ()
    assert codes(proposal.notes) == ["prediction_not_finite"]


@pytest.mark.parametrize("strategy", NETWORKS)
def test_metrics_that_are_missing_stay_missing(strategy: StrategyName) -> None:
    network = Recorder()
    facts = situation(strategy, model=model(network))
    facts = replace(facts, window=changed(facts.window, "beta", cpu_avg=None, memory=None))
    assert propose(facts).shares == (0.40, 0.60)
    assert np.isnan(network.asked[0][:, COLUMN["secondary.cpu_avg"]]).all()
    assert np.isnan(network.asked[0][:, COLUMN["secondary.memory"]]).all()


@pytest.mark.parametrize("strategy", NETWORKS)
def test_a_silent_center_holds(strategy: StrategyName) -> None:
    facts = situation(strategy, model=model(Recorder()))
    samples = {"alpha": facts.window.samples["alpha"]}
    proposal = propose(replace(facts, window=replace(facts.window, samples=samples)))
    assert proposal.shares == facts.applied
    assert codes(proposal.notes) == ["metrics_missing"]


@pytest.mark.parametrize("strategy", NETWORKS)
def test_without_a_network_the_ladder_answers(strategy: StrategyName) -> None:
    proposal = propose(situation(strategy, model=law_model()))
    assert proposal.strategy == "observed_laws"
    assert codes(proposal.notes) == ["model_missing"]
    assert not proposal.learned


def test_three_centers_are_not_for_the_network() -> None:
    roles = (Role.PRIMARY, Role.SAME_CITY, Role.SAME_CITY)
    facts = replace(
        situation(StrategyName.PAPER_MLP, model=model(Recorder())),
        centers=centers(roles, (60.0, 30.0, 10.0)),
        applied=(0.5, 0.3, 0.2),
    )
    proposal = propose(facts)
    assert codes(proposal.notes) == ["not_two_centers", "metrics_missing"]


def test_without_traffic_in_one_center_there_is_nothing_to_project() -> None:
    proposal = propose(
        situation(StrategyName.PROJECTED_MLP, applied=(1.0, 0.0), model=model(Recorder()))
    )
    assert codes(proposal.notes) == ["share_too_small"]
    assert proposal.shares == (1.0, 0.0)


def test_without_load_the_shares_in_force_are_projected() -> None:
    facts = situation(applied=(0.6, 0.4), load=Load(total_rps=0.0))
    assert observed_shares(facts) == (0.6, 0.4)
    np.testing.assert_allclose(projected_rows(facts)[:, COLUMN["primary.traffic_share"]], GRID)


@pytest.mark.parametrize("strategy", [*NETWORKS, StrategyName.HYBRID])
@pytest.mark.parametrize("applied", [(1.0, 0.0), (0.8, 0.2)])
def test_a_reserve_that_has_not_reported_is_left_to_the_rule(
    strategy: StrategyName, applied: tuple[float, float]
) -> None:
    learned = replace(law_model(), network=Recorder(), ensemble=alone(Recorder()))
    facts = situation(strategy, applied=applied, model=learned)
    one = replace(facts.window, samples={"alpha": facts.window.samples["alpha"]})
    muster = Muster(bearing=(True, applied[1] > 0))
    reserve = centers((Role.PRIMARY, Role.CLOUD))
    proposal = propose(replace(facts, window=one, centers=reserve, muster=muster))
    assert not proposal.failed
    assert not proposal.learned
