import math
from dataclasses import replace

import pytest

from controlplane.domain.services import StrategyName
from controlplane.domain.strategies.registry import STRATEGIES, propose
from controlplane.domain.strategies.situation import Situation
from controlplane.domain.topology import Role
from tests.domain.two_centers import (
    Load,
    centers,
    changed,
    codes,
    history,
    make_service,
    situation,
)


def three(strategy: StrategyName, *roles: Role) -> Situation:
    kept = centers(roles, (60.0, 30.0, 10.0))
    facts = situation(strategy)
    return replace(facts, centers=kept, applied=(0.5, 0.3, 0.2))


def test_every_name_has_a_strategy() -> None:
    assert set(STRATEGIES) == set(StrategyName)


def test_static_is_the_declared_ratio() -> None:
    facts = replace(situation(), service=make_service(StrategyName.STATIC, alpha=3.0, beta=1.0))
    assert propose(facts).shares == (0.75, 0.25)
    assert propose(facts).strategy == "static"


def test_static_without_a_ratio_goes_by_capacity_and_says_so() -> None:
    proposal = propose(situation(StrategyName.STATIC))
    assert proposal.strategy == "capacity"
    assert proposal.shares == pytest.approx((80 / 130, 50 / 130))


def test_capacity_leaves_out_disaster_recovery_and_cloud() -> None:
    facts = three(StrategyName.CAPACITY, Role.PRIMARY, Role.SAME_CITY, Role.CLOUD)
    assert propose(facts).shares == pytest.approx((2 / 3, 1 / 3, 0.0))


def test_capacity_of_standby_centers_alone_counts_them() -> None:
    facts = three(StrategyName.CAPACITY, Role.CLOUD, Role.CLOUD, Role.DISASTER_RECOVERY)
    assert propose(facts).shares == pytest.approx((0.6, 0.3, 0.1))


def test_the_equalizer_makes_both_equally_busy() -> None:
    proposal = propose(situation(StrategyName.CPU_EQUALIZER))
    assert proposal.shares == pytest.approx((80 / 130, 50 / 130))
    assert proposal.strategy == "cpu_equalizer"


def test_the_equalizer_holds_within_its_deadband() -> None:
    proposal = propose(situation(StrategyName.CPU_EQUALIZER, applied=(0.61, 0.39)))
    assert proposal.shares == (0.61, 0.39)
    assert codes(proposal.notes) == ["within_deadband"]


def test_the_equalizer_without_cpu_falls_back_to_the_static_ratio() -> None:
    facts = situation(StrategyName.CPU_EQUALIZER)
    facts = replace(facts, window=changed(facts.window, "beta", cpu_avg=None))
    proposal = propose(facts)
    assert proposal.strategy == "capacity"
    assert codes(proposal.notes) == ["cpu_missing"]


def test_the_equalizer_without_samples_holds() -> None:
    facts = situation(StrategyName.CPU_EQUALIZER)
    facts = replace(facts, window=replace(facts.window, samples={}))
    proposal = propose(facts)
    assert proposal.shares == facts.applied
    assert codes(proposal.notes) == ["metrics_missing"]


def test_threshold_sheds_what_brings_the_hot_center_under_its_level() -> None:
    facts = situation(StrategyName.THRESHOLD, load=Load(total_rps=85.0))
    proposal = propose(facts)
    assert proposal.urgent
    assert codes(proposal.notes) == ["alarm"]
    # beta runs at 0.85 with half of the load; 0.75 is the level less its margin.
    assert proposal.shares[1] == pytest.approx(0.5 * 0.75 / 0.85)
    assert math.fsum(proposal.shares) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("total_rps", "code"), [(60.0, "below_alarm"), (170.0, "no_room")], ids=["calm", "all hot"]
)
def test_threshold_holds_when_nothing_can_be_shed(total_rps: float, code: str) -> None:
    proposal = propose(situation(StrategyName.THRESHOLD, load=Load(total_rps=total_rps)))
    assert proposal.shares == (0.5, 0.5)
    assert codes(proposal.notes) == [code]
    assert not proposal.urgent


def test_threshold_without_any_cpu_holds() -> None:
    facts = situation(StrategyName.THRESHOLD)
    window = changed(changed(facts.window, "alpha", cpu_avg=None), "beta", cpu_avg=None)
    assert codes(propose(replace(facts, window=window)).notes) == ["cpu_missing"]


@pytest.mark.parametrize("strategy", list(StrategyName))
def test_a_service_without_endpoints_holds_nothing(strategy: StrategyName) -> None:
    proposal = propose(situation(strategy, applied=(0.0, 0.0)))
    assert proposal.shares == (0.0, 0.0)
    assert codes(proposal.notes) == ["nothing_in_force"]


@pytest.mark.parametrize("strategy", list(StrategyName))
def test_no_strategy_raises_on_missing_metrics(strategy: StrategyName) -> None:
    facts = situation(strategy)
    empty = replace(facts, window=replace(facts.window, samples={}))
    bare = history(Load(), (0.5, 0.5))
    for name in ("alpha", "beta"):
        bare = changed(
            bare, name, cpu_avg=None, cpu_max=None, request_rate_rps=None, memory=None, disk=None
        )
    quiet = history(Load(total_rps=0.0), (0.5, 0.5))
    for case in (empty, replace(facts, window=bare), replace(facts, window=quiet)):
        assert math.fsum(propose(case).shares) == pytest.approx(1.0)
