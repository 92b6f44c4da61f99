"""The matcher: hosts, falling through, times, groups of gateways, and changes."""

import pytest

from controlplane.domain.routing.matching.request import Request
from controlplane.domain.routing.matching.table import Match, Reason, Table
from controlplane.domain.routing.route import Condition, Part, Route, TextMatchType
from controlplane.domain.routing.whitelist import Whitelist
from tests.domain.routing.drawn import header, routed


def got(table: Table, path: str, now_s: float = 0.0, **changes: object) -> str:
    request = Request(path=path, **changes)  # type: ignore[arg-type]
    found = table.match(request, now_s).route
    return "" if found is None else found.id


def test_only_the_most_specific_host_is_asked() -> None:
    table = Table.of(
        [
            routed("exact", "/a", hosts=("shop.example.com",)),
            routed("longer", hosts=("*.shop.example.com",)),
            routed("wildcard", hosts=("*.example.com",)),
            routed("every"),
        ]
    )
    assert got(table, "/a", host="shop.example.com") == "exact"
    assert got(table, "/b", host="shop.example.com") == ""
    assert got(table, "/a", host="x.y.shop.example.com") == "longer"
    assert got(table, "/a", host="other.example.com") == "wildcard"
    assert got(table, "/a", host="example.com") == "every"


def test_a_condition_that_fails_falls_through_to_shorter_paths_and_then_to_expressions() -> None:
    table = Table.of(
        [
            routed("exact", "=/a/b", conditions=header("one")),
            routed("template", "?/a/{x}", conditions=header("two")),
            routed("prefix", "/a", conditions=header("three")),
            routed("expression", "~/a/[a-z]"),
        ]
    )
    assert got(table, "/a/b", headers={"one": "1", "two": "1"}) == "exact"
    assert got(table, "/a/b", headers={"two": "1", "three": "1"}) == "template"
    assert got(table, "/a/b", headers={"three": "1"}) == "prefix"
    assert got(table, "/a/b") == "expression"
    assert got(table, "/a/bb") == ""
    assert got(table, "/b") == ""


def test_why_is_told() -> None:
    table = Table.of(
        [
            routed("exact", "=/a/b"),
            routed("template", "?/a/{x}/{y}"),
            routed("prefix", "/p"),
            routed("expression", "~/e.*"),
            routed("host", hosts=("x",)),
        ]
    )
    reasons = {
        path: table.match(Request(path=path), 0.0).reason
        for path in ("/a/b", "/a/1/2", "/p/q", "/ee", "/none")
    }
    assert list(reasons.values()) == [
        Reason.EXACT, Reason.TEMPLATE, Reason.PREFIX, Reason.EXPRESSION, Reason.NO_ROUTE
    ]  # fmt: skip
    found = table.match(Request(path="/a/1/2"), 0.0)
    assert found.parameters == (("x", "1"), ("y", "2"))
    lone = Table.of([routed("host", hosts=("x",))])
    assert lone.match(Request(path="/"), 0.0) == Match(route=None, reason=Reason.NO_HOST)


def test_a_route_exists_for_its_time_and_its_host_with_it() -> None:
    table = Table.of(
        [routed("soon", hosts=("x",), valid_from_s=10.0, valid_until_s=20.0), routed("always")]
    )
    names = [got(table, "/", now_s, host="x") for now_s in (9.9, 10.0, 19.9, 20.0)]
    assert names == ["always", "soon", "soon", "always"]
    both = table.with_route(routed("beside", "/b", hosts=("x",)))
    assert got(both, "/", 20.0, host="x") == ""


def test_a_group_of_gateways_has_its_own_routes() -> None:
    routes = [routed("mine", "/a", gateways=("east",)), routed("all", "/")]
    assert got(Table.of(routes, gateway="east"), "/a") == "mine"
    assert got(Table.of(routes, gateway="west"), "/a") == "all"
    assert got(Table.of(routes), "/a") == "mine"


def test_a_whitelist_refuses_what_is_not_listed_of_its_channel() -> None:
    listed = routed("listed", "=/listed", hosts=("x",))
    open_to_all = routed("all", "/", hosts=("x",))
    app = Whitelist(id="app", hosts=("x",), channel=header("x-channel", "app"))
    table = Table.of([listed, open_to_all], [app])
    from_app = {"x-channel": "app"}
    assert got(table, "/listed", host="x", headers=from_app) == "listed"
    assert got(table, "/other", host="x", headers=from_app) == "whitelist/app"
    refused = Request(path="/other", host="x", headers=from_app)
    assert table.match(refused, 0.0).reason is Reason.UNLISTED
    assert got(table, "/other", host="x") == "all"


@pytest.mark.parametrize(
    ("condition", "values", "others"),
    [
        (Condition(name="h", value="a"), ["a"], ["", "b", "A", None]),
        (Condition(name="h", type=TextMatchType.PREFIX, value="a"), ["a", "ab"], ["ba", "", None]),
        (
            Condition(name="h", type=TextMatchType.REGULAR_EXPRESSION, value="a|b+"),
            ["a", "bb"], ["ab", "", None],
        ),
        (Condition(name="h", type=TextMatchType.PRESENT), ["a", ""], [None]),
        (Condition(name="h", type=TextMatchType.ABSENT), [None], ["a", ""]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("part", list(Part))
def test_conditions_of_every_part_and_type(
    condition: Condition, values: list[str | None], others: list[str | None], part: Part
) -> None:
    there = Condition(part=part, name="h", type=condition.type, value=condition.value)
    table = Table.of([Route(id="r", service="s", conditions=(there,))])
    for value in (*values, *others):
        request = _with(part, value)
        assert (table.match(request, 0.0).route is not None) == (value in values), value


def _with(part: Part, value: str | None) -> Request:
    if value is None:
        return Request(path="/")
    if part is Part.HEADER:
        return Request(path="/", headers={"h": value})
    if part is Part.COOKIE:
        return Request(path="/", headers={"cookie": f"x=y; h={value}"})
    return Request(path="/", query=f"x=y&h={value}")


@pytest.mark.parametrize(
    ("source", "within"),
    [
        ("10.1.2.3", True),
        ("10.2.0.1", False),
        ("192.168.0.7", True),
        ("::ffff:10.1.0.1", True),
        ("2001:db8::1", True),
        ("2001:db9::1", False),
        ("", False),
        ("unix:", False),
    ],
)
def test_one_of_the_networks_must_hold_the_caller(source: str, within: bool) -> None:
    networks = ("10.1.0.0/16", "192.168.0.7", "2001:db8::/32")
    table = Table.of([routed("near", sources=networks)])
    assert (got(table, "/", source=source) == "near") is within


def test_a_change_is_a_new_table_and_back_is_the_same() -> None:
    table = Table.of([routed("a", "/a"), routed("e", "~/e", valid_until_s=5.0)])
    for new in (
        routed("n", "/a"),
        routed("n", "=/a/b", hosts=("*", "x")),
        routed("n", "~/n", hosts=("x",)),
        routed("n", "?/{x}", valid_until_s=9.0),
    ):
        grown = table.with_route(new)
        assert grown != table
        assert grown == Table.of([routed("a", "/a"), routed("e", "~/e", valid_until_s=5.0), new])
        assert grown.without_route(new) == table
