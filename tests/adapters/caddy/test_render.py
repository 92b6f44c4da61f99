"""Snapshots as Caddy's configuration, without a Caddy."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.adapters.caddy.handlers import plain
from controlplane.adapters.caddy.matchers import all_of, negated
from controlplane.adapters.caddy.render import CaddyOptions, render
from controlplane.adapters.caddy.upstreams import smallest_weights
from controlplane.domain.instances.placement import Instance, Site
from controlplane.domain.routing.route import (
    Cohort,
    Condition,
    FunctionCall,
    PathMatch,
    Route,
)
from controlplane.domain.services import LoadBalancing, StickyMode
from tests.golden import assert_golden
from tests.sites.proxied import GROUP, fleet, snapshot, with_out

GOLDEN = Path(__file__).parent / "golden"
OPTIONS = CaddyOptions(group=GROUP)


def test_golden() -> None:
    text = dict(render(snapshot(fleet()), OPTIONS).parts)["caddy.json"].decode()
    assert_golden(GOLDEN / "caddy.json", text)


def test_what_cannot_be_expressed_is_a_note() -> None:
    strange = Route(id="strange", service="web", conditions=(Condition(name="host", value="1"),))
    declared = replace(fleet(), routes=(*fleet().routes, strange))
    notes = render(snapshot(declared, east=1.0), OPTIONS, {"old": "it says so"}).notes
    assert {(note.code, note.subject) for note in notes} == {
        ("route_action_refused", "route/guarded"),
        ("route_not_expressible", "route/hashed"),
        ("route_without_service", "route/lost"),
        ("route_refused", "route/old"),
        ("route_refused", "route/strange"),
        ("route_queue_not_expressible", "route/slow"),
    }


def test_the_order_of_routes_never_shows() -> None:
    declared = fleet()
    turned = replace(declared, routes=tuple(reversed(declared.routes)))
    assert render(snapshot(turned), OPTIONS).parts == render(snapshot(declared), OPTIONS).parts


def test_a_guard_that_cannot_be_computed_refuses_everybody_at_its_place() -> None:
    hashed = FunctionCall(name="hashed_share", arguments=(("header", "x-user"), ("high", "5")))
    guard = Route(
        id="guard",
        service="nobody",
        path=PathMatch(value="/g"),
        functions=(hashed,),
        methods=("POST",),
        authentication=("keys",),
    )
    artifact = render(snapshot(replace(fleet(), routes=(guard,), whitelists=())), OPTIONS)
    (note,) = artifact.notes
    assert note.held == "everybody gets 403 at its host, path and methods"
    whole = json.loads(dict(artifact.parts)["caddy.json"])
    *_, table, _ = whole["apps"]["http"]["servers"]["signalbox"]["routes"]
    rule, _ = table["handle"][0]["routes"]
    assert rule["handle"] == [{"handler": "static_response", "status_code": 403}]
    assert rule["match"][0]["method"] == ["POST"]


@pytest.mark.parametrize(
    ("balancing", "code"),
    [
        (LoadBalancing.MAGLEV, None),
        (LoadBalancing.BOUNDED_HASH, "bound_not_expressible"),
        (LoadBalancing.ROUND_ROBIN, None),
        (LoadBalancing.LEAST_CONNECTIONS, "balancing_not_expressible"),
    ],
)
def test_ways_of_choosing(balancing: LoadBalancing, code: str | None) -> None:
    declared = fleet()
    services = tuple(replace(s, load_balancing=balancing) for s in declared.services)
    declared = replace(declared, services=services, routes=declared.routes[:1])
    artifact = render(snapshot(declared), OPTIONS)
    assert [note.code for note in artifact.notes if note.subject == "service/web"] == (
        [] if code is None else [code]
    )
    text = dict(artifact.parts)["caddy.json"].decode()
    assert ('"policy": "header"' in text) is balancing.sticky


def test_hashed_clusters_of_other_weights_are_a_note() -> None:
    declared = fleet()
    api = next(one for one in declared.services if one.load_balancing.sticky)
    first, *_ = api.clusters
    heavy = replace(first, name="heavy", weight=3)
    changed = replace(api, clusters=(*api.clusters, heavy))
    others = tuple(one for one in declared.services if one is not api)
    artifact = render(snapshot(replace(declared, services=(*others, changed))), OPTIONS)
    assert ("balancing_not_expressible", "service/api") in {
        (note.code, note.subject) for note in artifact.notes
    }


def test_a_cohort_of_nobody_is_no_rule() -> None:
    nobody = Route(id="n", service="web", cohort=Cohort(low=5, high=5))
    artifact = render(snapshot(replace(fleet(), routes=(nobody,), whitelists=())), OPTIONS)
    assert b"invoke" not in dict(artifact.parts)["caddy.json"]


def test_one_kind_of_matcher_stands_in_a_set_once() -> None:
    a, b, c = {"m": 1}, {"m": 2}, negated({"m": 3})
    assert all_of([a, b]) == {"m": 1, "not": [{"not": [{"m": 2}]}]}
    assert all_of([a, c, b, c])["not"] == [{"m": 3}, {"not": [{"m": 2}]}, {"not": [c]}]
    assert all_of([]) == {}


def test_texts_stay_texts() -> None:
    assert plain("5 $x} \\") == "5 $x} \\"
    assert plain("{a}") == "\\{a\\}"


@pytest.mark.parametrize(
    ("weights", "expected"),
    [((7_500, 2_500), [3, 1]), ((5_000, 5_000), [1, 1]), ((9_990, 10), [100, 1]), ((1,), [1])],
)
def test_weights_are_small(weights: tuple[int, ...], expected: list[int]) -> None:
    sites = tuple(
        Site(
            datacenter=str(n),
            region="r",
            weight=weight,
            instances=(Instance(address="10.0.0.1", port=n, datacenter=str(n)),),
            parts=(1,),
        )
        for n, weight in enumerate(weights)
    )
    assert smallest_weights(sites) == expected


def test_who_is_out_is_left_out_and_sessions_are_a_note() -> None:
    told = with_out(["127.0.0.1:9201"], stickiness=StickyMode.SESSION)
    artifact = render(told, CaddyOptions(group=GROUP))
    text = dict(artifact.parts)["caddy.json"].decode()
    assert '"127.0.0.1:9201"' not in text
    assert '"127.0.0.1:9202"' in text
    assert "sessions_not_expressible" in {note.code for note in artifact.notes}
