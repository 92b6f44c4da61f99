"""S2's rule: home below the critical load, the least loaded of the others above it."""

import math
import random
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from controlplane.domain.services import RegionalRule, StrategyName
from controlplane.domain.strategies.regional_load import alarming, center_loads, load_of
from controlplane.domain.strategies.registry import propose
from controlplane.domain.strategies.situation import Muster, Note, Proposal, Situation
from controlplane.domain.telemetry import Sample, extended
from controlplane.domain.topology import EVERYWHERE, GatewayGroup, Role
from tests.domain.three_regions import (
    FULL_RPS,
    GATEWAYS,
    PERIOD_S,
    REGIONS,
    RegionalWorld,
    center,
    make_centers,
    sample,
    without_endpoints,
)

CALM = {"north": 60.0, "south": 40.0, "west": 30.0}
HOME = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
CRITICAL, MARK, RETURN = 0.85, 0.80, 0.75


def codes(proposal: Proposal) -> list[str]:
    return [note.code for note in proposal.notes]


def measured(demand: dict[str, float], periods: int = 4) -> RegionalWorld:
    world = RegionalWorld(demand=demand)
    for _ in range(periods):
        world.measure()
    return world


def test_load_is_connections_and_the_pool_by_alpha() -> None:
    one = replace(sample("dc-north", 0.0, 1.0, 0.5), pool_use=0.9)
    assert load_of(one, RegionalRule(alpha=0.75)) == pytest.approx(0.75 * 0.5 + 0.25 * 0.9)
    without = replace(one, pool_use=None)
    assert math.isnan(load_of(without, RegionalRule()))
    # What has no weight need not be reported.
    assert load_of(without, RegionalRule(alpha=1.0)) == pytest.approx(0.5)
    assert load_of(replace(one, connections=None), RegionalRule(alpha=0.0)) == pytest.approx(0.9)


def test_a_sample_over_the_level_of_its_service_is_an_alarm() -> None:
    service = RegionalWorld(CALM).service
    assert not alarming(sample("dc-north", 0.0, 1.0, 0.84), service)
    assert alarming(sample("dc-north", 0.0, 1.0, 0.86), service)
    assert not alarming(replace(sample("dc-north", 0.0, 1.0, 0.86), pool_use=None), service)
    other = replace(service, strategy=StrategyName.STATIC)
    assert not alarming(sample("dc-north", 0.0, 1.0, 0.86), other)
    assert alarming(replace(sample("dc-north", 0.0, 1.0, 0.1), cpu_avg=0.81), other)


def test_everybody_stays_home_below_the_critical_load() -> None:
    proposal = propose(measured({**CALM, "north": 84.0}).situation())
    assert proposal.regions[:3] == HOME
    assert codes(proposal) == ["regional_calm"]
    assert not proposal.urgent


def test_what_is_too_much_goes_to_the_least_loaded_of_the_others() -> None:
    proposal = propose(measured({"north": 100.0, "south": 60.0, "west": 12.0}).situation())
    # North gives up what brings it to the mark; west is far emptier than south.
    assert proposal.regions[0] == pytest.approx((0.8, 0.0, 0.2), abs=1e-6)
    assert proposal.regions[1:3] == HOME[1:]
    assert codes(proposal) == ["regional_overflow"]
    assert proposal.urgent
    assert proposal.shares == pytest.approx((80 / 172, 60 / 172, 32 / 172))


def test_least_loaded_ones_are_filled_to_one_height() -> None:
    world = measured({"north": 100.0, "south": 80.0, "west": 30.0})
    proposal = propose(world.situation())
    rates = [
        sum(
            world.demand[name] * row[at]
            for name, row in zip(REGIONS, proposal.regions[:3], strict=True)
        )
        for at in range(3)
    ]
    loads = [rate / full for rate, full in zip(rates, FULL_RPS, strict=True)]
    # 210 of 240 is more than the critical load everywhere: there is no room, so all are level.
    assert loads == pytest.approx([210 / 240] * 3, abs=1e-6)
    assert codes(proposal) == ["regional_overflow", "regional_no_room"]
    assert not proposal.urgent


