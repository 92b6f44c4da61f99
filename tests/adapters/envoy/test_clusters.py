"""Several clusters, standbys, versions and ways of choosing, without an Envoy."""

from dataclasses import replace

import pytest
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.core.v3.health_check_pb2 import DEGRADED, DRAINING, UNHEALTHY, UNKNOWN
from envoy.config.endpoint.v3 import endpoint_pb2

from controlplane.adapters.envoy import clusters
from controlplane.adapters.envoy.render import Renderer
from controlplane.domain.services import (
    AllDown,
    CheckKind,
    Cluster,
    Endpoint,
    LoadBalancing,
    Service,
    StickyMode,
)
from controlplane.domain.snapshot import ServiceEndpoints
from tests.adapters.envoy.site import SMALL, service, snapshot

HALVES = {"east": 5_000, "west": 5_000}


def named(name: str, *ports: int, version: str = "", **more: object) -> Cluster:
    return Cluster(
        datacenter="east",
        name=name,
        capacity_rps=10.0,
        endpoints=tuple(Endpoint(address="127.0.0.1", port=p, version=version) for p in ports),
        **more,  # type: ignore[arg-type]
    )


def split(*own: Cluster) -> Service:
    web = service("web", [1], [8, 9])
    return replace(web, clusters=(*own, web.clusters[1]))


def endpoints(declared: Service) -> ServiceEndpoints:
    found = snapshot(replace(SMALL, services=(declared,), routes=()), 1)
    return found.content.endpoints.services[0]


Row = tuple[int, str, int, list[int], list[int]]


def rows(made: endpoint_pb2.ClusterLoadAssignment | None) -> list[Row]:
    """Priority, place, weight, ports and weights of each locality."""
    assert made is not None
    return [
        (
            each.priority,
            f"{each.locality.zone} {each.locality.sub_zone}".strip(),
            each.load_balancing_weight.value,
            [one.endpoint.address.socket_address.port_value for one in each.lb_endpoints],
            [one.load_balancing_weight.value for one in each.lb_endpoints],
        )
        for each in made.endpoints
    ]


def test_clusters_of_one_data_centre_are_localities_with_its_weight_between_them() -> None:
    both = endpoints(split(named("a", 1, 2, weight=300), named("b", 3)))
    made = clusters.assignment(both, {"east": 8_000, "west": 2_000})
    assert rows(made) == [
        (0, "east a", 60_000_000, [1, 2], [0, 0]),
        (0, "east b", 20_000_000, [3], [0]),
        (0, "west", 20_000_000, [8, 9], [0, 0]),
    ]
    assert made is not None
    assert not made.HasField("policy")


def test_a_standby_is_behind_those_that_bear_traffic_and_takes_no_more_than_is_missing() -> None:
    own = endpoints(split(named("a", 1, 2), named("spare", 3, standby=True)))
    made = clusters.assignment(own, {"east": 8_000, "west": 2_000})
    assert rows(made) == [
        (0, "east", 8_000, [1, 2], [40_000_000, 40_000_000]),
        (0, "west", 2_000, [8, 9], [10_000_000, 10_000_000]),
        (1, "east", 8_000, [3], [80_000_000]),
    ]
    assert made is not None
    assert made.policy.overprovisioning_factor.value == 100
    assert made.policy.weighted_priority_health
    idle = clusters.assignment(own, {"west": 10_000})
    assert [row[:2] for row in rows(idle)] == [(0, "west"), (1, "east"), (2, "east")]
    assert idle is not None
    assert not idle.HasField("policy")


def test_a_version_is_a_cluster_with_its_endpoints_wherever_they_are() -> None:
    declared = split(named("a", 1, 2, version="v1"), named("b", 3, version="v2"))
    both = endpoints(declared)
    name = clusters.cluster_name("web", "v2")
    assert clusters.cluster(both, "v2").name == name == "web:v2"
    assert rows(clusters.assignment(both, HALVES, "v2")) == [(0, "east", 5_000, [3], [0])]
    assert rows(clusters.assignment(both, {"west": 10_000}, "v2")) == [(0, "east", 1, [3], [0])]
    assert clusters.assignment(both, {}, "*") is None
    assert clusters.assignment(both, HALVES, "v3") is None
    parts = Renderer().render(snapshot(replace(SMALL, services=(declared,), routes=()), 1)).parts
    assert [part for part, _ in parts if part.startswith(("cluster", "endpoint"))] == [
        *("cluster/web", "cluster/web:v1", "cluster/web:v2"),
        *("endpoint/web", "endpoint/web:v1", "endpoint/web:v2"),
    ]


