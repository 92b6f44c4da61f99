"""What the envelope makes of splits by source region."""

from dataclasses import replace

import pytest

from controlplane.domain.dither import DitherMode
from controlplane.domain.guardrails.envelope import judge, passages
from controlplane.domain.guardrails.limits import EnvelopeLimits
from controlplane.domain.guardrails.regions import limits_of
from controlplane.domain.guardrails.state import Concession, GuardState, Outcome, Verdict
from controlplane.domain.services import StrategyName
from controlplane.domain.strategies.regions import Rows, farthest, in_force, summed
from controlplane.domain.strategies.registry import propose
from controlplane.domain.strategies.situation import Proposal, Situation
from controlplane.domain.topology import Role
from tests.domain.three_regions import RegionalWorld, center, make_service
from tests.domain.two_centers import make_service as usual_service

HOT = {"north": 100.0, "south": 50.0, "west": 20.0}
CALM = {"north": 60.0, "south": 40.0, "west": 30.0}


def measured(demand: dict[str, float]) -> Situation:
    world = RegionalWorld(demand=demand)
    for _ in range(4):
        world.measure()
    return world.situation()


def asked(situation: Situation, rows: Rows, *, urgent: bool = False) -> Proposal:
    return Proposal(
        strategy=StrategyName.REGIONAL,
        shares=summed(situation.regions, rows),
        regions=rows,
        urgent=urgent,
    )


def judged(proposal: Proposal, situation: Situation, state: GuardState | None = None) -> Verdict:
    limits = limits_of(situation.service, EnvelopeLimits())
    return judge(proposal, situation, state or GuardState(), limits)


def codes(verdict: Verdict) -> list[str]:
    return [note.code for note in verdict.notes]


def with_north(situation: Situation, *row: float) -> Rows:
    return (tuple(row), *in_force(situation.regions)[1:])


def with_hot_machines() -> Situation:
    """The machines of north are full while its connections are not."""
    narrow = center("north", 100.0)
    cluster = replace(narrow.cluster, capacity_rps=60.0)
    centers = (replace(narrow, cluster=cluster), *RegionalWorld({}).centers[1:])
    world = RegionalWorld(demand=CALM, centers=centers)
    for _ in range(4):
        world.measure()
    return world.situation()


def test_other_services_have_the_usual_limits() -> None:
    limits = EnvelopeLimits()
    assert limits_of(usual_service(), limits) is limits
    own = limits_of(make_service(RegionalWorld({}).centers), limits)
    assert (own.low, own.high, own.low_of_many, own.evacuations) == (0.0, 1.0, 0.0, 3)
    assert own.step == limits.step


def test_a_region_moves_by_a_step() -> None:
    situation = measured(CALM)
    verdict = judged(asked(situation, with_north(situation, 0.6, 0.4, 0.0)), situation)
    assert verdict.outcome is Outcome.MOVED
    assert verdict.regions[0] == pytest.approx((0.95, 0.05, 0.0))
    assert verdict.regions[1:] == in_force(situation.regions)[1:]
    assert codes(verdict) == ["region_step_limited"]
    assert verdict.shares == pytest.approx(summed(situation.regions, verdict.regions))


def test_a_critical_center_sheds_by_a_longer_step_and_does_not_wait() -> None:
    situation = measured(HOT)
    just_moved = GuardState(changes_s=(situation.now_s - 60.0,))
    proposal = asked(situation, with_north(situation, 0.6, 0.2, 0.2), urgent=True)
    verdict = judged(proposal, situation, just_moved)
    assert verdict.regions[0] == pytest.approx((0.85, 0.075, 0.075))
    calm = judged(replace(proposal, urgent=False), situation, just_moved)
    assert codes(calm) == ["region_step_limited", "dwell"]
    assert calm.regions == in_force(situation.regions)


def test_rows_that_exchange_the_same_sum_are_a_move() -> None:
    situation = measured({"north": 40.0, "south": 40.0, "west": 30.0})
    rows = ((0.96, 0.04, 0.0), (0.04, 0.96, 0.0), *in_force(situation.regions)[2:])
    verdict = judged(asked(situation, rows), situation)
    assert verdict.outcome is Outcome.MOVED
    assert verdict.regions == rows
    assert verdict.shares == pytest.approx(situation.applied)


def test_relief_goes_out_beside_rows_that_are_no_splits() -> None:
    situation = with_hot_machines()
    proposal = replace(propose(situation), regions=(), shares=(1.0,))
    verdict = judged(proposal, situation)
    assert codes(verdict) == ["proposal_invalid", "capacity_relief"]
    assert summed(situation.regions, verdict.regions) == pytest.approx(verdict.shares)


