"""What weights, standbys and versions mean, and who serves while some are out."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.domain.instances.placement import (
    SITE_PARTS,
    Instance,
    Placement,
    Site,
    placement,
    versions,
)
from controlplane.domain.instances.serving import Group, serving
from controlplane.domain.services import AllDown, HealthCheck, LoadBalancing, RetryPolicy
from controlplane.domain.snapshot import CenterEndpoints, ServiceEndpoints


def cluster(center: str, name: str, *ports: int, **more: object) -> CenterEndpoints:
    return CenterEndpoints(
        datacenter=center,
        region="r",
        cluster=name,
        addresses=tuple(("127.0.0.1", port) for port in ports),
        **more,  # type: ignore[arg-type]
    )


def service(*centers: CenterEndpoints) -> ServiceEndpoints:
    return ServiceEndpoints(
        service="tickets",
        load_balancing=LoadBalancing.ROUND_ROBIN,
        health_check=HealthCheck(),
        retry=RetryPolicy(),
        timeout_ms=1_000,
        centers=centers,
    )


TWO = service(
    cluster("east", "a", 1, 2, weight=300),
    cluster("east", "b", 3, weight=100),
    cluster("east", "spare", 4, 5, standby=True),
    cluster("west", "", 6, 7),
)
HALVES = {"east": 5_000, "west": 5_000}


def ports(site: Site) -> list[int]:
    return [one.port for one in site.instances]


def shape(placed: Placement) -> list[list[list[int]]]:
    return [[ports(site) for site in tier] for tier in placed.tiers]


def test_clusters_of_a_data_centre_share_by_weight_and_their_standby_is_behind() -> None:
    placed = placement(TWO, HALVES)
    assert shape(placed) == [[[1, 2, 3], [6, 7]], [[4, 5]]]
    assert placed.bearing[0].ratio == (3, 3, 2)
    assert placed.bearing[1].ratio == (1, 1)
    assert [site.weight for site in placed.tiers[1]] == [5_000]


def test_a_data_centre_without_traffic_is_behind_with_its_standby() -> None:
    assert shape(placement(TWO, {"west": 10_000})) == [[[6, 7]], [[1, 2, 3]], [[4, 5]]]
    assert shape(placement(TWO, {})) == [[[1, 2, 3]], [[6, 7]], [[4, 5]]]


def test_one_version_has_its_own_addresses() -> None:
    mixed = service(cluster("east", "", 1, 2, 3, versions=("v1", "v2", "")), cluster("west", "", 4))
    assert versions(mixed) == ("v1", "v2")
    assert shape(placement(mixed, HALVES, "v2")) == [[[2]]]
    assert shape(placement(mixed, {"west": 10_000}, "v1")) == [[[1]]]
    assert placement(mixed, HALVES, "v9").tiers == ()
    assert versions(TWO) == ()


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 1_000), st.integers(1, 40)), min_size=1, max_size=5))
def test_parts_are_those_of_the_weights(clusters: list[tuple[int, int]]) -> None:
    made = service(
        *(
            cluster("east", f"c{i}", *range(1, count + 1), weight=weight)
            for i, (weight, count) in enumerate(clusters)
        )
    )
    (site,) = placement(made, {"east": 10_000}).bearing
    total = sum(weight for weight, _ in clusters)
    for index, (weight, _) in enumerate(clusters):
        own = [
            p
            for one, p in zip(site.instances, site.parts, strict=True)
            if one.cluster == f"c{index}"
        ]
        assert abs(Fraction(sum(own), SITE_PARTS) - Fraction(weight, total)) < Fraction(1, 10_000)
        assert min(own) >= 1


def test_names_are_those_of_urls() -> None:
    assert Instance(address="10.0.0.1", port=80, datacenter="d").name == "10.0.0.1:80"
    assert Instance(address="::1", port=80, datacenter="d").name == "[::1]:80"


def out(*numbers: int) -> frozenset[str]:
    return frozenset(f"127.0.0.1:{port}" for port in numbers)


def part(groups: tuple[Group, ...]) -> dict[str, float]:
    total = sum(group.weight for group in groups)
    return {group.name: group.weight / total for group in groups}


@pytest.mark.parametrize(
    ("missing", "parts"),
    [
        ((), {"east": 0.5, "west": 0.5}),
        # A quarter of east's traffic had been on cluster b; its standby takes just that.
        ((3,), {"east": 0.375, "east standby": 0.125, "west": 0.5}),
        ((1, 2, 3), {"east standby": 0.5, "west": 0.5}),
        ((4, 5), {"east": 0.5, "west": 0.5}),
        ((3, 4, 5), {"east": 0.5, "west": 0.5}),
        # Without a standby the other data centre helps when little is left.
        ((6,), {"east": 0.5 / 0.85, "west": 0.35 / 0.85}),
        ((6, 7), {"east": 1.0}),
        ((1, 2, 3, 4, 5), {"west": 1.0}),
        ((1, 2, 3, 6, 7), {"east standby": 1.0}),
    ],
)
def test_who_serves(missing: tuple[int, ...], parts: dict[str, float]) -> None:
    assert part(serving(placement(TWO, HALVES), out(*missing))) == pytest.approx(parts, abs=1e-6)


def test_members_are_those_that_are_well() -> None:
    (east, west) = serving(placement(TWO, HALVES), out(1, 4, 5))
    assert east.members == (("127.0.0.1:2", 3), ("127.0.0.1:3", 2))
    assert west.members == (("127.0.0.1:6", 1), ("127.0.0.1:7", 1))


def test_idle_data_centres_come_when_nobody_else_can() -> None:
    placed = placement(TWO, {"west": 10_000})
    assert part(serving(placed, out(6, 7))) == {"east": 1.0}
    assert part(serving(placed, out(6, 7, 1, 2, 3))) == {"east": 1.0}
    assert serving(placed, out(6, 7, 1, 2, 3))[0].members[0][0] == "127.0.0.1:4"


def test_when_all_are_out_all_are_tried() -> None:
    placed = placement(TWO, HALVES)
    assert serving(placed, out(1, 2, 3, 4, 5, 6, 7)) == serving(placed, ())
    assert serving(Placement(), ()) == serving(Placement(), out(1)) == ()


def at(*numbers: int) -> tuple[tuple[str, int], ...]:
    return tuple(("127.0.0.1", port) for port in numbers)


def test_who_is_out_by_the_configuration_serves_only_when_nobody_else_can() -> None:
    east, west = cluster("east", "", 1, 2, 3, out=at(2)), cluster("west", "", 6)
    placed = placement(service(east, west), HALVES)
    assert placed.out == out(2)
    assert [group.members for group in serving(placed, ())] == [
        (("127.0.0.1:1", 1), ("127.0.0.1:3", 1)),
        (("127.0.0.1:6", 1),),
    ]
    # Those that the client itself finds to be out are worse than those that it is told of.
    assert part(serving(placed, out(1, 3, 6))) == {"east": 1.0}
    assert part(serving(placed, out(1, 2, 3, 6))) == pytest.approx({"east": 0.5, "west": 0.5})


def test_nobody_is_tried_where_the_service_is_closed_when_all_are_down() -> None:
    closed = replace(service(cluster("east", "", 1)), all_down=AllDown.CLOSED)
    placed = placement(closed, {"east": 10_000})
    assert part(serving(placed, ())) == {"east": 1.0}
    assert serving(placed, out(1)) == ()


def test_what_drains_stands_beside_all_tiers_and_bears_nothing() -> None:
    east, west = cluster("east", "", 1, 2, draining=at(1)), cluster("west", "", 6, draining=at(6))
    placed = placement(service(east, west), HALVES)
    assert shape(placed) == [[[2]]]
    assert [(site.datacenter, ports(site)) for site in placed.draining] == [
        ("east", [1]),
        ("west", [6]),
    ]
    assert part(serving(placed, out(2))) == {"east": 1.0}
