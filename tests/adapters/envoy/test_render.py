"""Snapshots as Envoy resources, without an Envoy."""

from dataclasses import replace
from pathlib import Path

import pytest
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.endpoint.v3 import endpoint_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_pb2
from google.protobuf import text_format

from controlplane.adapters.envoy import clusters, retries
from controlplane.adapters.envoy.render import Renderer
from controlplane.adapters.envoy.resource_sets import View, views
from controlplane.adapters.envoy.retirement import retiring
from controlplane.adapters.envoy.routing.configuration import EVERY_GROUP, compiled
from controlplane.domain.fleet_snapshot import build
from controlplane.domain.services import LoadBalancing, RetryPolicy
from controlplane.domain.snapshot import Content, Snapshot, assemble
from controlplane.domain.topology import GatewayGroup
from controlplane.domain.xds import ResourceType
from tests.adapters.envoy.site import SMALL, fleet, prefix, service, shuffled, snapshot
from tests.golden import assert_golden

GOLDEN = Path(__file__).parent / "golden"
MESSAGES = {
    "cluster": cluster_pb2.Cluster,
    "endpoint": endpoint_pb2.ClusterLoadAssignment,
    "listener": listener_pb2.Listener,
    "route": route_pb2.RouteConfiguration,
}


def test_the_order_of_input_never_shows() -> None:
    wanted = Renderer().render(snapshot(SMALL, 1)).parts
    for seed in range(100):
        assert Renderer().render(snapshot(shuffled(SMALL, seed), 1)).parts == wanted


def test_weights_change_endpoints_and_nothing_else() -> None:
    renderer = Renderer()
    before = dict(renderer.render(snapshot(SMALL, 1, 0.5)).parts)
    after = dict(renderer.render(snapshot(SMALL, 2, 0.7)).parts)
    assert {name for name in before if before[name] != after[name]} == {
        "endpoint/api",
        "endpoint/web",
    }
    assert before.keys() == after.keys()


@pytest.mark.parametrize("kind", MESSAGES)
def test_golden(kind: str) -> None:
    parts = Renderer().render(snapshot(SMALL, 1, 0.625)).parts
    text = "\n".join(
        f"# {name}\n{text_format.MessageToString(MESSAGES[kind].FromString(data))}"
        for name, data in parts
        if name.startswith(f"{kind}/")
    )
    assert_golden(GOLDEN / f"{kind}.txtpb", text)


def test_weights_are_localities_and_a_centre_at_zero_stands_behind() -> None:
    endpoints = snapshot(SMALL, 1).content.endpoints.services[1]
    made = clusters.assignment(endpoints, {"east": 10_000, "west": 0})
    assert made is not None
    seen = [(x.locality.zone, x.priority, x.load_balancing_weight.value) for x in made.endpoints]
    assert seen == [("east", 0, 10_000), ("west", 1, 1)]
    both = clusters.assignment(endpoints, {"east": 6_500, "west": 3_500})
    assert both is not None
    assert [(x.priority, x.load_balancing_weight.value) for x in both.endpoints] == [
        (0, 6_500),
        (0, 3_500),
    ]


def test_no_weight_at_all_is_a_note_and_no_assignment() -> None:
    whole = snapshot(SMALL, 1)
    weights = tuple(
        replace(w, weights={"east": 0, "west": 0}) if w.service == "api" else w
        for w in whole.content.weights.weights
    )
    content = replace(whole.content, weights=replace(whole.content.weights, weights=weights))
    artifact = Renderer().render(assemble(content))
    assert [note.code for note in artifact.notes] == ["assignment_without_weight"]
    names = {name for name, _ in artifact.parts}
    assert "endpoint/api" not in names
    assert "endpoint/web" in names


def _regional(revision: int, north: float, south: float) -> Snapshot:
    """Web has a split for each of two regions; groups of both, and one of neither."""
    declared = replace(
        SMALL,
        gateways=(
            GatewayGroup(name="edge"),
            GatewayGroup(name="edge-north", region="north"),
            GatewayGroup(name="edge-south", region="south"),
            GatewayGroup(name="edge-mars", region="mars"),
        ),
    )
    even = {"east": 0.5, "west": 0.5}
    regions = {
        "north": {"east": north, "west": 1 - north},
        "south": {"east": south, "west": 1 - south},
        "nobody": even,
    }
    made = build(declared, {"web": even, "api": even}, {"web": regions})
    return replace(made, revision=revision)


def _views(made: Snapshot) -> dict[str, View]:
    groups = made.content.routes.gateways
    regions = {group.name: group.region for group in groups if group.region}
    return views(Renderer().render(made).parts, {}, regions)


def _web_weights(view: View) -> list[tuple[str, int]]:
    data = view[ResourceType.ENDPOINT].resources["web"]
    found = endpoint_pb2.ClusterLoadAssignment.FromString(data)
    assert found.cluster_name == "web"
    return [(x.locality.zone, x.load_balancing_weight.value) for x in found.endpoints]


