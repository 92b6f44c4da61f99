"""Routes, whitelists and L4 routes in a fleet file: every field, and what a wrong one is told."""

import pytest

from controlplane.api.fleet_document.parsing import parse
from controlplane.api.fleet_document.rendering import render
from controlplane.domain.routing.route import (
    Cohort,
    CohortKey,
    Condition,
    FixedResponse,
    FunctionCall,
    HeaderChanges,
    L4Protocol,
    L4Route,
    Part,
    PathMatch,
    PathMatchType,
    Redirect,
    Rewrite,
    Route,
    RouteCheck,
    SlowQueue,
    TextMatchType,
    VersionWeight,
)
from controlplane.domain.routing.whitelist import Whitelist
from tests.api.test_fleet_document import CENTERS, SERVICE, errors

GATEWAYS = "gateways: [{name: edge}, {name: inner}]\n"
WHOLE = f"""{CENTERS}{SERVICE}{GATEWAYS}
callers: [{{name: partner-key, api_key: {{}}}}]
certificates: [{{name: shop-2030, chain_file: /etc/chain.pem, key_file: /etc/key.pem}}]
routes:
  - id: all
    service: s
    hosts: [shop.example, '*.shop.example']
    path: {{type: PathTemplate, value: '/users/{{id}}/orders'}}
    methods: [POST, GET]
    user_agent: {{type: Prefix, value: Mozilla}}
    conditions:
      - {{name: x-risk, value: high}}
      - {{part: cookie, name: Plan, type: RegularExpression, value: 'gold|silver'}}
      - {{part: query_param, name: debug, type: Absent}}
    sources: [10.0.0.0/8, 2001:db8::/32]
    functions: [{{name: language, arguments: {{first: zh}}}}]
    cohort: {{by: request, low: 100, high: 600}}
    gateways: [inner, edge]
    priority: -5
    versions: [{{version: v2, weight: 1000}}, {{version: v1, weight: 9000}}]
    queue: {{concurrent: 5, waiting: 50}}
    rewrite: {{host: internal.example, path: /orders}}
    request_headers: {{set: {{x-from: gateway}}, remove: [x-secret]}}
    response_headers: {{remove: [server]}}
    transform: mask
    authentication: [partner-key]
    timeout_ms: 500
    retries: 0
    valid_from: 2030-01-01T08:00:00+08:00
    valid_until: '2030-02-01T00:00:00.125Z'
    tls: shop-2030
    labels: {{team: orders, note: "a b"}}
    checks:
      - {{path: '/users/1/orders?x=1', host: shop.example, method: POST, headers: {{x-risk: high}},
         source: 10.0.0.1, gateway: edge, service: s}}
      - {{path: /users/1, status: 404}}
  - id: moved
    redirect: {{status: 301, scheme: https, host: new.example, path: /}}
    path: {{value: /old}}
  - {{id: no, response: {{status: 410, body: gone, content_type: text/html}}, path: {{value: /no}}}}
whitelists:
  - {{id: mini, hosts: [shop.example], channel: [{{name: x-channel, value: mini}}], status: 404}}
l4_routes:
  - {{id: db, service: s, port: 5432, sni: [db.example], gateways: [inner]}}
  - {{id: dns, service: s, port: 53, protocol: UDP}}
"""


WHOLE_ROUTE = Route(
    id="all",
    service="s",
    hosts=("*.shop.example", "shop.example"),
    path=PathMatch(type=PathMatchType.PATH_TEMPLATE, value="/users/{id}/orders"),
    methods=("GET", "POST"),
    conditions=(
        Condition(
            part=Part.COOKIE,
            name="Plan",
            type=TextMatchType.REGULAR_EXPRESSION,
            value="gold|silver",
        ),
        Condition(name="user-agent", type=TextMatchType.PREFIX, value="Mozilla"),
        Condition(name="x-risk", value="high"),
        Condition(part=Part.QUERY_PARAM, name="debug", type=TextMatchType.ABSENT),
    ),
    sources=("10.0.0.0/8", "2001:db8::/32"),
    functions=(FunctionCall(name="language", arguments=(("first", "zh"),)),),
    cohort=Cohort(by=CohortKey.REQUEST, low=100, high=600),
    gateways=("edge", "inner"),
    priority=-5,
    versions=(
        VersionWeight(version="v1", weight=9000),
        VersionWeight(version="v2", weight=1000),
    ),
    queue=SlowQueue(concurrent=5, waiting=50),
    rewrite=Rewrite(host="internal.example", path="/orders"),
    request_headers=HeaderChanges(set=(("x-from", "gateway"),), remove=("x-secret",)),
    response_headers=HeaderChanges(remove=("server",)),
    transform="mask",
    authentication=("partner-key",),
    timeout_ms=500,
    retries=0,
    valid_from_s=1893456000.0,
    valid_until_s=1896134400.125,
    tls="shop-2030",
    labels=(("note", "a b"), ("team", "orders")),
    checks=(
        RouteCheck(
            path="/users/1/orders?x=1",
            host="shop.example",
            method="POST",
            headers=(("x-risk", "high"),),
            source="10.0.0.1",
            gateway="edge",
            service="s",
        ),
        RouteCheck(path="/users/1", status=404),
    ),
)


