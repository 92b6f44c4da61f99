"""Where traffic comes from is told by where it arrives."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.services import StrategyName
from controlplane.domain.strategies.demand import demand, located, since_move
from controlplane.domain.strategies.situation import Situation
from controlplane.domain.telemetry import ServiceWindow
from controlplane.domain.topology import EVERYWHERE, GatewayGroup
from tests.domain.three_regions import PERIOD_S, RegionalWorld, center, without_endpoints

DEMAND = {"north": 60.0, "south": 40.0, "west": 20.0}


def test_demand_at_home_is_the_load() -> None:
    assert demand(np.eye(3), np.array([5.0, 3.0, 0.0])) == pytest.approx([5.0, 3.0, 0.0])


@given(st.tuples(*[st.floats(1.0, 100.0)] * 3), st.tuples(*[st.floats(0.5, 1.0)] * 3))
def test_demand_is_found_again_from_the_loads_that_it_makes(
    sent: tuple[float, ...], home: tuple[float, ...]
) -> None:
    rows = np.array([[h if i == j else (1 - h) / 2 for j in range(3)] for i, h in enumerate(home)])
    found = demand(rows, np.array(sent) @ rows)
    assert found == pytest.approx(np.array(sent), abs=0.05 * sum(sent))
    assert found.sum() == pytest.approx(sum(sent))


def test_a_load_where_no_row_leads_belongs_to_nobody() -> None:
    assert demand(np.array([[1.0, 0.0]]), np.array([5.0, 3.0])) == pytest.approx([5.0])


def test_each_region_of_a_data_center_has_a_row_and_so_has_the_rest() -> None:
    world = RegionalWorld(demand=DEMAND)
    world.measure()
    found = world.situation()
    assert [region.name for region in found.regions] == ["north", "south", "west", EVERYWHERE]
    weights = [region.weight for region in found.regions]
    assert weights == pytest.approx([0.5, 1 / 3, 1 / 6, 0.0])
    assert found.applied == pytest.approx((0.5, 1 / 3, 1 / 6))
    assert found.regions[-1].home == pytest.approx((100 / 240, 80 / 240, 60 / 240))


def test_another_strategy_has_no_regions() -> None:
    situation = RegionalWorld(demand=DEMAND).situation()
    other = replace(situation, service=replace(situation.service, strategy=StrategyName.STATIC))
    other = replace(other, regions=())
    assert located(other, (), {}) is other


def test_what_is_in_force_counts_not_the_home() -> None:
    world = RegionalWorld(demand=DEMAND, shares={EVERYWHERE: {"dc-north": 0.5, "dc-south": 0.5}})
    # A service that had one split for all keeps it until its strategy moves.
    assert [region.shares for region in world.situation().regions] == [(0.5, 0.5, 0.0)] * 4
    world.shares["north"] = {"dc-gone": 1.0}
    assert world.situation().regions[0].shares == (1.0, 0.0, 0.0)


def test_a_region_whose_center_has_no_endpoints_is_served_by_the_others() -> None:
    world = RegionalWorld(demand=DEMAND)
    world.measure()
    world.decide()
    without_endpoints(world, "north")
    north = world.situation().regions[0]
    assert north.shares[0] == 0.0
    assert sum(north.shares) == pytest.approx(1.0)


def test_two_centers_of_a_region_share_it_by_capacity() -> None:
    centers = (center("north", 100.0), center("north", 50.0), center("south", 60.0))
    homes = [region.home for region in RegionalWorld({}, centers=centers).situation().regions]
    assert homes[0] == pytest.approx((2 / 3, 1 / 3, 0.0))


@pytest.mark.parametrize(
    ("groups", "sending"),
    [
        ((), {"north", "south", "west"}),
        (("north", "south"), {"north", "south"}),
        ((None, "north"), {"north", EVERYWHERE}),
        (("mars",), {EVERYWHERE}),
    ],
)
def test_regions_send_where_gateways_are(groups: tuple[str | None, ...], sending: set[str]) -> None:
    gateways = tuple(GatewayGroup(name=str(at), region=name) for at, name in enumerate(groups))
    found = RegionalWorld({}, gateways=gateways).situation().regions
    weights = {region.name: region.weight for region in found}
    # Without a sample they count alike.
    assert weights == {
        name: pytest.approx(1 / len(sending) if name in sending else 0.0) for name in weights
    }


def test_samples_of_before_the_last_move_tell_nothing() -> None:
    world = RegionalWorld(demand=DEMAND)
    for _ in range(4):
        world.measure()
    situation: Situation = world.situation()
    north = situation.centers[0]
    assert len(since_move(situation, north)) == 4
    moved = replace(situation, moved_s=situation.now_s - 1.5 * PERIOD_S)
    assert len(since_move(moved, north)) == 1
    silent = replace(situation, window=ServiceWindow(service="stations"))
    assert since_move(silent, north) == ()


def test_loads_that_no_demand_explains_are_all_somebodys() -> None:
    rows = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
    found = demand(rows, np.array([10.0, 90.0, 30.0]))
    assert found.sum() == pytest.approx(130.0)
    assert 0.0 < found[0] < found[1]