def test_groups_of_a_region_get_the_endpoints_of_that_region() -> None:
    found = _views(_regional(1, 1.0, 0.25))
    assert _web_weights(found["edge-north"]) == [("east", 10_000), ("west", 1)]
    assert _web_weights(found["edge-south"]) == [("east", 2_500), ("west", 7_500)]
    # Without a region, or in one that has no split of its own: the split of all others.
    assert _web_weights(found["edge"]) == [("east", 5_000), ("west", 5_000)]
    assert found["edge-mars"][ResourceType.ENDPOINT] is found["edge"][ResourceType.ENDPOINT]
    # A service with one split for all has it everywhere.
    endpoints = [view[ResourceType.ENDPOINT].resources["api"] for view in found.values()]
    assert len(set(endpoints)) == 1


def test_a_move_of_one_region_changes_the_endpoints_of_that_region_only() -> None:
    before = dict(Renderer().render(_regional(1, 1.0, 0.25)).parts)
    after = dict(Renderer().render(_regional(2, 0.8, 0.25)).parts)
    assert {name for name in before if before[name] != after[name]} == {"endpoint/web@north"}


def test_endpoints_of_a_region_go_with_the_weights() -> None:
    before = Renderer().render(_regional(1, 1.0, 0.25)).parts
    after = Renderer().render(snapshot(SMALL, 2)).parts
    assert [name for name, _ in retiring(before, after)] == []


def test_bad_routes_are_notes_and_the_rest_ships() -> None:
    declared = replace(
        SMALL,
        routes=(
            *SMALL.routes,
            prefix("lost", "nobody", "/lost"),
            prefix("zz-same", "web", "/api"),
        ),
    )
    artifact = Renderer().render(snapshot(declared, 1))
    assert {note.code for note in artifact.notes} == {"route_without_service", "route_shadowed"}
    assert (
        dict(artifact.parts)["route/rules"]
        == dict(Renderer().render(snapshot(SMALL, 1)).parts)["route/rules"]
    )


def test_the_table_is_small_below_100_endpoints() -> None:
    small = snapshot(SMALL, 1).content.endpoints.services[1]
    assert clusters.cluster(small).maglev_lb_config.table_size.value == clusters.SMALL_TABLE
    large = snapshot(fleet([service("big", range(9000, 9080), range(9100, 9130))], []), 1)
    assert not clusters.cluster(large.content.endpoints.services[0]).HasField("maglev_lb_config")


def test_round_robin_has_neither_hash_nor_cookie() -> None:
    plain = replace(SMALL.services[0], load_balancing=LoadBalancing.ROUND_ROBIN)
    made = snapshot(replace(SMALL, services=(plain,)), 1)
    service_made = made.content.endpoints.services[0]
    assert clusters.cluster(service_made).lb_policy == cluster_pb2.Cluster.ROUND_ROBIN
    parts = dict(Renderer().render(made).parts)
    assert b"signalbox_sid" not in parts["listener/edge"]
    assert b"signalbox_sid" not in parts["route/rules"]


def test_a_service_with_its_own_retries_says_them_itself() -> None:
    patient = replace(SMALL.services[1], retry=RetryPolicy(attempts=2, per_try_timeout_ms=1_500))
    declared = replace(SMALL, services=(SMALL.services[0], patient))
    content = snapshot(declared, 1).content
    (host,) = _table(content).virtual_hosts
    # Two of the three rules name the service with two attempts.
    assert host.retry_policy.num_retries.value == 2
    message = _table(content)
    assert retries.retry_policy(RetryPolicy()).SerializeToString(
        deterministic=True
    ) in message.SerializeToString(deterministic=True)


def test_writes_are_retried_only_while_nobody_has_seen_them() -> None:
    policy = retries.retry_policy(RetryPolicy())
    assert policy.retry_on == "connect-failure,refused-stream"
    assert policy.num_retries.value == 12
    # What reads may have beside it, their host says; a filter says it otherwise for the rest.
    said = retries.retry_header().header
    assert (said.key, said.value) == (
        "x-envoy-retry-on",
        "reset-before-request,reset,gateway-error",
    )
    unseen = retries.retry_filter().typed_config.value
    assert policy.retry_on.encode() in unseen
    assert b"x-envoy-upstream-rq-per-try-timeout-ms" in unseen


def test_hosts_with_the_same_rules_share_a_table() -> None:
    declared = replace(
        SMALL,
        routes=(
            prefix("a", "web", "/", "a.example", "B.example"),
            prefix("c", "api", "/", "c.example"),
        ),
    )
    content = snapshot(declared, 1).content
    message = _table(content)
    assert [list(host.domains) for host in message.virtual_hosts] == [
        ["*"],
        ["a.example", "b.example"],
        ["c.example"],
    ]
    assert message.validate_clusters.value


def _table(content: Content) -> route_pb2.RouteConfiguration:
    services = {s.service: s for s in content.endpoints.services}
    found = compiled(content.routes, services)
    assert found.notes == ()
    return found.tables[EVERY_GROUP]
