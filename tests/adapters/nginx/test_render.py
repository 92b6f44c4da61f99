"""Snapshots as nginx's file, without an nginx."""

from dataclasses import replace
from pathlib import Path

from controlplane.adapters.nginx.quoting import comment, name, plain, without_names, word
from controlplane.adapters.nginx.render import NginxOptions, render
from controlplane.domain.routing.route import Condition, PathMatch, PathMatchType, Route
from controlplane.domain.services import LoadBalancing
from tests.golden import assert_golden
from tests.sites.proxied import GROUP, fleet, snapshot

GOLDEN = Path(__file__).parent / "golden"
OPTIONS = NginxOptions(group=GROUP)


def test_golden() -> None:
    text = dict(render(snapshot(fleet()), OPTIONS).parts)["nginx.conf"].decode()
    assert_golden(GOLDEN / "nginx.conf", text)


def test_what_cannot_be_expressed_is_a_note() -> None:
    strange = Route(id="strange", service="web", conditions=(Condition(name="x.a", value="1"),))
    declared = replace(fleet(), routes=(*fleet().routes, strange))
    notes = render(snapshot(declared, east=1.0), OPTIONS, {"old": "it says so"}).notes
    assert {(note.code, note.subject) for note in notes} == {
        ("route_action_refused", "route/guarded"),
        ("route_not_expressible", "route/hashed"),
        ("route_without_service", "route/lost"),
        ("route_refused", "route/old"),
        ("route_refused", "route/strange"),
        ("route_queue_without_waiting", "route/slow"),
        ("route_empty_header_is_none", "route/trial"),
        ("standby_not_expressible", "service/api"),
    }


def test_the_order_of_routes_never_shows() -> None:
    declared = fleet()
    turned = replace(declared, routes=tuple(reversed(declared.routes)))
    assert render(snapshot(turned), OPTIONS).parts == render(snapshot(declared), OPTIONS).parts


def test_centers_without_weight_stand_behind_where_nothing_is_hashed() -> None:
    declared = fleet()
    services = tuple(
        replace(s, load_balancing=LoadBalancing.ROUND_ROBIN) for s in declared.services
    )
    artifact = render(snapshot(replace(declared, services=services), east=1.0), OPTIONS)
    text = dict(artifact.parts)["nginx.conf"].decode()
    assert "server 127.0.0.1:9101 weight=1000 max_fails=3 fail_timeout=3s backup;" in text
    assert "standby_not_expressible" not in {note.code for note in artifact.notes}


def test_without_a_table_of_all_hosts_other_hosts_get_nothing() -> None:
    only = Route(id="only", service="web", hosts=("a.example",))
    text = dict(render(snapshot(replace(fleet(), routes=(only,))), OPTIONS).parts)["nginx.conf"]
    assert text.count(b"default_server") == 1
    assert text.index(b"default_server") < text.index(b"a.example")


def test_templates_that_need_too_much_are_named() -> None:
    many = tuple(
        Route(
            id=f"{kind}{n}",
            service="web",
            methods=("GET",),
            path=PathMatch(type=PathMatchType.PATH_TEMPLATE, value=value),
        )
        for n in range(400)
        for kind, value in (("a", f"/a/n{n}/x"), ("b", "/a/{x}/" + f"m{n}/y"))
    )
    artifact = render(snapshot(replace(fleet(), routes=many)), OPTIONS)
    assert ("route_parameters_crowded", "host/*") in {(n.code, n.subject) for n in artifact.notes}


def test_texts_stay_texts() -> None:
    assert word('a"\\d') == '"a\\"\\\\d"'
    assert plain("5 $x") == '"5 ${sb_dollar}x"'
    assert name("s", "a b") != name("s", "a-b")
    assert name("s", "A") != name("s", "a")
    assert comment("a\nb") == "a?b"
    assert without_names(r"(?P<a>x)(?<b>y)(?<=z)(?<!z)\(?P<c>(?:d)") == (
        r"(x)(y)(?<=z)(?<!z)\(?P<c>(?:d)"
    )
