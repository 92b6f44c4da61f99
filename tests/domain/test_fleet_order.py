"""The order of a fleet does not depend on the order of input."""

from dataclasses import replace

from controlplane.domain.admission.agent_door import AgentDoor
from controlplane.domain.fleet_order import normalized
from controlplane.domain.routing.life.release import Life, Release
from controlplane.domain.routing.route import (
    Condition,
    FunctionCall,
    HeaderChanges,
    Route,
    RouteCheck,
)
from controlplane.domain.services import Endpoint
from controlplane.domain.topology import Datacenter, Fleet, GatewayGroup, Pool, Role
from tests.builders import cluster, fleet, service


def test_data_centers_go_by_role_then_name() -> None:
    centers = tuple(
        Datacenter(name=name, role=role, region="north")
        for name, role in (
            ("z-cloud", Role.CLOUD),
            ("b-city", Role.SAME_CITY),
            ("a-city", Role.SAME_CITY),
            ("y-recovery", Role.DISASTER_RECOVERY),
            ("c-main", Role.PRIMARY),
        )
    )
    ordered = normalized(Fleet(datacenters=centers))
    assert [center.name for center in ordered.datacenters] == [
        "c-main",
        "a-city",
        "b-city",
        "y-recovery",
        "z-cloud",
    ]


def test_the_declared_order_of_joining_goes_before_the_name() -> None:
    centers = tuple(
        Datacenter(name=name, role=Role.CLOUD, region="north", join_order=order)
        for name, order in (("a", 2), ("b", 0), ("c", 0), ("d", 1))
    )
    ordered = normalized(Fleet(datacenters=centers))
    assert [center.name for center in ordered.datacenters] == ["b", "c", "d", "a"]


def test_everything_is_in_canonical_order() -> None:
    shuffled = replace(
        service("b"),
        clusters=(
            cluster("unknown", 1.0, range(1)),
            replace(
                cluster("beijing-2", 50.0, range(0)),
                endpoints=(
                    Endpoint(address="b", port=1),
                    Endpoint(address="a", port=2),
                    Endpoint(address="a", port=1),
                ),
            ),
            cluster("beijing-1", 80.0, range(9001, 9003)),
        ),
        static_shares=(("beijing-2", 0.4), ("beijing-1", 0.6)),
    )
    facts = replace(
        fleet(shuffled, service("a")),
        pools=tuple(
            Pool(name=name, datacenter="beijing-1", capacity_rps=1.0) for name in ("q", "p")
        ),
        gateways=(GatewayGroup(name="z"), GatewayGroup(name="a")),
        routes=(Route(id="2", service="a"), Route(id="1", service="b")),
    )
    ordered = normalized(facts)
    assert [s.name for s in ordered.services] == ["a", "b"]
    assert [p.name for p in ordered.pools] == ["p", "q"]
    assert [g.name for g in ordered.gateways] == ["a", "z"]
    assert [r.id for r in ordered.routes] == ["1", "2"]
    clusters = ordered.service("b").clusters
    assert [c.datacenter for c in clusters] == ["beijing-1", "beijing-2", "unknown"]
    assert [(e.address, e.port) for e in clusters[1].endpoints] == [("a", 1), ("a", 2), ("b", 1)]
    assert ordered.service("b").static_shares == (("beijing-1", 0.6), ("beijing-2", 0.4))
    assert normalized(ordered) == ordered


def test_clusters_of_one_data_center_go_by_name_and_standbys_last() -> None:
    one = service()
    own, other = one.clusters
    names = [("b", False), ("a", True), ("a", False)]
    mixed = [replace(own, name=name, standby=standby) for name, standby in names]
    ordered = normalized(fleet(replace(one, clusters=(other, *mixed)))).services[0].clusters
    assert [(c.datacenter, c.name, c.standby) for c in ordered] == [
        ("beijing-1", "a", False),
        ("beijing-1", "b", False),
        ("beijing-1", "a", True),
        ("beijing-2", "", False),
    ]


def test_what_has_no_order_in_a_route_is_put_in_order() -> None:
    mixed = Route(
        id="r",
        hosts=("b", "a"),
        methods=("PUT", "GET"),
        conditions=(Condition(name="b", value="x"), Condition(name="a", value="x")),
        functions=(FunctionCall(name="f", arguments=(("b", "1"), ("a", "2"))),),
        request_headers=HeaderChanges(set=(("b", "1"), ("a", "2")), remove=("d", "c")),
        labels=(("b", "1"), ("a", "2")),
        checks=(RouteCheck(path="/", headers=(("b", "1"), ("a", "2"))),),
    )
    release = Release(route=mixed, life=Life.DRAFT, author="me", changed_s=0.0)
    found = normalized(Fleet(routes=(mixed,), releases=(release,)))
    (route,) = found.routes
    assert route == found.releases[0].route
    assert (route.hosts, route.methods) == (("a", "b"), ("GET", "PUT"))
    assert [one.name for one in route.conditions] == ["a", "b"]
    assert route.functions[0].arguments == route.labels == (("a", "2"), ("b", "1"))
    assert route.request_headers == HeaderChanges(set=(("a", "2"), ("b", "1")), remove=("c", "d"))
    assert route.checks[0].headers == (("a", "2"), ("b", "1"))
    assert normalized(found) == found


def test_the_order_in_which_headers_of_an_agent_stand_says_nothing() -> None:
    def told(*headers: str) -> Fleet:
        agent = AgentDoor(headers=headers)
        return normalized(Fleet(gateways=(GatewayGroup(name="edge", agent=agent),)))

    assert told("x-b", "x-a") == told("x-a", "x-b")
