from dataclasses import replace

import pytest

from controlplane.domain.services import Service, StrategyName
from controlplane.domain.suspicion.fleets import FleetDoubt, doubt_of
from controlplane.domain.suspicion.limits import SuspicionLimits, scaled
from controlplane.domain.topology import Datacenter, Fleet, Pool, Role
from tests.builders import fleet, service

LIMITS = SuspicionLimits()
EVEN = {"tickets": {"beijing-1": 0.5, "beijing-2": 0.5}}


def _doubt(before: Fleet, after: Fleet, shares: object = EVEN) -> FleetDoubt | None:
    return doubt_of(before, after, shares, LIMITS)  # type: ignore[arg-type]


def _strategy(strategy: StrategyName, *static: tuple[str, float]) -> Service:
    return replace(service(), strategy=strategy, static_shares=static)


def _without_endpoints(one: Service, datacenter: str) -> Service:
    clusters = (replace(c, endpoints=()) if c.datacenter == datacenter else c for c in one.clusters)
    return replace(one, clusters=tuple(clusters))


def test_a_small_change_is_trusted() -> None:
    services = [service(f"s{index}") for index in range(10)]
    assert _doubt(fleet(*services), fleet(*services[:7], service("new"))) is None
    assert _doubt(fleet(), fleet()) is None


@pytest.mark.parametrize("kept", [0, 1])
def test_an_empty_fleet_or_a_tenth_of_it_is_doubted(kept: int) -> None:
    services = [service(f"s{index}") for index in range(10)]
    doubt = _doubt(fleet(*services), replace(fleet(), services=tuple(services[:kept]), routes=()))
    assert doubt is not None
    assert doubt.code == "mass_removal"
    assert f"removes {10 - kept} of 10 services" in doubt.message
    assert len(doubt.items) == 10 - kept


def test_a_pool_is_a_kind_of_its_own() -> None:
    pools = (Pool(name="big", datacenter="beijing-1", capacity_rps=80.0),)
    doubt = _doubt(replace(fleet(), pools=pools), fleet())
    assert doubt is not None
    assert doubt.items == ("big",)


def test_taking_a_centers_endpoints_moves_its_traffic() -> None:
    hybrid = service(strategy=StrategyName.HYBRID)
    ten = [replace(hybrid, name=f"s{index}") for index in range(10)]
    shares = {one.name: {"beijing-1": 0.6, "beijing-2": 0.4} for one in ten}
    few = [_without_endpoints(one, "beijing-2") for one in ten[:2]]
    assert _doubt(fleet(*ten), fleet(*few, *ten[2:]), shares) is None
    # Five of ten services would move 60 % each, by less than a third of all endpoints.
    many = [_without_endpoints(one, "beijing-1") for one in ten[:6]]
    doubt = doubt_of(fleet(*ten), fleet(*many, *ten[6:]), shares, replace(LIMITS, most_removed=0.5))
    assert doubt is not None
    assert (doubt.code, doubt.limit) == ("mass_move", 0.3)
    assert "moves 36% of the traffic" in doubt.message
    assert doubt.items[0] == "s0 60%"


def test_taking_a_joined_reserves_endpoints_moves_its_traffic() -> None:
    hybrid = service(strategy=StrategyName.HYBRID)
    first, second = hybrid.clusters
    one = replace(hybrid, clusters=(first, second, replace(second, datacenter="tianjin")))
    reserve = Datacenter(name="tianjin", role=Role.DISASTER_RECOVERY, region="north")
    before = replace(fleet(one), datacenters=(*fleet().datacenters, reserve))
    gone = replace(before, services=(_without_endpoints(one, "tianjin"),))
    standing = {"tickets": {"beijing-1": 0.6, "beijing-2": 0.4, "tianjin": 0.0}}
    joined = {"tickets": {"beijing-1": 0.3, "beijing-2": 0.3, "tianjin": 0.4}}
    limits = replace(LIMITS, most_removed=0.9)
    assert doubt_of(before, gone, standing, limits) is None
    doubt = doubt_of(before, gone, joined, limits)
    assert doubt is not None
    assert (doubt.code, doubt.items) == ("mass_move", ("tickets 40%",))


def test_a_role_that_bears_no_traffic_moves_it() -> None:
    hybrid = fleet(service(strategy=StrategyName.HYBRID))
    centers = (hybrid.datacenters[0], replace(hybrid.datacenters[1], role=Role.CLOUD))
    doubt = _doubt(hybrid, replace(hybrid, datacenters=centers))
    assert doubt is not None
    assert doubt.code == "mass_move"
    # Back again: nothing but the fallback is in force at a data centre that had no traffic.
    alone = {"tickets": {"beijing-1": 1.0}}
    assert _doubt(replace(hybrid, datacenters=centers), hybrid, alone) is None


def test_declared_shares_move_traffic_too() -> None:
    before = fleet(_strategy(StrategyName.STATIC, ("beijing-1", 0.8), ("beijing-2", 0.2)))
    near = fleet(_strategy(StrategyName.STATIC, ("beijing-1", 0.6), ("beijing-2", 0.4)))
    far = fleet(_strategy(StrategyName.STATIC, ("beijing-1", 0.2), ("beijing-2", 0.8)))
    assert _doubt(before, near, {}) is None
    doubt = _doubt(before, far, {})
    assert doubt is not None
    assert doubt.code == "mass_move"
    by_capacity = fleet(_strategy(StrategyName.CAPACITY))
    assert _doubt(before, by_capacity, {}) is None


def test_a_service_without_endpoints_has_no_traffic_to_move() -> None:
    none = _without_endpoints(_without_endpoints(service(), "beijing-1"), "beijing-2")
    assert _doubt(fleet(none), fleet(none)) is None


def test_the_memory_scales() -> None:
    assert scaled(LIMITS, 0.5).memory_s == 1_800.0
