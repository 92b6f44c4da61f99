"""Snapshots as Traefik's files, without a Traefik."""

import json
from dataclasses import replace
from typing import Any

import pytest

from controlplane.adapters.traefik.render import START, WATCHED, TraefikOptions, render
from controlplane.adapters.traefik.rules import decoded, rule, strange
from controlplane.domain.routing.route import (
    Cohort,
    CohortKey,
    Condition,
    FixedResponse,
    Part,
    PathMatch,
    Route,
    TextMatchType,
    VersionWeight,
)
from controlplane.domain.routing.tls import Certificate, TlsVersion
from controlplane.domain.services import AllDown, CheckKind, HealthCheck, LoadBalancing, StickyMode
from controlplane.domain.topology import Fleet, GatewayGroup
from controlplane.ports.outside import Artifact
from tests.sites.proxied import EXPRESSION, GROUP, TEMPLATE, fleet, path, snapshot, with_out

OPTIONS = TraefikOptions(group=GROUP)
TEXT = TextMatchType


def rendered(declared: Fleet, east: float = 0.6) -> Artifact:
    return render(snapshot(declared, east=east), OPTIONS)


def watched(artifact: Artifact) -> dict[str, Any]:
    _, _, text = dict(artifact.parts)[WATCHED].decode().partition("\n")
    found: dict[str, Any] = json.loads(text)
    return found


def routed(*routes: Route) -> dict[str, Any]:
    declared = replace(fleet(), routes=routes, whitelists=())
    found: dict[str, Any] = watched(rendered(declared))["http"]["routers"]
    return found


def test_what_cannot_be_expressed_is_a_note() -> None:
    found = {(note.code, note.subject) for note in rendered(fleet()).notes}
    assert found == {
        ("route_action_refused", "route/guarded"),
        ("route_not_expressible", "route/hashed"),
        ("route_without_service", "route/lost"),
        ("route_queue_without_waiting", "route/slow"),
        ("route_versions_by_address", "route/split"),
        ("route_answer_by_halves", "route/old"),
        ("route_answer_by_halves", "route/https"),
        ("route_answer_by_halves", "route/sale"),
        ("route_end_not_expressible", "route/sale"),
        ("balancing_not_expressible", "service/api"),
    }


def test_the_order_of_routes_never_shows() -> None:
    declared = fleet()
    turned = replace(declared, routes=tuple(reversed(declared.routes)))
    assert rendered(turned).parts == rendered(declared).parts


def test_priorities_are_the_order_of_routes() -> None:
    found = routed(
        Route(id="all", service="web"),
        Route(id="b", service="web", path=path("/a/b")),
        Route(id="w", service="web", hosts=("*.x.example",)),
        Route(id="h", service="web", hosts=("a.x.example",)),
        Route(id="e", service="web", path=path("/n[0-9]+", EXPRESSION)),
    )
    order = sorted(found, key=lambda name: -found[name]["priority"])
    assert order == [
        "~refused", "h~a.x.example", "~nothing~a.x.example",
        "w~~any.x.example", "~nothing~~any.x.example",
        "b~~any", "all~~any", "e~~any", "~nothing~~any",
    ]  # fmt: skip
    assert found["b~~any"]["rule"] == '(Path("/a/b") || PathPrefix("/a/b/"))'
    assert found["w~~any.x.example"]["rule"] == r'HostRegexp("^.+\\.x\\.example\\.?$")'


