import json
import time
from importlib.resources import files
from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.api.fleet_document import findings, nodes
from controlplane.api.fleet_document.lookalikes import forms
from controlplane.api.fleet_document.parsing import parse
from controlplane.api.fleet_document.rendering import document, render
from controlplane.domain.errors import Invalid
from controlplane.domain.fleet_order import normalized
from controlplane.domain.routing.route import PathMatch, PathMatchType, Route
from controlplane.domain.services import (
    Cluster,
    Endpoint,
    HealthCheck,
    LoadBalancing,
    RegionalRule,
    RetryPolicy,
    Service,
    ServiceClass,
    StickyMode,
    StrategyName,
)
from controlplane.domain.topology import Datacenter, Fleet, GatewayGroup, Pool, Role, resolved
from tests import builders

CENTERS = """
datacenters:
  - {name: a, role: primary, region: x}
  - {name: b, role: same-city, region: x}
"""
SERVICE = """
services:
  - name: s
    clusters:
      - {datacenter: a, capacity_rps: 5, endpoints: [{address: 10.0.0.1, port: 80}]}
"""
POOLS = """
pools:
  - {name: near, datacenter: a, capacity_rps: 100, servers: 4}
  - {name: far, datacenter: b, capacity_rps: 50}
"""
POOLED = """
services:
  - name: s
    clusters: [{{datacenter: a, {}, endpoints: [{{address: 10.0.0.1, port: 80}}]}}]
"""


def errors(text: str, code: str = "fleet_invalid") -> list[dict[str, object]]:
    with pytest.raises(Invalid) as caught:
        parse(text)
    assert caught.value.code == code
    found = caught.value.details.get("errors", [])
    assert isinstance(found, list)
    return found


def places(text: str) -> list[tuple[object, object, object]]:
    return [(e["line"], e["column"], e["path"]) for e in errors(text)]


def test_the_example_fleet_is_valid_and_reads_back() -> None:
    fleet = parse(files("data").joinpath("fleets", "two-centers.yaml").read_text())
    assert [center.role for center in fleet.datacenters] == [Role.PRIMARY, Role.SAME_CITY]
    assert [cluster.servers for cluster in fleet.service("tickets").clusters] == [8, 5]
    assert parse(render(fleet)) == fleet


def test_the_example_of_four_data_centers_is_valid_and_reads_back() -> None:
    fleet = parse(files("data").joinpath("fleets", "four-centers.yaml").read_text())
    assert [center.role for center in fleet.datacenters] == list(Role)
    assert [c.capacity_rps for c in resolved(fleet, fleet.service("reports")).clusters] == [
        160.0,
        100.0,
    ]
    assert parse(render(fleet)) == fleet


