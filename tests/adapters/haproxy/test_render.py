"""Snapshots as HAProxy's files, without an HAProxy."""

from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.adapters.haproxy.quoting import comment, format_word, name, word
from controlplane.adapters.haproxy.render import HaproxyOptions, render
from controlplane.domain.routing.route import PathMatch, PathMatchType, Route
from tests.golden import assert_golden
from tests.sites.proxied import GROUP, fleet, snapshot

GOLDEN = Path(__file__).parent / "golden"
OPTIONS = HaproxyOptions(group=GROUP)


@pytest.mark.parametrize("file", ["haproxy.cfg", "routes.map", "hosts.map", "suffixes.map"])
def test_golden(file: str) -> None:
    text = dict(render(snapshot(fleet()), OPTIONS).parts)[file].decode()
    assert_golden(GOLDEN / file, text)


def test_what_cannot_be_expressed_is_a_note() -> None:
    notes = render(snapshot(fleet()), OPTIONS, {"old": "it says so"}).notes
    assert {(note.code, note.subject) for note in notes} == {
        ("caller_policy_unsupported", "caller/keys"),
        ("route_not_expressible", "route/hashed"),
        ("route_without_service", "route/lost"),
        ("route_refused", "route/old"),
        ("route_queue_divided", "route/slow"),
    }


def test_the_order_of_routes_never_shows() -> None:
    declared = fleet()
    turned = replace(declared, routes=tuple(reversed(declared.routes)))
    assert render(snapshot(turned), OPTIONS).parts == render(snapshot(declared), OPTIONS).parts


def test_weights_change_nothing_but_weights() -> None:
    before = dict(render(snapshot(fleet(), east=0.6), OPTIONS).parts)
    after = dict(render(snapshot(fleet(), east=0.3), OPTIONS).parts)
    assert [name for name in before if before[name] != after[name]] == [
        "haproxy.cfg",
        "revision.map",
    ]
    changed = [
        (old, new)
        for old, new in zip(
            before["haproxy.cfg"].splitlines(), after["haproxy.cfg"].splitlines(), strict=True
        )
        if old != new
    ]
    assert all(b" weight " in old and b" weight " in new for old, new in changed)
    assert changed


def test_templates_that_need_too_much_are_named() -> None:
    declared = fleet()
    many = tuple(
        Route(
            id=f"{kind}{n}",
            service="web",
            methods=("GET",),
            hosts=("crowd.example",),
            path=PathMatch(type=PathMatchType.PATH_TEMPLATE, value=value),
        )
        for n in range(400)
        for kind, value in (("a", f"/a/n{n}/x"), ("b", "/a/{x}/" + f"m{n}/y"))
    )
    artifact = render(snapshot(replace(declared, routes=many)), OPTIONS)
    assert [(note.code, note.subject) for note in artifact.notes] == [
        ("route_parameters_crowded", "host/crowd.example")
    ]


def test_texts_stay_texts() -> None:
    assert word("it's") == "'it'\\''s'"
    assert word('a\n"$') == '"a\\x0a\\x22\\x24"'
    assert format_word("5 %") == "'5 %%'"
    assert name("r", "a b") != name("r", "a_b")
    assert name("r", "a.b:1") == "r.a.b:1"
    assert comment("a\nb") == "a?b"