@pytest.mark.parametrize(
    ("condition", "shown"),
    [
        (Condition(name="h", value="a`b"), 'Header("h", "a`b")'),
        (Condition(name="h", type=TEXT.PREFIX, value="a."), r'HeaderRegexp("h", "^a\\..*$")'),
        (Condition(name="h", type=TEXT.PRESENT), 'HeaderRegexp("h", "^.*$")'),
        (Condition(name="h", type=TEXT.ABSENT), '!HeaderRegexp("h", "^.*$")'),
        (Condition(name="q", part=Part.QUERY_PARAM, value="a%20b"), 'Query("q", "a b")'),
        (
            Condition(name="q", part=Part.QUERY_PARAM, type=TEXT.REGULAR_EXPRESSION, value="a|b"),
            'QueryRegexp("q", "^(?:a|b)$")',
        ),
        (
            Condition(name="c", part=Part.COOKIE, value="v"),
            r'HeaderRegexp("cookie", "(?:^|;)[ \\t]*c=v[ \\t]*(?:;|$)")',
        ),
        (
            Condition(name="c", part=Part.COOKIE, type=TEXT.REGULAR_EXPRESSION, value="gold|tin"),
            r'HeaderRegexp("cookie", "(?:^|;)[ \\t]*c=(?:gold|tin)[ \\t]*(?:;|$)")',
        ),
    ],
)
def test_conditions(condition: Condition, shown: str) -> None:
    assert rule(("*",), Route(id="r", conditions=(condition,))) == shown


def test_paths_are_written_as_traefik_compares_them() -> None:
    assert decoded("/a%20b/%C3%A9/%2B%25") == "/a b/é/%2B%25"
    template = Route(id="r", path=path("/u%20/{id}", TEMPLATE))
    assert rule(("*",), template) == r'PathRegexp("^(?:/u\\ /[^/]+)$")'
    assert rule(("*",), Route(id="r")) == 'PathPrefix("/")'


@pytest.mark.parametrize(
    ("route", "words"),
    [
        (Route(id="r", cohort=Cohort(by=CohortKey.REQUEST, high=500)), "draws no requests"),
        (Route(id="r", cohort=Cohort(by=CohortKey.USER, low=5, high=5)), "draws no requests"),
        (Route(id="r", path=PathMatch(value="/%E9")), "no UTF-8"),
        (Route(id="r", path=path("/a%20b", EXPRESSION)), "decodes escapes"),
        (Route(id="r", conditions=(Condition(name="host", value="x"),)), "header host"),
        (
            Route(
                id="r",
                conditions=(
                    Condition(name="c", part=Part.COOKIE, type=TEXT.REGULAR_EXPRESSION, value=".*"),
                ),
            ),
            "next cookie",
        ),
    ],
)
def test_what_traefik_cannot_compare_is_left_out_with_a_reason(route: Route, words: str) -> None:
    assert words in strange(route)
    named = replace(route, service="web")
    declared = replace(fleet(), routes=(named,), whitelists=())
    (note,) = (n for n in rendered(declared).notes if n.subject == "route/r")
    assert (note.code, note.held) == ("route_not_expressible", "the route is left out")