def test_above_the_mark_is_better_than_critical() -> None:
    proposal = propose(measured({"north": 100.0, "south": 60.0, "west": 38.0}).situation())
    # 198 of 240 is 0.825: above the mark, below critical.
    assert "regional_no_room" not in codes(proposal)
    assert proposal.shares == pytest.approx((100 / 240, 80 / 240, 60 / 240), abs=1e-6)


def test_full_everywhere_and_level_already_moves_nothing() -> None:
    proposal = propose(measured({"north": 95.0, "south": 76.0, "west": 57.0}).situation())
    assert proposal.regions[:3] == HOME
    assert codes(proposal) == ["regional_no_room"]


def test_traffic_comes_back_below_the_return_load_and_not_before() -> None:
    world = RegionalWorld(demand={**CALM, "north": 100.0})
    for _ in range(4):
        world.cycle()
    away = world.rows()[0]
    # One step of 0.15 brought it into the band, so it stopped there.
    assert away[0] == pytest.approx(0.85)
    world.demand["north"] = 90.0
    world.cycle()
    assert world.rows()[0] == away
    world.demand["north"] = 85.0
    world.cycle()
    assert world.proposal is not None
    assert codes(world.proposal) == ["regional_return"]
    world.demand["north"] = 60.0
    for _ in range(10):
        world.cycle()
    assert world.rows()[0] == (1.0, 0.0, 0.0)


def test_a_dead_region_is_served_by_the_others_and_comes_home_again() -> None:
    world = RegionalWorld(demand=CALM)
    world.cycle()
    alive = world.centers
    without_endpoints(world, "north")
    for _ in range(8):
        world.cycle()
    north = world.rows()[0]
    assert north[0] == 0.0
    # 130 for 140: no room below critical, so both are as full.
    assert world.loads()[1] == pytest.approx(world.loads()[2], abs=0.02)
    world.centers = alive
    for _ in range(60):
        world.cycle()
    assert world.rows()[0] == (1.0, 0.0, 0.0)


def test_a_region_without_a_center_of_its_own_moves_with_the_rest() -> None:
    gateways = (*GATEWAYS, GatewayGroup(name="far", region="mars"))
    world = RegionalWorld(demand={"north": 20.0, EVERYWHERE: 180.0}, gateways=gateways)
    for _ in range(4):
        world.cycle()
    assert max(world.loads()) <= CRITICAL + 0.005


def test_silence_holds_what_is_in_force() -> None:
    situation = RegionalWorld(demand=CALM).situation()
    assert codes(propose(situation)) == ["metrics_missing"]
    assert propose(situation).regions[:3] == HOME


def test_nothing_is_decided_before_a_move_has_shown() -> None:
    situation = measured({**CALM, "north": 100.0}).situation()
    moved = replace(situation, moved_s=situation.now_s - PERIOD_S / 2)
    assert codes(propose(moved)) == ["settling"]


@pytest.mark.parametrize(
    ("rule", "gone", "named"),
    [
        (RegionalRule(), "pool_use", "connections, connection_limit, pool_use"),
        (RegionalRule(alpha=1.0), "connections", "must report connections, connection_limit"),
        (RegionalRule(alpha=0.0), "pool_use", "must report pool_use"),
    ],
)
def test_a_load_that_is_not_whole_is_no_load(rule: RegionalRule, gone: str, named: str) -> None:
    world = measured(CALM)
    world.rule = rule
    newest = replace(sample("dc-west", world.now_s + 1.0, 30.0, 0.5), **{gone: None})
    world.window = extended(world.window, [newest], 3_600.0)
    proposal = propose(world.situation())
    assert codes(proposal) == ["regional_load_missing"]
    assert named in proposal.notes[0].message
    assert "dc-west" in proposal.notes[0].message


def test_without_regions_it_is_the_static_split() -> None:
    situation = replace(measured(CALM).situation(), regions=())
    proposal = propose(situation)
    assert proposal.strategy == "capacity"
    assert codes(proposal) == ["regions_missing"]


def _by_bandwidth(world: RegionalWorld) -> Situation:
    """The same measurements by those who know bytes only."""
    situation = world.situation()

    def sent(one: Sample) -> Sample:
        rate = one.request_rate_rps
        assert rate is not None
        return replace(one, request_rate_rps=None, ingress_bandwidth_bps=rate * 8_000.0)

    window = replace(
        situation.window,
        samples={
            name: tuple(map(sent, history)) for name, history in situation.window.samples.items()
        },
    )
    return replace(situation, window=window)


