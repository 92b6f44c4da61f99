"""Routes as Envoy's tables, without an Envoy: what is left out, what refuses, who has which."""

from dataclasses import replace

import pytest
from envoy.config.route.v3 import route_pb2

from controlplane.adapters.envoy.derived_clusters import queue_name, service_of
from controlplane.adapters.envoy.render import Renderer
from controlplane.adapters.envoy.resource_sets import views
from controlplane.adapters.envoy.routing.configuration import EVERY_GROUP, Compiled, compiled
from controlplane.domain.findings import Severity
from controlplane.domain.routing.route import (
    Cohort,
    Condition,
    FixedResponse,
    FunctionCall,
    L4Route,
    Part,
    PathMatch,
    PathMatchType,
    Rewrite,
    Route,
    SlowQueue,
    TextMatchType,
    VersionWeight,
)
from controlplane.domain.routing.whitelist import Whitelist
from controlplane.domain.snapshot import RoutesSection, ServiceEndpoints
from controlplane.domain.topology import Fleet, GatewayGroup
from controlplane.domain.xds import ResourceType
from tests.adapters.envoy.site import SMALL, prefix, snapshot


def services() -> dict[str, ServiceEndpoints]:
    return {s.service: s for s in snapshot(SMALL, 1).content.endpoints.services}


def table_of(*routes: Route, **section: object) -> Compiled:
    return compiled(RoutesSection(routes=routes, **section), services())  # type: ignore[arg-type]


def route(name: str, value: str = "/x", **changes: object) -> Route:
    return replace(prefix(name, "web", value), **changes)  # type: ignore[arg-type]


HASHED = FunctionCall(name="hashed_share", arguments=(("header", "x-user"), ("high", "500")))
WIDE_COOKIE = Condition(
    part=Part.COOKIE, name="plan", type=TextMatchType.REGULAR_EXPRESSION, value="[ -~]+"
)


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"service": "nobody"}, "route_without_service", "nobody"),
        ({"functions": (HASHED,)}, "route_not_expressible", "hashed_share"),
        ({"conditions": (WIDE_COOKIE,)}, "route_not_expressible", "semicolon"),
        ({"transform": "xml"}, "route_action_refused", "xml"),
        (
            {
                "path": PathMatch(type=PathMatchType.EXACT, value="/x"),
                "rewrite": Rewrite(prefix="/y"),
            },
            "route_action_refused",
            "new prefix",
        ),
        (
            {"versions": (VersionWeight(version="v9", weight=10_000),)},
            "route_version_unknown",
            "v9",
        ),
    ],
)
def test_what_envoy_cannot_do_is_told(changes: dict[str, object], code: str, words: str) -> None:
    (note,) = table_of(route("r", **changes)).notes
    assert (note.code, note.subject) == (code, "route/r")
    assert words in note.message
    assert note.held


def test_a_denial_that_cannot_be_asked_is_critical() -> None:
    denial = route("d", service="", response=FixedResponse(), conditions=(WIDE_COOKIE,))
    (note,) = table_of(denial).notes
    assert note.severity is Severity.CRITICAL
    whitelist = Whitelist(id="w", hosts=("a.example",), channel=(WIDE_COOKIE,))
    (note,) = table_of(whitelists=(whitelist,)).notes
    assert (note.subject, note.severity) == ("whitelist/w", Severity.CRITICAL)


def test_a_host_stays_when_all_its_routes_are_left_out() -> None:
    lost = route("lost", service="nobody", hosts=("a.example",))
    found = table_of(lost, route("all", "/")).tables[EVERY_GROUP]
    hosts = {host.name: host.matcher.HasField("on_no_match") for host in found.virtual_hosts}
    assert hosts == {"*": True, "a.example": False}


def test_an_empty_cohort_is_nobody_and_a_full_one_is_no_condition() -> None:
    table = table_of(
        route("nobody", cohort=Cohort(low=5_000, high=5_000)),
        route("everybody", cohort=Cohort()),
    )
    text = str(table.tables[EVERY_GROUP])
    assert table.notes == ()
    assert text.count("path_separated_prefix") + text.count("/x") >= 1
    assert "signalbox_sid=" not in text


GROUPS = (GatewayGroup(name="a"), GatewayGroup(name="b"), GatewayGroup(name="c"))


def test_groups_that_routes_name_have_tables_of_their_own() -> None:
    routes = (route("all", "/"), route("mine", "/m", gateways=("a", "gone")))
    found = table_of(*routes, gateways=GROUPS).tables
    assert sorted(found) == [EVERY_GROUP, "a"]
    everybody = (*routes, route("rest", "/r", gateways=("b", "c")))
    assert sorted(table_of(*everybody, gateways=GROUPS).tables) == ["a", "b", "c"]


def test_a_group_is_served_its_own_table() -> None:
    routes = (route("all", "/"), route("mine", "/m", gateways=("a",)))
    declared = replace(SMALL, gateways=GROUPS, routes=routes)
    found = views(Renderer().render(snapshot(declared, 1)).parts, {})
    tables = {
        group: route_pb2.RouteConfiguration.FromString(view[ResourceType.ROUTE].resources["rules"])
        for group, view in found.items()
    }
    assert b"/m" in tables["a"].SerializeToString()
    assert b"/m" not in tables["b"].SerializeToString()
    assert found["b"][ResourceType.ROUTE] is found["c"][ResourceType.ROUTE]


def test_long_answers_are_allowed() -> None:
    long = route("l", service="", response=FixedResponse(status=200, body="ü" * 3_000))
    found = table_of(long).tables[EVERY_GROUP]
    assert found.max_direct_response_body_size_bytes.value == 6_000
    short = route("s", service="", response=FixedResponse(status=200, body="x"))
    assert not table_of(short).tables[EVERY_GROUP].HasField("max_direct_response_body_size_bytes")


def test_a_queue_is_a_cluster_of_its_own_on_the_same_endpoints() -> None:
    slow = route("slow", queue=SlowQueue(concurrent=2, waiting=3))
    names = {name for name, _ in Renderer().render(snapshot(with_route(slow), 1)).parts}
    assert queue_name("web", "slow") == "web~slow"
    assert "cluster/web~slow" in names
    assert "endpoint/web~slow" not in names
    assert service_of("web:v1~slow") == service_of("web~~tcp") == service_of("web") == "web"


def with_route(one: Route) -> Fleet:
    return replace(SMALL, routes=(*SMALL.routes, one))


def test_a_service_that_only_connections_reach_has_no_http_cluster() -> None:
    l4 = (L4Route(id="db", service="api", port=5_432),)
    declared = replace(SMALL, routes=(prefix("all", "web", "/"),), l4_routes=l4)
    names = {name for name, _ in Renderer().render(snapshot(declared, 1)).parts}
    assert "cluster/api" not in names
    assert {"cluster/api~~tcp", "endpoint/api", "listener/edge:tcp-5432"} <= names
