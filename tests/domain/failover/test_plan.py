"""Plans: room, pools in declared order, classes, and numbers that add up."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.domain.failover.demand import Bearer, Demand
from controlplane.domain.failover.plan import Plan, Verdict, plan


def demand(name: str, rate_rps: float | None, *bearers: Bearer, rank: int = 0) -> Demand:
    return Demand(service=name, rank=rank, rate_rps=rate_rps, bearers=bearers)


def east(share: float = 0.6, **values: object) -> Bearer:
    return Bearer(datacenter="east", pool="east/p", share=share, leaving=True, **values)  # type: ignore[arg-type]


def west(share: float = 0.4, **values: object) -> Bearer:
    return Bearer(datacenter="west", pool="west/p", share=share, **values)  # type: ignore[arg-type]


def reserve(name: str, tier: int, **values: object) -> Bearer:
    return Bearer(datacenter=name, pool=f"{name}/p", tier=tier, **values)  # type: ignore[arg-type]


CAPACITIES = {"east/p": 100.0, "west/p": 100.0, "dr/p": 50.0, "cloud/p": 50.0}


def after(made: Plan, datacenter: str) -> float:
    return next(one.after for one in made.pools if one.datacenter == datacenter)


def test_with_room_it_goes() -> None:
    made = plan([demand("shop", 60.0, east(), west())], CAPACITIES)
    assert made.verdict is Verdict.GO
    assert made.inflow("shop") == {"west": 1.0}
    assert made.inflow("nothing") == {}
    assert (after(made, "west"), after(made, "east")) == (0.6, 0.0)
    (one,) = made.allocations
    assert (one.moved_share, one.admitted_rps) == (0.6, None)
    assert next(p.before for p in made.pools if p.datacenter == "east") == pytest.approx(0.36)


def test_without_room_admission_comes_first() -> None:
    made = plan([demand("shop", 140.0, east(), west())], CAPACITIES)
    assert made.verdict is Verdict.ADMIT_FIRST
    (one,) = made.allocations
    assert one.admitted_rps == pytest.approx(85.0)
    assert after(made, "west") == pytest.approx(1.4)


def test_nobody_left_is_nowhere() -> None:
    alone = plan([demand("shop", 60.0, east(1.0))], CAPACITIES)
    assert (alone.verdict, alone.nowhere) == (Verdict.NOWHERE, ("shop",))
    down = plan([demand("shop", 60.0, east(), west(usable=False))], CAPACITIES)
    assert down.verdict is Verdict.NOWHERE


def test_reserves_join_in_their_order_as_far_as_they_are_needed() -> None:
    bearers = (east(), west(), reserve("dr", 1), reserve("cloud", 2))
    little = plan([demand("shop", 80.0, *bearers)], CAPACITIES)
    assert (little.joining, little.verdict) == ((), Verdict.GO)
    more = plan([demand("shop", 120.0, *bearers)], CAPACITIES)
    assert more.joining == ("dr",)
    assert more.inflow("shop") == pytest.approx({"west": 37.0 / 72.0, "dr": 35.0 / 72.0})
    most = plan([demand("shop", 160.0, *bearers)], CAPACITIES)
    assert most.joining == ("dr", "cloud")
    assert most.verdict is Verdict.GO


def test_an_idle_active_one_comes_before_reserves() -> None:
    bearers = (east(1.0), west(0.0), reserve("dr", 1))
    made = plan([demand("shop", 60.0, *bearers)], CAPACITIES)
    assert made.inflow("shop") == {"west": 1.0}
    assert made.joining == ("west",)


def test_the_lower_class_gives_way() -> None:
    critical = demand("pay", 100.0, east(), west(), rank=0)
    other = demand("read", 60.0, east(0.0), west(1.0), rank=2)
    made = plan([other, critical], CAPACITIES)
    by_name = {one.service: one for one in made.allocations}
    assert by_name["pay"].admitted_rps == pytest.approx(85.0)
    assert by_name["read"].admitted_rps == pytest.approx(0.0)
    assert made.verdict is Verdict.ADMIT_FIRST


def test_what_a_lower_class_has_moved_gives_way_first() -> None:
    critical = demand("pay", 80.0, east(1.0), west(0.0), rank=0)
    other = demand("read", 50.0, east(0.6), west(0.4), rank=1)
    made = plan([critical, other], CAPACITIES)
    by_name = {one.service: one for one in made.allocations}
    assert by_name["pay"].admitted_rps is None
    assert by_name["read"].admitted_rps == pytest.approx(5.0)


def test_equals_do_not_press_each_other() -> None:
    one = demand("a", 100.0, east(1.0), west(0.0), rank=1)
    two = demand("b", 50.0, east(0.0), west(1.0), rank=1)
    made = plan([one, two], CAPACITIES)
    by_name = {each.service: each for each in made.allocations}
    assert by_name["a"].admitted_rps == pytest.approx(35.0)
    assert by_name["b"].admitted_rps is None


def test_without_a_rate_it_goes_and_the_use_is_unknown() -> None:
    made = plan([demand("shop", None, east(), west(), reserve("dr", 1))], CAPACITIES)
    assert made.verdict is Verdict.GO
    assert made.inflow("shop") == {"west": 1.0}
    assert math.isnan(after(made, "west"))
    assert after(made, "dr") == 0.0


def test_the_cost_of_a_request_counts() -> None:
    made = plan([demand("shop", 60.0, east(cost=2.0), west(cost=2.0))], CAPACITIES)
    (one,) = made.allocations
    assert one.admitted_rps == pytest.approx(42.5)


def test_a_request_may_cost_less_where_it_goes() -> None:
    made = plan([demand("shop", 60.0, east(cost=2.0), west())], CAPACITIES)
    assert made.verdict is Verdict.GO
    assert after(made, "west") == pytest.approx(0.6)


def test_a_request_may_cost_more_where_it_goes() -> None:
    made = plan([demand("shop", 60.0, east(), west(cost=2.0))], CAPACITIES)
    (one,) = made.allocations
    assert one.admitted_rps == pytest.approx(42.5)
    assert after(made, "west") == pytest.approx(1.2)


def test_who_gives_way_is_counted_by_its_own_cost() -> None:
    critical = demand("pay", 50.0, east(), west(), rank=0)
    other = demand("read", 30.0, east(0.0), west(1.0, cost=2.0), rank=1)
    made = plan([critical, other], CAPACITIES)
    by_name = {one.service: one for one in made.allocations}
    assert by_name["pay"].admitted_rps is None
    assert by_name["read"].admitted_rps == pytest.approx(17.5)


def test_a_pool_that_was_over_its_ceiling_before_is_no_matter_of_the_plan() -> None:
    made = plan([demand("shop", 95.0, east(0.0), west(1.0))], CAPACITIES)
    assert made.verdict is Verdict.GO


shares = st.lists(st.floats(0.0, 1.0), min_size=3, max_size=3).filter(lambda s: sum(s) > 0.01)


@settings(deadline=None)
@given(
    rates=st.lists(st.floats(0.0, 300.0), min_size=1, max_size=4),
    split=shares,
    ranks=st.lists(st.integers(0, 2), min_size=4, max_size=4),
)
def test_nobody_is_admitted_above_the_ceiling(
    rates: list[float], split: list[float], ranks: list[int]
) -> None:
    total = sum(split)
    east_, west_, dr = (part / total for part in split)
    demands = [
        demand(f"s{i}", rate, east(east_), west(west_), reserve("dr", 1, share=dr), rank=ranks[i])
        for i, rate in enumerate(rates)
    ]
    made = plan(demands, CAPACITIES)
    staying = math.fsum(rate * (west_ + dr) for rate in rates)
    admitted = math.fsum(
        rate if one.admitted_rps is None else one.admitted_rps
        for rate, one in zip(rates, made.allocations, strict=True)
    )
    assert admitted <= max(0.85 * 150.0, staying) + 1e-6 or staying > 0.85 * 50.0
    for one in made.allocations:
        if one.moved_share > 0:
            assert math.fsum(one.inflow.values()) == pytest.approx(1.0)
        if one.admitted_rps is not None and one.rate_rps is not None:
            assert -1e-6 <= one.admitted_rps <= one.rate_rps