def test_bandwidth_stands_in_for_a_rate() -> None:
    world = measured({"north": 100.0, "south": 60.0, "west": 12.0})
    assert propose(_by_bandwidth(world)).regions[0] == pytest.approx((0.8, 0.0, 0.2), abs=1e-6)
    # An idle one is taken to be as weak as the weakest that tells.
    loads = center_loads(_by_bandwidth(measured({"north": 100.0, "south": 40.0})))
    assert not isinstance(loads, Note)
    assert loads[2].per_rate == pytest.approx(1 / 80 / 8_000.0)
    nothing = center_loads(_by_bandwidth(measured({})))
    assert isinstance(nothing, Note)
    assert nothing.code == "load_unknown"


def test_an_idle_center_counts_by_its_declared_capacity_and_keeps_what_it_has() -> None:
    world = measured({"north": 100.0, "south": 60.0})
    kept = [
        replace(one, connections=1_600.0, pool_use=0.1) for one in world.window.samples["dc-west"]
    ]
    world.window = extended(world.window, kept, 3_600.0)
    loads = center_loads(world.situation())
    assert not isinstance(loads, Note)
    assert loads[2].standing == pytest.approx(0.1)
    assert loads[2].per_rate == pytest.approx(1 / 120.0)
    assert loads[0].standing == 0.0


def test_a_reserve_that_has_joined_takes_what_the_others_cannot() -> None:
    centers = (*make_centers()[:2], center("west", 60.0, role=Role.CLOUD))
    world = RegionalWorld(demand={"north": 120.0, "south": 60.0}, centers=centers)
    for _ in range(4):
        world.measure()
    joined = world.situation()
    assert joined.muster.joining == ("dc-west",)
    alone = replace(joined, muster=Muster())
    assert propose(alone).shares[2] == pytest.approx(0.0, abs=1e-6)
    # It has reported nothing yet.
    samples = {name: own for name, own in joined.window.samples.items() if name != "dc-west"}
    joined = replace(joined, window=replace(joined.window, samples=samples))
    assert propose(joined).regions[0][2] > 0.1


@settings(max_examples=8, deadline=None)
@given(
    st.tuples(*[st.floats(1.0, 150.0)] * 3),
    st.tuples(*[st.floats(40.0, 150.0)] * 3),
)
@example((1.0, 119.0, 4.0), (40.0, 40.0, 67.0))
def test_nobody_stays_critical_while_another_has_room(
    demand: tuple[float, ...], full_rps: tuple[float, ...]
) -> None:
    world = RegionalWorld(
        demand=dict(zip(REGIONS, demand, strict=True)),
        centers=make_centers(full_rps),
        full_rps=full_rps,
    )
    for _ in range(20):
        world.cycle()
    loads = world.loads()
    if sum(demand) <= (CRITICAL - 0.002) * sum(full_rps):
        assert max(loads) <= CRITICAL + 0.001
    elif sum(demand) <= 0.95 * sum(full_rps):
        # Level but for what is not worth a move.
        assert max(loads) <= sum(demand) / sum(full_rps) + (CRITICAL - RETURN) / 2 + 0.01
    for verdict in world.verdicts:
        for row in verdict.regions:
            assert math.fsum(row) == pytest.approx(1.0)
            assert all(-1e-12 <= share <= 1 + 1e-12 for share in row)


@pytest.mark.parametrize("north", [60.0, 76.0, 84.0, 86.0, 100.0, 140.0])
def test_noise_moves_nothing_to_and_fro(north: float) -> None:
    rng = random.Random(11)
    world = RegionalWorld(demand={**CALM, "north": north})

    def noise() -> list[list[float]]:
        return [[1.0 + rng.gauss(0.0, 0.03) for _ in range(3)] for _ in range(5)]

    for _ in range(12):
        world.cycle(noise())
    settled_moves = world.moves()
    for _ in range(96):
        world.cycle(noise())
    # At most one move in 48 cycles once it has settled.
    assert world.moves() - settled_moves <= 2
