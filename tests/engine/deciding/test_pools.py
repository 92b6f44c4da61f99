"""Services on shared pools: each sees the others, and together they overfill none."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.domain.findings import Severity
from controlplane.domain.guardrails.state import Outcome
from controlplane.domain.services import ServiceClass, StrategyName
from controlplane.domain.strategies.tenancy import tenancy
from controlplane.engine.deciding.explanation import explain
from controlplane.engine.deciding.pools import PoolBook
from controlplane.engine.deciding.replay import Origin, replayed, situation_of
from tests.engine.crowd import Crowd, fleet_of, tenant

LEVEL, HOT = 0.85, 0.88
EPSILON = 1e-3
LEARNING = (StrategyName.HYBRID, StrategyName.CPU_EQUALIZER, StrategyName.THRESHOLD)


def crowd(total_rps: float, seed: int = 0, count: int = 50, cpu: bool = True) -> Crowd:
    rng = np.random.default_rng(seed)
    parts = rng.dirichlet([1.0] * count) * total_rps
    services = [
        tenant(
            f"s{index:03}",
            LEARNING[index % len(LEARNING)],
            list(ServiceClass)[index % 3],
            cost=float(rng.choice([0.5, 1.0, 2.0])),
        )
        for index in range(count)
    ]
    loads = {s.name: parts[i] / s.clusters[0].cost for i, s in enumerate(services)}
    return Crowd(fleet=fleet_of(services), loads=loads, cpu=cpu)


def pair(cpu: bool = True) -> Crowd:
    """300 requests/s of cost 1 and 100 of cost 2; both start by capacity, 0.625 to 0.375."""
    services = [
        tenant("a", StrategyName.CPU_EQUALIZER, ServiceClass.CRITICAL),
        tenant("b", StrategyName.CPU_EQUALIZER, ServiceClass.STANDARD, cost=2.0),
    ]
    one = Crowd(fleet=fleet_of(services), loads={"a": 300.0, "b": 100.0}, cpu=cpu)
    one.measure()
    return one


@pytest.mark.parametrize("cpu", [True, False])
def test_a_service_sees_what_the_others_put_on_its_pools(cpu: bool) -> None:
    book = PoolBook(pair(cpu).facts())
    east, west, north = book.shared("a")
    assert east is not None
    assert west is not None
    assert north is not None
    assert (east.name, east.by_cpu) == ("east-web", cpu)
    assert east.others == pytest.approx(200.0 * 0.625)
    assert west.others == pytest.approx(200.0 * 0.375)
    assert north.others == 0.0
    assert east.use_per_work == pytest.approx(1 / 1_000)
    assert west.use_per_work == pytest.approx(1 / 600)
    assert book.shared("unknown") == ()


def test_a_decision_changes_what_the_next_one_sees() -> None:
    one = pair()
    book = PoolBook(one.facts())
    before = book.shared("b")[0]
    ruled = one.decide(only=frozenset({"a"}))
    moved = replace(ruled.made[0], decided=(0.4, 0.6, 0.0))
    book.settle(moved)
    after = book.shared("b")[0]
    assert before is not None
    assert after is not None
    assert after.others - before.others == pytest.approx(300.0 * (0.4 - 0.625))


def test_work_of_others_is_counted_by_cpu_even_when_one_of_them_is_silent() -> None:
    one = pair()
    del one.windows["b"]
    shared = PoolBook(one.facts()).shared("a")[0]
    assert shared is not None
    # All of the CPU is charged to who reports: too much rather than too little.
    assert shared.use_per_work * (300.0 * 0.625) + shared.use_per_work * shared.others == (
        pytest.approx(one.utilizations()["east"])
    )


def test_without_cpu_a_silent_tenant_holds_the_others() -> None:
    one = pair(cpu=False)
    del one.windows["b"]
    ruled = one.decide(only=frozenset({"a"}))
    assert [note.code for note in ruled.made[0].notes if "unknown" in note.code] == [
        "utilization_unknown"
    ]
    assert ruled.made[0].outcome is Outcome.HELD


def test_a_pool_that_bears_next_to_nothing_counts_by_its_declared_capacity() -> None:
    one = pair()
    one.loads = {"a": 1.0, "b": 0.5}
    one.measure()
    read = tenancy(
        one.fleet, one.windows, {"a": (0.6, 0.4, 0.0), "b": (0.6, 0.4, 0.0)}, 60.0
    ).pools["east-web"]
    assert not read.by_cpu
    assert read.use_per_work == pytest.approx(1 / 1_000)


@pytest.mark.parametrize("cpu", [True, False])
@settings(max_examples=6, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    totals=st.lists(st.floats(200.0, 1_700.0), min_size=4, max_size=8),
)
def test_fifty_services_never_overfill_a_pool_together(
    cpu: bool, seed: int, totals: list[float]
) -> None:
    one = crowd(totals[0], seed, cpu=cpu)
    base = dict(one.loads)
    for total in totals:
        one.loads = {name: load * total / totals[0] for name, load in base.items()}
        one.measure()
        before = one.utilizations()
        ruled = one.decide()
        assert not ruled.faults
        after = one.utilizations()
        allowed = LEVEL if max(before.values()) <= LEVEL else 1.0
        for center in before:
            assert after[center] <= max(allowed, before[center]) + EPSILON, (before, after)
        for decision in ruled.made:
            assert sum(decision.decided) == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(3))
def test_a_rise_past_the_active_pools_calls_the_reserve_and_settles(seed: int) -> None:
    """1,700 on pools of 1,600: the reserve joins, nobody stays above the level, nothing swings."""
    one = crowd(800.0, seed)
    base = dict(one.loads)
    for cycle in range(16):
        total = 800.0 + min(cycle, 9) * 100.0
        one.loads = {name: load * total / 800.0 for name, load in base.items()}
        one.measure()
        one.decide()
    assert max(one.utilizations().values()) <= HOT
    assert one.utilizations()["north"] > 0.1
    moves = []
    for _ in range(6):
        one.measure()
        before = one.utilizations()
        one.decide()
        moves.append(max(abs(one.utilizations()[c] - before[c]) for c in before))
    assert max(moves[2:]) < 0.05, moves


def test_who_gives_way_says_so_and_its_state_agrees() -> None:
    one = crowd(1_250.0, 1)
    one.measure()
    one.decide()
    one.measure()
    # A strategy gone mad: everything to the smaller pool.
    everything_west = {c: (1.0 if c == "west" else 0.0) for c in ("east", "west", "north")}
    services = tuple(
        replace(s, strategy=StrategyName.STATIC, static_shares=tuple(everything_west.items()))
        for s in one.fleet.services
    )
    one.fleet = replace(one.fleet, services=services)
    ruled = one.decide()
    west = one.utilizations()["west"]
    assert west <= LEVEL + EPSILON
    conceded = [d for d in ruled.made if any(n.code == "pool_shared" for n in d.notes)]
    assert conceded
    moved = [d for d in ruled.made if d.outcome is Outcome.MOVED]
    for decision in moved:
        assert decision.state.moved_to == decision.decided
    for decision in conceded:
        assert decision.inputs is not None
        assert decision.inputs.concession is not None
        if decision.outcome is Outcome.HELD:
            assert decision.decided == decision.applied
    for decision in ruled.made:
        assert decision.inputs is not None
        again = replayed(
            decision,
            situation_of(decision, decision.inputs, one.fleet, None),
            Origin.STRATEGY,
        )
        assert again.identical
        assert ("pools" in [step.name for step in explain(again)]) == (decision in conceded)


def test_a_pool_that_stays_too_full_is_a_finding_until_it_is_not() -> None:
    one = crowd(2_000.0, 2)
    one.fleet = replace(
        one.fleet,
        services=tuple(replace(s, strategy=StrategyName.STATIC) for s in one.fleet.services),
    )
    one.measure()
    found = {each.subject: each for each in one.decide().pools}
    assert set(found) == {"pool/east-web", "pool/west-web"}
    assert {each.severity for each in found.values()} == {Severity.CRITICAL}
    one.loads = {name: load / 4 for name, load in one.loads.items()}
    one.measure()
    assert one.decide().pools == ()


def test_who_has_machines_of_its_own_somewhere_is_seen_on_the_shared_pool_only() -> None:
    one = pair()
    first, second, third = one.fleet.service("a").clusters
    own = replace(second, pool="", cost=1.0, capacity_rps=600.0)
    mixed = replace(one.fleet.service("a"), clusters=(first, own, third))
    one.fleet = replace(one.fleet, services=(mixed, one.fleet.service("b")))
    one.measure()
    book = PoolBook(one.facts())
    assert book.shared("a")[1] is None
    west = book.shared("b")[1]
    assert west is not None
    assert west.others == 0.0
    assert not one.decide().faults