def test_every_field_is_read_and_reads_back() -> None:
    fleet = parse(WHOLE)
    route, moved, no = fleet.routes
    assert route == WHOLE_ROUTE
    assert moved.redirect == Redirect(status=301, scheme="https", host="new.example", path="/")
    assert no.response == FixedResponse(status=410, body="gone", content_type="text/html")
    assert fleet.whitelists == (
        Whitelist(
            id="mini",
            hosts=("shop.example",),
            channel=(Condition(name="x-channel", value="mini"),),
            status=404,
        ),
    )
    assert fleet.l4_routes == (
        L4Route(id="db", service="s", port=5432, sni=("db.example",), gateways=("inner",)),
        L4Route(id="dns", service="s", port=53, protocol=L4Protocol.UDP),
    )
    text = render(fleet)
    assert parse(text) == fleet
    assert "valid_until: '2030-02-01T00:00:00.125000Z'" in text


def test_a_lifetime_counts_from_the_reading_and_becomes_a_time() -> None:
    text = f"{CENTERS}{SERVICE}routes: [{{id: r, service: s, ttl_s: 90.5}}]"
    fleet = parse(text, now_s=1_000.1234)
    assert fleet.routes[0].valid_until_s == 1090.623
    assert parse(render(fleet)) == fleet
    later = text.replace("ttl_s", "valid_from: 1970-01-01T01:00:00Z, ttl_s")
    assert parse(later, now_s=1_000.0).routes[0].valid_until_s == 3690.5


def one(more: str, action: str = "service: s") -> str:
    comma = ", " if action and more else ""
    return f"{CENTERS}{SERVICE}{GATEWAYS}routes:\n  - {{id: r, {action}{comma}{more}}}\n"


WRONG = [
    ("methods: [get]", "methods[0]", "upper case"),
    ("methods: []", "methods", "at least one of methods"),
    ("methods: [GET, GET]", "methods[1]", "each only once"),
    ("conditions: [{name: X-A, value: a}]", "conditions[0].name", "lower case"),
    ("conditions: [{name: host, value: a}]", "conditions[0].name", "hosts"),
    ("conditions: [{name: a}]", "conditions[0].value", "a value is required"),
    ("conditions: [{name: a, type: Present, value: b}]", "conditions[0].value", "Present"),
    ("conditions: [{name: a, type: RegularExpression, value: '('}]", "conditions[0].value", "RE2"),
    (
        "conditions: [{part: body, name: a, value: b}]",
        "conditions[0].part",
        "header, query_param, cookie",
    ),
    ("user_agent: {value: ' a'}", "user_agent.value", "printable ASCII"),
    ("sources: [10.0.0.1/8]", "sources[0]", "usual form, 10.0.0.0/8"),
    ("sources: [nowhere]", "sources[0]", "a range of addresses"),
    ("functions: [{name: f, arguments: [a]}]", "functions[0].arguments", "a mapping"),
    ("functions: [{name: f}]", "functions[0]", "a match function with its arguments"),
    ("cohort: {low: 5, high: 5}", "cohort.low", "below high, which is 5"),
    ("cohort: {by: luck}", "cohort.by", "user, request"),
    ("gateways: [edje]", "gateways[0]", "did you mean edge?"),
    ("priority: 100001", "priority", "100000"),
    ("path: {type: PathTemplate, value: '/a{b}'}", "path.value", "a whole segment"),
    ("path: {type: PathTemplate, value: '/{a}/{a}'}", "path.value", "another name"),
    ("versions: [{version: a, weight: 1}]", "versions", "sum to 10000"),
    (
        "versions: [{version: a, weight: 1}, {version: a, weight: 9999}]",
        "versions",
        "each version once",
    ),
    ("queue: {concurrent: 0}", "queue.concurrent", "1..100000"),
    ("rewrite: {}", "rewrite", "at least one of host, prefix and path"),
    ("rewrite: {prefix: /a, path: /b}", "rewrite.path", "either prefix or path"),
    (
        "path: {type: Exact, value: /a}, rewrite: {prefix: /b}",
        "rewrite",
        "beside a PathPrefix only",
    ),
    ("request_headers: {}", "request_headers", "at least one of set and remove"),
    ("request_headers: {set: {host: a}}", "request_headers.set.host", "not the data plane's own"),
    ("valid_from: 2030-01-01", "valid_from", "a time with its zone"),
    ("valid_from: 2030-13-01T00:00:00Z", "valid_from", "a time with its zone"),
    (
        "valid_from: 2030-01-02T00:00:00Z, valid_until: 2030-01-01T00:00:00Z",
        "valid_from",
        "before the end",
    ),
    ("valid_until: 2030-01-01T00:00:00Z, ttl_s: 5", "ttl_s", "either valid_until or ttl_s"),
    ("ttl_s: 0", "ttl_s", "above 0"),
    ("valid_from: 9999-12-31T00:00:00Z, ttl_s: 90000", "ttl_s", "before the year 10000"),
    ("valid_until: 9999-12-31T23:59:59-01:00", "valid_until", "a time with its zone"),
    ("valid_until: 9999-12-31T23:59:59.9999999Z", "valid_until", "a time with its zone"),
    ("valid_from: 0001-01-01T00:00:00+01:00", "valid_from", "a time with its zone"),
    ("labels: {a: b, a: c}", "labels.a", "each only once"),
    ("checks: [{path: a}]", "checks[0].path", "begins with /"),
    ("checks: [{}]", "checks[0].path", "a value is required"),
    ("redirect: {scheme: https}", "redirect", "only one of"),
    ("timeout_ms: 0", "timeout_ms", "1..3600000"),
    ("authentication: [key]", "authentication[0]", "a declared caller policy"),
    ("tls: site", "tls", "a declared certificate"),
]


