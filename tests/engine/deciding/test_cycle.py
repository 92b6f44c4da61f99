from dataclasses import replace

import pytest

from controlplane.domain.decisions import Trigger
from controlplane.domain.fleet_order import normalized
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.guardrails.state import Outcome
from controlplane.domain.services import StrategyName
from controlplane.domain.telemetry import ServiceWindow, extended
from controlplane.engine.cadence import Cadence, scaled
from controlplane.engine.deciding.cycle import Facts, applied_shares, decide, situate, stamped
from controlplane.engine.publishing.shares import published_shares
from controlplane.engine.reconciling.desired import desired
from tests.builders import fleet, sample, service

NOW_S = 1_000.0


def _facts(shares: dict[str, dict[str, float]] | None = None) -> Facts:
    samples = [
        sample("beijing-1", NOW_S - 30, cpu_avg=0.6),
        sample("beijing-2", NOW_S - 30, cpu_avg=0.3),
    ]
    window = extended(ServiceWindow(service="tickets"), samples, 3600.0)
    return Facts(
        fleet=normalized(fleet(service(strategy=StrategyName.CPU_EQUALIZER))),
        windows={"tickets": window},
        models={},
        shares=shares or {},
        states={},
        cadence=Cadence(),
        limits=EnvelopeLimits(),
        now_s=NOW_S,
    )


def test_a_decision_depends_on_its_arguments_alone() -> None:
    facts = _facts()
    one, two = (decide(facts, facts.fleet.services[0], Trigger.TIMER) for _ in range(2))
    assert one == two
    assert one.id == "tickets@1000000"
    assert one.outcome is Outcome.MOVED
    assert one.centers == ("beijing-1", "beijing-2")
    assert [found.datacenter for found in one.samples] == ["beijing-1", "beijing-2"]
    assert one.applied[0] - one.decided[0] == pytest.approx(0.05)
    assert (one.model, one.revision) == ("", 0)
    assert [decision.revision for decision in stamped([one], 7)] == [7]


def test_the_situation_has_the_cadence_and_an_empty_window_of_a_silent_service() -> None:
    facts = replace(_facts(), windows={}, cadence=scaled(Cadence(), 0.1))
    situation = situate(facts, facts.fleet.services[0])
    assert situation.window == ServiceWindow(service="tickets")
    assert (situation.period_s, situation.cycle_s) == (6.0, 30.0)


@pytest.mark.parametrize(
    ("in_force", "declared", "expected"),
    [
        ({"beijing-1": 0.7, "beijing-2": 0.3}, (), (0.7, 0.3)),
        ({"beijing-1": 0.6, "gone": 0.4}, (), (1.0, 0.0)),
        ({}, (("beijing-1", 0.5), ("beijing-2", 0.5)), (0.5, 0.5)),
        ({"gone": 1.0}, (), (80 / 130, 50 / 130)),
    ],
)
def test_shares_in_force_then_declared_then_by_capacity(
    in_force: dict[str, float], declared: tuple[tuple[str, float], ...], expected: tuple[float, ...]
) -> None:
    one = replace(service(), static_shares=declared)
    assert applied_shares(fleet(one), one, in_force) == pytest.approx(expected)


def test_a_data_center_without_endpoints_gets_nothing() -> None:
    first, second = service().clusters
    one = replace(service(), clusters=(replace(first, endpoints=()), second))
    assert applied_shares(fleet(one), one, {"beijing-1": 0.7, "beijing-2": 0.3}) == (0.0, 1.0)
    none = replace(one, clusters=tuple(replace(c, endpoints=()) for c in one.clusters))
    assert applied_shares(fleet(none), none, {"beijing-1": 0.7}) == (0.0, 0.0)


def test_clusters_of_one_data_center_are_decided_about_together() -> None:
    first, second = service().clusters
    named = replace(first, name="a")
    several = (named, replace(named, name="b"), replace(named, name="c", standby=True), second)
    declared = replace(service(strategy=StrategyName.CPU_EQUALIZER), clusters=several)
    facts = replace(_facts(), fleet=normalized(fleet(declared)))
    one = facts.fleet.services[0]
    # 80 and 80 beside 50; a standby is no capacity.
    assert applied_shares(facts.fleet, one, {}) == pytest.approx((160 / 210, 50 / 210))
    assert [c.cluster.capacity_rps for c in situate(facts, one).centers] == [160.0, 50.0]
    decision = decide(facts, one, Trigger.TIMER)
    assert decision.centers == ("beijing-1", "beijing-2")
    made = desired(facts, [decision], None).snapshot
    assert set(made.content.weights.weights[0].weights) == {"beijing-1", "beijing-2"}
    found = made.content.endpoints.services[0].centers
    assert [(c.datacenter, c.cluster, c.standby) for c in found] == [
        ("beijing-1", "a", False),
        ("beijing-1", "b", False),
        ("beijing-1", "c", True),
        ("beijing-2", "", False),
    ]


def test_what_is_published_is_read_back_as_the_same_shares() -> None:
    facts = _facts()
    made = [decide(facts, facts.fleet.services[0], Trigger.TIMER)]
    first = desired(facts, made, None)
    assert first.faults == ()
    shares = published_shares(first.snapshot)
    again = desired(_facts(shares), [], first.snapshot)
    assert again.snapshot == first.snapshot
    assert published_shares(None) == {}
