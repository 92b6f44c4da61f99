"""Which routes a plane of files gets, and what is said about the others; choices of versions."""

import re
from collections import Counter
from dataclasses import replace

from controlplane.domain.routing.compiling.choices import choices
from controlplane.domain.routing.compiling.pcre import whole
from controlplane.domain.routing.compiling.selection import Declared, Plane, crowded, selected
from controlplane.domain.routing.route import (
    FunctionCall,
    L4Route,
    PathMatch,
    PathMatchType,
    Route,
    VersionWeight,
)
from controlplane.domain.routing.whitelist import Whitelist

PLANE = Plane(title="Proxy", refused={"authentication": "403"})


def _codes(*routes: Route, left_out: dict[str, str] | None = None) -> list[tuple[str, str]]:
    declared = Declared(routes=routes, whitelists=(), services={"web"})
    found = selected(declared, "edge", PLANE, left_out or {})
    return [(note.code, note.subject) for note in found.notes]


def test_a_plane_for_http_says_which_ports_it_does_not_take() -> None:
    l4_routes = [
        L4Route(id="b", service="web", port=5433, gateways=("edge",)),
        L4Route(id="a", service="web", port=5432),
        L4Route(id="c", service="web", port=5434, gateways=("inner",)),
    ]
    declared = Declared(routes=(), whitelists=(), services={"web"}, l4_routes=l4_routes)
    found = selected(declared, "edge", PLANE, {})
    assert [(note.code, note.subject) for note in found.notes] == [
        ("l4_route_not_expressible", "l4/a"),
        ("l4_route_not_expressible", "l4/b"),
    ]
    assert found.notes[0].held == "nobody listens on port 5432 for it there"
    assert selected(declared, "edge", replace(PLANE, takes_ports=True), {}).notes == ()


def _route(name: str, path: str = "/a", kind: PathMatchType = PathMatchType.EXACT) -> Route:
    return Route(id=name, service="web", path=PathMatch(type=kind, value=path))


def test_each_fault_is_a_note_on_its_route() -> None:
    hashed = FunctionCall(name="hashed_share", arguments=(("header", "x"), ("high", "5")))
    assert _codes(_route("fine"), _route("again", "/{x}/%20", PathMatchType.PATH_TEMPLATE)) == []
    assert _codes(_route("r"), left_out={"r": "no"}) == [("route_refused", "route/r")]
    assert _codes(Route(id="r", service="gone")) == [("route_without_service", "route/r")]
    function = Route(id="r", service="web", functions=(hashed,))
    assert _codes(function) == [("route_not_expressible", "route/r")]
    for path in ("/a b", "/%7e", "/a?b", "/a/../b"):
        assert _codes(_route("r", path)) == [("route_path_never_matches", "route/r")]
    expression = _route("r", "/a?", PathMatchType.REGULAR_EXPRESSION)
    assert _codes(expression) == []
    guarded = Route(id="r", service="web", authentication=("keys",))
    assert _codes(guarded) == [("route_action_refused", "route/r")]


def test_a_group_gets_its_routes_and_the_refusals_of_whitelists() -> None:
    routes = (_route("b"), Route(id="inner", service="web", gateways=("inner",)))
    declared = Declared(
        routes=routes, whitelists=[Whitelist(id="w", hosts=("a.example",))], services={"web"}
    )
    assert [r.id for r in selected(declared, "edge", PLANE, {}).routes] == ["b", "whitelist/w"]
    assert {r.id for r in selected(declared, "inner", PLANE, {}).routes} == {
        "b",
        "inner",
        "whitelist/w",
    }


def test_a_crowded_host_is_named() -> None:
    (note,) = crowded(["a.example"], PLANE)
    assert (note.code, note.subject) == ("route_parameters_crowded", "host/a.example")
    assert "Proxy" in note.message


def test_versions_share_the_numbers_by_weight() -> None:
    parts = (("v1", 2_500), ("v2", 0), ("v3", 7_500))
    split = Route(
        id="r",
        service="web",
        versions=tuple(VersionWeight(version=name, weight=part) for name, part in parts),
    )
    found = choices(split)
    assert found is not None
    assert [one.version for one in found] == ["v1", "v3"]
    assert found[-1].digits == ""

    counts = Counter(bool(re.match(found[0].digits, f"{n:04x}")) for n in range(65_536))
    assert counts[True] == 16_384
    (only,) = choices(_route("r")) or ()
    assert (only.version, only.digits) == ("*", "")


def test_expressions_have_a_limit_of_steps() -> None:
    assert whole("a|b") == r"(*LIMIT_MATCH=200000)^(?:a|b)\z"