def test_every_error_shows_at_once_with_its_place_and_what_is_allowed() -> None:
    text = """datacenters:
  - {name: a, role: primry, region: x}
  - {name: a, role: same-city, region: x}
servces: []
services:
  - name: s
    colour: red
    clusters:
      - datacenter: c
        capacity_rps: 0
        endpoints: [{address: 1.2.3, port: 70000}, {port: "80", address: 10.0.0.1}]
      - {datacenter: a, capacity_rps: many, endpoints: 3, idle_cpu: 0.5, full_cpu: 0.5}
    static_shares: {a: -1}
gateways: [{name: g, listen_port: 0}, {name: g}]
routes:
  - {id: r, service: t, path: {value: /a/}}
  - {id: r, service: s, path: {value: a}, hosts: []}
"""
    found = errors(text)
    by_path = {str(error["path"]): error for error in found}
    assert set(by_path) == {
        "datacenters[0].role",
        "datacenters[1].name",
        "servces",
        "services[0].colour",
        "services[0].clusters[0].datacenter",
        "services[0].clusters[0].capacity_rps",
        "services[0].clusters[0].endpoints[0].address",
        "services[0].clusters[0].endpoints[0].port",
        "services[0].clusters[0].endpoints[1].port",
        "services[0].clusters[1].capacity_rps",
        "services[0].clusters[1].endpoints",
        "services[0].clusters[1].full_cpu",
        "services[0].static_shares.a",
        "gateways[0].listen_port",
        "gateways[1].name",
        "routes[0].service",
        "routes[0].path.value",
        "routes[1].id",
        "routes[1].path.value",
        "routes[1].hosts",
    }
    assert len(found) == len(by_path)
    port = by_path["services[0].clusters[0].endpoints[0].port"]
    assert (port["line"], port["column"]) == (11, 44)
    assert (port["found"], port["allowed"]) == ("'70000'", "a whole number within 1..65535")
    assert "did you mean services?" in str(by_path["servces"]["allowed"])
    assert "did you mean primary?" in str(by_path["datacenters[0].role"]["allowed"])
    assert found == sorted(found, key=lambda e: (e["line"], e["column"], e["path"]))


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("", "datacenters"),
        ("[]", "the document"),
        ("datacenters: []", "datacenters"),
        ("datacenters: {}", "datacenters"),
        ("datacenters: [{name: a, role: cloud, region: x}]", "datacenters"),
        (CENTERS + "services: [{name: s, clusters: []}]", "services[0].clusters"),
        (CENTERS + "services: [7]", "services[0]"),
        (CENTERS + SERVICE + "    static_shares: {b: 1}", "services[0].static_shares.b"),
        (CENTERS + SERVICE + "    static_shares: {a: 0}", "services[0].static_shares"),
        (CENTERS + SERVICE + "    alarm_cpu: 80", "services[0].alarm_cpu"),
        (CENTERS + SERVICE + "    class_of_service: gold", "services[0].class_of_service"),
        (CENTERS + SERVICE + "    dither: 'true'", "services[0].dither"),
        (CENTERS.replace("role: s", "join_order: -1, role: s"), "datacenters[1].join_order"),
        ("pools: [{name: p, datacenter: c, capacity_rps: 1}]" + CENTERS, "pools[0].datacenter"),
        (POOLS + CENTERS + POOLED.format("pool: q"), "services[0].clusters[0].pool"),
        (POOLS + CENTERS + POOLED.format("pool: far"), "services[0].clusters[0].pool"),
        (
            POOLS + CENTERS + POOLED.format("pool: near, servers: 3"),
            "services[0].clusters[0].servers",
        ),
        (POOLS + CENTERS + POOLED.format("pool: near, cost: 0"), "services[0].clusters[0].cost"),
        (
            POOLS + CENTERS + POOLED.format("capacity_rps: 5, cost: 2"),
            "services[0].clusters[0].cost",
        ),
        (POOLS + CENTERS + POOLED.format("servers: 5"), "services[0].clusters[0].capacity_rps"),
        (POOLS + "  - {name: near, datacenter: b, capacity_rps: 1}" + CENTERS, "pools[2].name"),
        (CENTERS + SERVICE + "    timeout_ms: 1.5", "services[0].timeout_ms"),
        (CENTERS + SERVICE + "    health_check: {path: healthz}", "services[0].health_check.path"),
        (CENTERS + SERVICE + "    name: s", "services[0].name"),
        (CENTERS + SERVICE + "    ? [a, b]\n    : c", "services[0].?"),
        (CENTERS + SERVICE + "routes: [{id: r, service: s, hosts: [A_b]}]", "routes[0].hosts[0]"),
        (
            CENTERS + SERVICE + "routes: [{id: r, service: s, path: {value: /a?b}}]",
            "routes[0].path.value",
        ),
        (
            CENTERS + SERVICE + "routes: [{id: q, service: s}, {id: r, service: s}]",
            "routes[1]",
        ),
    ],
)
def test_a_single_fault_is_named_by_its_path(text: str, path: str) -> None:
    assert path in [error["path"] for error in errors(text)]


@pytest.mark.parametrize("value", [".nan", ".inf", "-1", "1_000", "0x10", '"5"', "true", "[5]"])
def test_a_capacity_is_a_plain_positive_number(value: str) -> None:
    text = CENTERS + SERVICE.replace("capacity_rps: 5", f"capacity_rps: {value}")
    assert "services[0].clusters[0].capacity_rps" in [error["path"] for error in errors(text)]


def test_words_that_other_yaml_readers_take_for_truth_values_stay_names() -> None:
    fleet = parse("datacenters: [{name: no, role: primary, region: on}]")
    assert fleet.datacenters == (Datacenter(name="no", role=Role.PRIMARY, region="on"),)


