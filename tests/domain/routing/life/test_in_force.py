"""Which routes are in force at a time, and how a gray release stands beside the old route."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.domain.routing.life.in_force import in_force, next_change
from controlplane.domain.routing.life.release import Gray, GrayBy, GrayStep, Life, Release
from controlplane.domain.routing.matching.request import REQUEST_ID, STICKY_COOKIE, Request
from controlplane.domain.routing.matching.table import Table
from controlplane.domain.routing.route import (
    Cohort,
    CohortKey,
    Condition,
    FunctionCall,
    PathMatch,
    PathMatchType,
    Route,
)

OLD = Route(id="r", service="old", path=PathMatch(value="/a"))
NEW = replace(OLD, service="new")
GROUPS = ("edge", "inner")
HEADER = Condition(name="x-canary", value="1")


def release(
    by: GrayBy, *steps: GrayStep, route: Route = NEW, header: Condition | None = None, step: int = 0
) -> Release:
    return Release(
        route=route,
        life=Life.GRAY,
        author="me",
        changed_s=0.0,
        gray=Gray(by=by, steps=steps, header=header),
        step=step,
    )


def table(*routes: Route, gateway: str = "") -> Table:
    return Table.of(routes, gateway=gateway)


def service(table: Table, path: str = "/a", **parts: object) -> str:
    request = Request.of(path, **parts)  # type: ignore[arg-type]
    assert isinstance(request, Request)
    found = table.match(request, 0.0).route
    return "" if found is None else found.service


def user(number: int) -> dict[str, object]:
    return {"headers": [("cookie", f"a=b; {STICKY_COOKIE}={number:04x}-rest")]}


def test_routes_are_there_within_their_time_only() -> None:
    begins = replace(OLD, id="b", valid_from_s=10.0)
    ends = replace(OLD, id="e", valid_until_s=20.0)
    routes = (begins, ends)
    assert [one.id for one in in_force(routes, (), GROUPS, 9.9)] == ["e"]
    assert [one.id for one in in_force(routes, (), GROUPS, 10.0)] == ["b", "e"]
    assert [one.id for one in in_force(routes, (), GROUPS, 20.0)] == ["b"]
    assert [next_change(routes, (), now_s) for now_s in (0.0, 10.0, 20.0)] == [10.0, 20.0, None]
    gray = release(GrayBy.USER, GrayStep(share=1), route=ends)
    assert next_change((), (gray,), 0.0) == 20.0
    assert next_change((), (replace(gray, life=Life.DRAFT),), 0.0) is None


@pytest.mark.parametrize("life", [Life.DRAFT, Life.RETIRED])
def test_drafts_and_retired_routes_are_not_in_force(life: Life) -> None:
    draft = Release(route=NEW, life=life, author="me", changed_s=0.0)
    assert in_force((OLD,), (draft,), GROUPS, 0.0) == (OLD,)
    odd = replace(draft, life=Life.GRAY)
    assert in_force((), (odd,), GROUPS, 0.0) == ()


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 9_999), st.integers(1, 9_999))
def test_by_user_the_same_users_stay_in_when_the_share_grows(one: int, other: int) -> None:
    small, large = sorted((one, other))
    steps = (GrayStep(share=small), GrayStep(share=large))
    first, second = (
        table(*in_force((OLD,), (release(GrayBy.USER, *steps, step=step),), GROUPS, 0.0))
        for step in (0, 1)
    )
    sample = range(0, 65_536, 257)
    before = {n for n in sample if service(first, **user(n)) == "new"}
    after = {n for n in sample if service(second, **user(n)) == "new"}
    assert before <= after
    assert abs(len(after) / len(sample) - large / 10_000) < 0.01
    assert service(first) == "old"


def test_by_request_each_request_is_drawn() -> None:
    found = table(*in_force((OLD,), (release(GrayBy.REQUEST, GrayStep(share=500)),), GROUPS, 0.0))
    got = [service(found, headers=[(REQUEST_ID, f"{n:04x}0000")]) for n in range(0, 65_536, 64)]
    assert abs(got.count("new") / len(got) - 0.05) < 0.002


def test_by_header_only_who_sends_it() -> None:
    found = table(*in_force((OLD,), (release(GrayBy.HEADER, GrayStep(), header=HEADER),), (), 0.0))
    assert service(found, headers=[("X-Canary", "1")]) == "new"
    assert service(found, headers=[("X-Canary", "2")]) == service(found) == "old"


def test_by_gateways_each_group_has_one_of_the_two() -> None:
    steps = (GrayStep(gateways=("inner",)), GrayStep(gateways=("edge", "inner")))
    for step, expected in ((0, ("old", "new")), (1, ("new", "new"))):
        gray = release(GrayBy.GATEWAYS, *steps, step=step)
        found = in_force((OLD,), (gray,), GROUPS, 0.0)
        assert tuple(service(table(*found, gateway=name)) for name in GROUPS) == expected
    # Of a route that only one group has, the other one gets neither form.
    gray = release(GrayBy.GATEWAYS, *steps, route=replace(NEW, gateways=("edge",)))
    (only,) = in_force((replace(OLD, gateways=("edge",)),), (gray,), GROUPS, 0.0)
    assert (only.service, only.gateways) == ("old", ("edge",))
    assert len(in_force((), (gray,), GROUPS, 0.0)) == 0


def test_a_new_route_needs_no_old_one() -> None:
    found = table(*in_force((), (release(GrayBy.USER, GrayStep(share=5_000)),), (), 0.0))
    assert service(found, **user(0)) == "new"
    assert service(found, **user(60_000)) == ""


CANARY = {"headers": [("x-canary", "1"), ("x-b", "2")]}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"methods": ("GET",)}, {}),
        ({"methods": ("GET", "PUT")}, {"methods": ("GET", "POST")}),
        ({"conditions": (Condition(name="x-b", value="2"), HEADER)}, {}),
        (
            {"conditions": (Condition(name="x-b", value="2"), HEADER), "sources": ("10.0.0.0/8",)},
            {},
        ),
        ({"priority": 9, "conditions": (Condition(name="x-b", value="2"),)}, {}),
        ({"gateways": ("edge",), "methods": ("GET",)}, {}),
        ({"gateways": ("edge",), "methods": ("GET",)}, {"gateways": ("edge", "inner")}),
        ({"functions": (FunctionCall(name="has-cookie"),), "methods": ("GET",)}, {}),
    ],
)
def test_a_new_route_that_asks_less_is_still_in_front_for_its_part(
    old: dict[str, object], new: dict[str, object]
) -> None:
    before = replace(OLD, **old)  # type: ignore[arg-type]
    after = replace(NEW, **new)  # type: ignore[arg-type]
    if before.functions:
        before = replace(before, functions=())
    gray = release(GrayBy.REQUEST, GrayStep(share=5_000), route=after)
    found = table(*in_force((before,), (gray,), GROUPS, 0.0), gateway="edge")
    for number, expected in ((0x0000, "new"), (0xFFFF, "old")):
        headers = [*CANARY["headers"], (REQUEST_ID, f"{number:04x}")]
        assert service(found, headers=headers, source="10.0.0.1") == expected


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"methods": ("GET",)}, {"methods": ("POST",)}),
        ({"methods": ("GET",), "gateways": ("edge",)}, {"gateways": ("inner",)}),
        ({"methods": ("GET",), "hosts": ("a.example",)}, {"hosts": ("b.example",)}),
        ({"methods": ("GET",)}, {"path": PathMatch(value="/b")}),
        ({"methods": ("GET",), "cohort": Cohort(by=CohortKey.USER, high=1)}, {}),
        ({"methods": ("GET",), "sources": ("10.0.0.0/8",)}, {"sources": ("11.0.0.0/8",)}),
        (
            {"path": PathMatch(type=PathMatchType.REGULAR_EXPRESSION, value="/a+"), "priority": 1},
            {"path": PathMatch(type=PathMatchType.REGULAR_EXPRESSION, value="/b+")},
        ),
    ],
)
def test_where_both_cannot_be_one_route_the_new_one_stands_alone(
    old: dict[str, object], new: dict[str, object]
) -> None:
    gray = release(GrayBy.REQUEST, GrayStep(share=5_000), route=replace(NEW, **new))  # type: ignore[arg-type]
    found = in_force((replace(OLD, **old),), (gray,), GROUPS, 0.0)  # type: ignore[arg-type]
    assert [one.id for one in found] == ["gray/r", "r"]