def test_cohorts_of_users_go_by_their_cookie() -> None:
    part = Route(id="r", cohort=Cohort(by=CohortKey.USER, high=10_000 // 16))
    assert rule(("*",), part).startswith('HeaderRegexp("cookie", "(?:^|;)[ \\\\t]*signalbox_sid=')
    assert rule(("*",), Route(id="r", cohort=Cohort())) == 'PathPrefix("/")'
    assert strange(Route(id="r", path=path("/n+", EXPRESSION))) == ""


def test_a_guard_that_cannot_be_compared_refuses_everybody_at_its_place() -> None:
    strange_one = (Condition(name="host", value="x"),)
    wall = Route(
        id="wall", path=path("/w"), conditions=strange_one, response=FixedResponse(status=403)
    )
    number = replace(wall, id="number", path=PathMatch(type=EXPRESSION, value="/n[0-9]+"))
    found = routed(Route(id="all", service="web"), wall, number)
    assert found["wall~~any"]["rule"] == '(Path("/w") || PathPrefix("/w/"))'
    assert found["number~~any"]["rule"] == 'PathPrefix("/")'
    assert found["wall~~any"]["middlewares"][-1] == found["number~~any"]["middlewares"][-1]
    assert found["wall~~any"]["service"] == "noop@internal"


def test_a_version_without_addresses_gets_nothing() -> None:
    one = (VersionWeight(version="v1", weight=9_000), VersionWeight(version="gone", weight=1_000))
    assert routed(Route(id="s", service="api", versions=one))["s~~any"]["service"] == (
        "api:v1:15000"
    )
    gone = (VersionWeight(version="gone", weight=10_000),)
    assert routed(Route(id="s", service="api", versions=gone))["s~~any"]["service"] == (
        "api:*:15000"
    )


def test_how_services_are_balanced_and_asked() -> None:
    web = fleet().service("web")
    other = replace(
        web,
        load_balancing=LoadBalancing.LEAST_CONNECTIONS,
        health_check=HealthCheck(kind=CheckKind.TCP),
    )
    declared = replace(
        fleet(), services=(other,), routes=(Route(id="a", service="web", retries=0),)
    )
    made = rendered(replace(declared, whitelists=()), east=1.0)
    http = watched(made)["http"]
    assert http["services"]["web:*:15000"] == {
        "failover": {"service": "web:*:15000:first", "fallback": "web:*:15000:behind"}
    }
    first = http["services"]["web:*:15000:first"]["loadBalancer"]
    assert "healthCheck" not in first
    assert len(first["servers"]) == 3
    assert not any("retry" in name for name in http["middlewares"])
    assert [note.held for note in made.notes] == ["its addresses take turns by weight"]


def test_who_is_out_is_left_out_and_sessions_are_a_note() -> None:
    told = with_out(["127.0.0.1:9201"], stickiness=StickyMode.SESSION)
    artifact = render(told, OPTIONS)
    text = dict(artifact.parts)[WATCHED].decode()
    assert '"http://127.0.0.1:9201"' not in text
    assert '"http://127.0.0.1:9202"' in text
    assert "sessions_not_expressible" in {note.code for note in artifact.notes}


@pytest.mark.parametrize(
    ("policy", "service"), [(AllDown.HOLD, "api:*:15000"), (AllDown.CLOSED, "noop@internal")]
)
def test_when_all_are_out_all_are_asked_but_not_where_it_is_closed(
    policy: AllDown, service: str
) -> None:
    everybody = [f"127.0.0.1:{port}" for port in (*range(9201, 9205), *range(9301, 9303))]
    made = watched(render(with_out(everybody, all_down=policy), OPTIONS))
    assert made["http"]["routers"]["api~~any"]["service"] == service


def test_a_data_centre_whose_addresses_are_all_out_is_not_asked_first() -> None:
    east = [f"127.0.0.1:{port}" for port in range(9201, 9205)]
    made = watched(render(with_out(east, 1.0), OPTIONS))["http"]["services"]
    asked = made["api:*:15000"]["loadBalancer"]["servers"]
    assert {one["url"] for one in asked} == {"http://127.0.0.1:9301", "http://127.0.0.1:9302"}


def test_certificates_share_the_oldest_version() -> None:
    old = Certificate(name="old", chain_file="/c/old.pem", key_file="/c/old.key")
    new = replace(old, name="new", minimum_version=TlsVersion.V1_3)
    group = GatewayGroup(name=GROUP, listen_port=80, tls_port=443)
    routes = (
        Route(id="a", service="web", hosts=("a.example",), tls="old"),
        Route(id="b", service="web", hosts=("b.example",), tls="new"),
    )
    declared = replace(
        fleet(), gateways=(group,), certificates=(old, new), routes=routes, whitelists=()
    )
    made = rendered(declared)
    assert watched(made)["tls"]["options"]["default"]["minVersion"] == "VersionTLS12"
    assert [(n.code, n.subject) for n in made.notes] == [("tls_version_shared", "certificate/new")]
    points = json.loads(dict(made.parts)[START])["entryPoints"]
    assert points["https"] == {"address": "127.0.0.1:443", "http": {"tls": {}}}


def test_of_a_group_that_nobody_declares_there_is_nothing_but_refusals() -> None:
    made = render(snapshot(replace(fleet(), routes=(), whitelists=())), TraefikOptions(group="x"))
    assert list(watched(made)["http"]["routers"]) == ["~refused"]