@pytest.mark.parametrize(
    ("text", "place"),
    [("a: [1", (1, 1)), ("a: b: c", (1, 5)), ("\t- a", (1, 1)), ("a: 1\n--- \nb: 2", (2, 1))],
)
def test_an_unreadable_document_has_its_place(text: str, place: tuple[int, int]) -> None:
    (error,) = errors(text, "fleet_unreadable")
    assert (error["line"], error["column"]) >= place
    errors("a: *nothing", "fleet_unreadable")
    errors("a: \x00", "fleet_unreadable")


def test_json_is_read_also_with_tabs() -> None:
    fleet = builders.fleet()
    assert parse(json.dumps(document(fleet), indent="\t")) == normalized(fleet)


def test_a_few_anchors_are_welcome() -> None:
    text = CENTERS.replace("region: x", "region: &r x", 1).replace("region: x}", "region: *r}")
    assert {center.region for center in parse(text).datacenters} == {"x"}


BOMBS = {
    "a million aliases": "a: &a [x]\nb: [" + "*a," * 1_000_000 + "]",
    "laughs": "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
    + "\n".join(f"a{i + 1}: &a{i + 1} [{','.join([f'*a{i}'] * 9)}]" for i in range(9)),
    "anchors": "[" + ",".join(f"&a{i} x" for i in range(1000)) + "]",
    "depth": "\n".join(" " * i + "a:" for i in range(2000)),
    "width": "a: [" + "1," * 2_000_000 + "]",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_quickly(name: str) -> None:
    started = time.perf_counter()
    errors(BOMBS[name], "fleet_too_complex")
    assert time.perf_counter() - started < 10.0


def test_a_huge_document_is_refused_before_it_is_read() -> None:
    errors("x" * (nodes.MOST_BYTES + 1), "fleet_too_large")


def test_the_findings_are_bounded_and_counted() -> None:
    text = CENTERS + "gateways: [" + "{}," * 5000 + "]"
    with pytest.raises(Invalid) as caught:
        parse(text)
    assert caught.value.details["count"] == findings.MOST_COUNTED
    assert "1000 or more" in caught.value.message
    assert len(errors(text)) == findings.MOST_FINDINGS


names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,10}", fullmatch=True)
DIFFERENT = (lambda name: forms(name)[0], lambda name: forms(name)[1])
milliseconds = st.integers(10, 3_600_000)
shares = st.floats(0.001, 1.0)
capacities = st.floats(0.001, 1e9)


@st.composite
def fleets(draw: st.DrawFn) -> Fleet:
    centers = draw(st.lists(names, min_size=1, max_size=4, unique_by=DIFFERENT))
    services = draw(st.lists(names, max_size=3, unique_by=DIFFERENT))
    pools = tuple(
        Pool(
            name=name,
            datacenter=draw(st.sampled_from(centers)),
            capacity_rps=draw(capacities),
            servers=draw(st.none() | st.integers(1, 100)),
            idle_cpu=draw(st.none() | st.floats(0.0, 0.4)),
        )
        for name in draw(st.lists(names, max_size=3, unique_by=DIFFERENT))
    )
    return Fleet(
        pools=pools,
        datacenters=tuple(
            Datacenter(
                name=name,
                role=draw(st.sampled_from(list(Role)[1:])) if index else Role.PRIMARY,
                region=draw(names),
                join_order=draw(st.integers(0, 9)),
            )
            for index, name in enumerate(centers)
        ),
        services=tuple(draw(service(name, centers, pools)) for name in services),
        gateways=tuple(
            GatewayGroup(
                name=name,
                listen_port=draw(st.integers(1, 65_535)),
                region=draw(st.none() | names),
            )
            for name in draw(st.lists(names, max_size=2, unique_by=DIFFERENT))
        ),
        routes=tuple(
            Route(
                id=f"r{index}",
                service=name,
                path=PathMatch(type=draw(st.sampled_from(PathMatchType)), value=f"/{index}"),
                hosts=draw(st.sampled_from([("*",), ("*.example.org", "a.example.org")])),
            )
            for index, name in enumerate(services)
        ),
    )


def is_host(address: IPv4Address | IPv6Address) -> bool:
    group = address.is_multicast or (address.version == 4 and address.is_reserved)
    mapped = getattr(address, "ipv4_mapped", None) is not None
    return not (address.is_unspecified or group or mapped)