@pytest.mark.parametrize(
    "rows",
    [
        (),
        ((1.0, 0.0, 0.0),) * 3,
        ((1.0, 0.0),) * 4,
        ((0.9, 0.0, 0.0),) * 4,
        ((float("nan"), 0.5, 0.5),) * 4,
    ],
)
def test_rows_that_are_no_splits_are_refused(rows: Rows) -> None:
    situation = measured(CALM)
    proposal = replace(asked(situation, in_force(situation.regions)), regions=rows)
    verdict = judged(proposal, situation)
    assert verdict.outcome is Outcome.HELD
    assert codes(verdict) == ["proposal_invalid"]
    assert verdict.regions == in_force(situation.regions)


def test_old_metrics_hold_and_are_not_ramped_home() -> None:
    world = RegionalWorld(demand=HOT)
    for _ in range(3):
        world.cycle()
    away = world.rows()
    assert away[0][0] < 1.0
    world.now_s += 7_200.0
    verdict = world.decide()
    assert [note.code for note in verdict.notes] == ["metrics_stale"]
    assert verdict.outcome is Outcome.HELD
    assert world.rows() == away


def test_overflow_stops_where_the_others_are_full() -> None:
    # West has no room on its machines, whatever its connections say.
    narrow = center("west", 60.0)
    cluster = replace(narrow.cluster, capacity_rps=30.0)
    centers = (*RegionalWorld({}).centers[:2], replace(narrow, cluster=cluster))
    world = RegionalWorld(demand={"north": 100.0, "south": 66.0, "west": 24.0}, centers=centers)
    for _ in range(4):
        world.measure()
    verdict = judged(propose(world.situation()), world.situation())
    assert "capacity_veto" in codes(verdict)
    north = verdict.regions[0]
    assert 24.0 + 100.0 * north[2] <= 0.85 * 30.0 + 1e-6
    assert verdict.regions[1:3] == in_force(world.situation().regions)[1:3]


def test_relief_carries_every_row_off_the_hot_machines() -> None:
    situation = with_hot_machines()
    verdict = judged(propose(situation), situation)
    assert codes(verdict) == ["capacity_relief"]
    assert verdict.regions[0][0] < 1.0
    assert verdict.regions[1:3] == in_force(situation.regions)[1:3]
    assert summed(situation.regions, verdict.regions) == pytest.approx(verdict.shares)


def test_what_the_pools_allow_is_carried_too() -> None:
    situation = measured(HOT)
    given = (situation.applied[0] - 0.02, situation.applied[1] + 0.02, situation.applied[2])
    concession = Concession(shares=given, reason="a pool is full")
    limits = limits_of(situation.service, EnvelopeLimits())
    verdict = judge(propose(situation), situation, GuardState(), limits, concession)
    assert summed(situation.regions, verdict.regions) == pytest.approx(given)


def test_each_guard_shows_what_it_did() -> None:
    situation = measured(HOT)
    limits = limits_of(situation.service, EnvelopeLimits())
    told = {one.guard: one for one in passages(propose(situation), situation, GuardState(), limits)}
    assert told["within_region_step"].notes[0].code == "region_step_limited"
    assert told["within_step"].notes == ()


def test_a_split_by_region_is_not_shifted_by_chance() -> None:
    situation = measured(CALM)
    limits = replace(limits_of(situation.service, EnvelopeLimits()), dither=DitherMode.ALL)
    verdict = judge(propose(situation), situation, GuardState(), limits)
    assert verdict.state.dither is None


def test_a_reserve_joins_when_all_servers_are_critical_and_leaves_again() -> None:
    centers = (*RegionalWorld({}).centers[:2], center("west", 60.0, role=Role.CLOUD))
    world = RegionalWorld(demand={"north": 80.0, "south": 60.0}, centers=centers)
    for _ in range(4):
        world.cycle()
    assert world.rows()[0] == (1.0, 0.0, 0.0)
    # Their connections are critical; the machines have half of their capacity left.
    world.demand = {"north": 95.0, "south": 76.0}
    for _ in range(12):
        world.cycle()
    joined = world.loads()
    assert joined[2] > 0.1
    assert max(joined) <= 0.85
    world.demand = {"north": 50.0, "south": 40.0}
    for _ in range(40):
        world.cycle()
    assert farthest(world.rows()[:2], ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))) < 1e-9