@pytest.mark.parametrize(
    ("balancing", "policy", "bound"),
    [
        (LoadBalancing.MAGLEV, cluster_pb2.Cluster.MAGLEV, 0),
        (LoadBalancing.BOUNDED_HASH, cluster_pb2.Cluster.MAGLEV, 125),
        (LoadBalancing.ROUND_ROBIN, cluster_pb2.Cluster.ROUND_ROBIN, 0),
        (LoadBalancing.LEAST_CONNECTIONS, cluster_pb2.Cluster.LEAST_REQUEST, 0),
    ],
)
def test_ways_of_choosing(balancing: LoadBalancing, policy: int, bound: int) -> None:
    made = clusters.cluster(replace(endpoints(split(named("a", 1))), load_balancing=balancing))
    assert made.lb_policy == policy
    hashing = made.common_lb_config.consistent_hashing_lb_config
    assert hashing.hash_balance_factor.value == bound


def statuses(made: endpoint_pb2.ClusterLoadAssignment | None) -> list[tuple[int, str, list[int]]]:
    """Priority, data centre and health of the endpoints of each locality."""
    assert made is not None
    return [
        (each.priority, each.locality.zone, [one.health_status for one in each.lb_endpoints])
        for each in made.endpoints
    ]


def away(declared: ServiceEndpoints, center: str, **more: int) -> ServiceEndpoints:
    """The service with endpoints of a data centre that are `out` or `draining`, by port."""
    changes = {name: (("127.0.0.1", port),) for name, port in more.items()}
    return replace(
        declared,
        centers=tuple(
            replace(c, **changes) if c.datacenter == center else c  # type: ignore[arg-type]
            for c in declared.centers
        ),
    )


def test_an_endpoint_that_health_takes_out_is_unhealthy_for_every_envoy() -> None:
    made = clusters.assignment(away(endpoints(service("web", [1, 2], [8])), "east", out=2), HALVES)
    assert statuses(made) == [(0, "east", [UNKNOWN, UNHEALTHY]), (0, "west", [UNKNOWN])]


def test_what_drains_is_a_priority_of_its_own_so_that_nobody_takes_its_part() -> None:
    web = away(endpoints(service("web", [1, 2], [8])), "east", draining=2)
    made = clusters.assignment(web, {"east": 10_000})
    assert statuses(made) == [
        (0, "east", [UNKNOWN]),
        (1, "west", [UNKNOWN]),
        (2, "east", [DRAINING]),
    ]
    assert rows(made)[2][3] == [2]


def test_sessions_are_not_kept_at_weight_0() -> None:
    web = replace(endpoints(service("web", [1], [8])), stickiness=StickyMode.SESSION)
    made = clusters.assignment(web, {"west": 10_000})
    assert statuses(made) == [(0, "west", [UNKNOWN]), (1, "east", [DEGRADED])]


@pytest.mark.parametrize(
    ("policy", "percent"), [(AllDown.HOLD, 1), (AllDown.OPEN, 1), (AllDown.CLOSED, 0)]
)
def test_when_all_are_down_the_policy_says_whether_they_are_asked(
    policy: AllDown, percent: int
) -> None:
    web = replace(endpoints(service("web", [1], [8])), all_down=policy)
    assert clusters.cluster(web).common_lb_config.healthy_panic_threshold.value == percent


def test_gateways_check_by_http_or_tcp_and_run_no_commands() -> None:
    web = endpoints(service("web", [1], [8]))
    (check,) = clusters.cluster(web).health_checks
    assert check.http_health_check.path == "/healthz"
    by_tcp = replace(web, health_check=replace(web.health_check, kind=CheckKind.TCP))
    (check,) = clusters.cluster(by_tcp).health_checks
    assert check.HasField("tcp_health_check")
    told = replace(web, health_check=replace(web.health_check, kind=CheckKind.COMMAND))
    assert not clusters.cluster(told).health_checks