@st.composite
def cluster(draw: st.DrawFn, center: str, pools: tuple[Pool, ...]) -> Cluster:
    addresses = st.ip_addresses().filter(is_host).map(str)
    endpoints = tuple(
        Endpoint(address=address, port=draw(st.integers(1, 65_535)))
        for address in draw(st.lists(addresses, min_size=1, max_size=3, unique=True))
    )
    near = [pool.name for pool in pools if pool.datacenter == center]
    if near and draw(st.booleans()):
        pool, cost = draw(st.sampled_from(near)), draw(st.floats(0.001, 1e6))
        return Cluster(datacenter=center, endpoints=endpoints, pool=pool, cost=cost)
    return Cluster(
        datacenter=center,
        endpoints=endpoints,
        capacity_rps=draw(capacities),
        servers=draw(st.none() | st.integers(1, 100)),
        idle_cpu=draw(st.none() | st.floats(0.0, 0.4)),
        full_cpu=draw(st.none() | st.floats(0.5, 1.0)),
    )


@st.composite
def service(draw: st.DrawFn, name: str, centers: list[str], pools: tuple[Pool, ...]) -> Service:
    chosen = draw(st.lists(st.sampled_from(centers), min_size=1, unique=True))
    return Service(
        name=name,
        strategy=draw(st.sampled_from(StrategyName)),
        load_balancing=draw(st.sampled_from(LoadBalancing)),
        stickiness=draw(st.sampled_from(StickyMode)),
        health_check=HealthCheck(interval_ms=draw(milliseconds)),
        retry=RetryPolicy(attempts=draw(st.integers(0, 100)), server_errors=draw(st.booleans())),
        timeout_ms=draw(milliseconds),
        alarm_cpu=draw(st.floats(0.0, 1.0)),
        class_of_service=draw(st.sampled_from(ServiceClass)),
        dither=draw(st.booleans()),
        regional=RegionalRule(
            alpha=draw(st.floats(0.0, 1.0)),
            critical_load=draw(st.floats(0.5, 1.0)),
            return_load=draw(st.floats(0.01, 0.49)),
        ),
        static_shares=tuple((center, draw(shares)) for center in chosen),
        clusters=tuple(draw(cluster(center, pools)) for center in chosen),
    )


@settings(max_examples=60, deadline=None)
@given(fleet=fleets())
def test_rendering_and_reading_back_gives_the_same_fleet(fleet: Fleet) -> None:
    assert parse(render(fleet)) == normalized(fleet)
    assert parse(json.dumps(document(fleet))) == normalized(fleet)


REGIONAL = """
services:
  - name: s
    strategy: regional
    regional: {}
    clusters:
      - {{datacenter: a, capacity_rps: 5, endpoints: [{{address: 10.0.0.1, port: 80}}]}}
gateways:
  - {{name: edge, region: x}}
"""


def test_the_example_of_two_regions_is_valid_and_reads_back() -> None:
    fleet = parse(files("data").joinpath("fleets", "two-regions.yaml").read_text())
    assert [group.region for group in fleet.gateways] == ["north", "south"]
    assert parse(render(fleet)) == fleet


def test_a_regional_service_says_what_it_goes_by_and_gateways_where_they_are() -> None:
    fleet = parse(CENTERS + REGIONAL.format("{alpha: 0.6, critical_load: 0.9}"))
    (one,) = fleet.services
    assert one.strategy is StrategyName.REGIONAL
    assert one.regional == RegionalRule(alpha=0.6, critical_load=0.9, return_load=0.75)
    assert fleet.gateways[0].region == "x"
    assert parse(render(fleet)) == fleet


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("{alpha: 1.5}", "services[0].regional.alpha"),
        ("{critical_load: 0}", "services[0].regional.critical_load"),
        ("{critical_load: 0.7}", "services[0].regional"),
        ("{critical_load: 0.7, return_load: 0.7}", "services[0].regional.return_load"),
    ],
)
def test_what_a_regional_service_cannot_go_by_is_named(rule: str, path: str) -> None:
    assert [place for _, _, place in places(CENTERS + REGIONAL.format(rule))] == [path]