@pytest.mark.parametrize(("more", "path", "allowed"), WRONG)
def test_a_wrong_field_is_named_with_what_to_do(more: str, path: str, allowed: str) -> None:
    (error,) = errors(one(more))
    assert error["path"] == f"routes[0].{path}"
    assert allowed in str(error["allowed"])
    assert error["line"] == 12


@pytest.mark.parametrize(
    ("action", "path", "allowed"),
    [
        ("hosts: ['*']", "", "one of service, redirect and response"),
        ("redirect: {}", ".redirect", "at least one of scheme, host and path"),
        ("redirect: {status: 304, path: /}", ".redirect.status", "301, 302, 303, 307, 308"),
        ("response: {status: 100}", ".response.status", "200..599"),
        ("response: {body: [a]}", ".response.body", "4096 bytes"),
        ("response: {}, timeout_ms: 5", ".timeout_ms", "for routes to a service only"),
    ],
)
def test_an_action_is_exactly_one(action: str, path: str, allowed: str) -> None:
    (error,) = errors(one("", action))
    assert error["path"] == f"routes[0]{path}"
    assert allowed in str(error["allowed"])


@pytest.mark.parametrize(
    ("section", "path", "allowed"),
    [
        ("whitelists: [{id: w}]", "whitelists[0].hosts", "a value is required"),
        ("whitelists: [{id: w, hosts: ['*'], status: 200}]", "whitelists[0].status", "400..599"),
        (
            "whitelists: [{id: w, hosts: [a]}, {id: W, hosts: [b]}]",
            "whitelists[1].id",
            "more than case",
        ),
        (
            "l4_routes: [{id: a, service: s, port: 53, protocol: UDP, sni: [x]}]",
            "l4_routes[0].sni",
            "TCP only",
        ),
        (
            "l4_routes: [{id: a, service: s, port: 53}, {id: b, service: s, port: 53}]",
            "l4_routes[1]",
            "each only once",
        ),
        (
            "l4_routes: [{id: a, service: t, port: 53}]",
            "l4_routes[0].service",
            "a declared service",
        ),
    ],
)
def test_whitelists_and_l4_routes_have_rules(section: str, path: str, allowed: str) -> None:
    (error,) = errors(f"{CENTERS}{SERVICE}{section}\n")
    assert error["path"] == path
    assert allowed in str(error["allowed"])


def test_two_routes_at_one_path_are_welcome_when_their_requests_differ() -> None:
    same = "  - {id: q, service: s}\n"
    (error,) = errors(one("") + same)
    assert "routes[0]" in str(error["found"])
    for more in ("methods: [GET]", "conditions: [{name: a, value: b}]", "priority: 1"):
        assert len(parse(one(more) + same).routes) == 2
    again = "methods: [GET, POST], conditions: [{name: a, value: b}, {name: c, type: Present}]"
    other = "methods: [POST, GET], conditions: [{name: c, type: Present}, {name: a, value: b}]"
    (error,) = errors(one(again) + f"  - {{id: q, service: s, {other}}}\n")
    assert "each only once" in str(error["allowed"])
