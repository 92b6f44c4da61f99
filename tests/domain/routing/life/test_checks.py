"""Checks of routes hold the change that makes them fail, and only that."""

from dataclasses import replace

import pytest

from controlplane.domain.errors import Conflict
from controlplane.domain.routing.life.checks import checked, failed
from controlplane.domain.routing.life.revision import RouteRevision
from controlplane.domain.routing.route import (
    FixedResponse,
    PathMatch,
    Redirect,
    Route,
    RouteCheck,
)
from controlplane.domain.routing.whitelist import Whitelist, refusal

SHOP = Route(id="shop", service="shop", path=PathMatch(value="/shop"))
PAY = Route(
    id="pay",
    service="pay",
    path=PathMatch(value="/shop/pay"),
    checks=(RouteCheck(path="/shop/pay/1?a=b"),),
)


def by_id(*routes: Route) -> dict[str, Route]:
    return {route.id: route for route in routes}


def messages(*routes: Route, now_s: float = 0.0) -> list[str]:
    return [one.fault for one in failed(routes, now_s)]


def with_check(**expected: object) -> Route:
    return replace(SHOP, checks=(RouteCheck(path="/shop", **expected),))  # type: ignore[arg-type]


def test_a_check_without_an_expectation_wants_its_own_route() -> None:
    assert messages(SHOP, PAY) == []
    (message,) = messages(replace(PAY, path=PathMatch(value="/pay")), SHOP)
    assert message == (
        "check of route pay: GET localhost/shop/pay/1?a=b must get route pay, and gets route shop "
        "to service shop"
    )


@pytest.mark.parametrize(
    ("expected", "holds"),
    [
        ({"service": "shop"}, True),
        ({"service": "pay"}, False),
        ({"route": "shop", "service": "shop"}, True),
        ({"route": "pay"}, False),
        ({"status": 403}, False),
    ],
)
def test_what_must_come_of_it(expected: dict[str, object], holds: bool) -> None:
    assert (messages(with_check(**expected)) == []) is holds


def test_answers_without_a_service_have_a_status() -> None:
    for action, status in (
        ({"response": FixedResponse(status=410)}, 410),
        ({"redirect": Redirect(status=301, path="/")}, 301),
    ):
        route = replace(with_check(status=status), service="", **action)  # type: ignore[arg-type]
        assert messages(route) == []
    checks = (
        RouteCheck(path="/other", status=404),
        RouteCheck(path="/%2F", status=400),
        RouteCheck(path="/other", service="shop"),
    )
    (message,) = messages(replace(SHOP, checks=checks))
    assert message.endswith("must get service shop, and gets no route with status 404")


def test_checks_run_when_the_route_is_valid_and_for_their_group() -> None:
    later = replace(PAY, valid_from_s=100.0, valid_until_s=200.0)
    assert messages(later, SHOP, now_s=0.0) == []
    assert messages(replace(later, path=PathMatch(value="/pay")), SHOP, now_s=300.0) == []
    inner = replace(PAY, gateways=("inner",))
    at_edge = replace(inner, checks=(replace(PAY.checks[0], gateway="edge"),))
    assert messages(inner, SHOP) == []
    assert len(messages(at_edge, SHOP)) == 1


def test_a_bad_form_of_a_route_is_held_and_the_others_ship() -> None:
    before = by_id(SHOP, PAY)
    bad = replace(PAY, path=PathMatch(value="/pay"))
    found = checked(before, by_id(bad, replace(SHOP, priority=1)), 0.0)
    assert [one.route for one in found.held] == ["pay"]
    assert found.routes == by_id(PAY, replace(SHOP, priority=1))
    assert found.failing == ()


def test_a_bad_new_route_is_left_out() -> None:
    bad = replace(PAY, path=PathMatch(value="/pay"))
    assert checked(by_id(SHOP), by_id(SHOP, bad), 0.0).routes == by_id(SHOP)


def test_a_route_that_takes_a_request_away_from_another_is_held() -> None:
    thief = replace(PAY, id="thief", priority=5, checks=())
    found = checked(by_id(SHOP, PAY), by_id(SHOP, PAY, thief), 0.0)
    assert [one.route for one in found.held] == ["thief"]
    assert "gets route thief" in found.held[0].reason


def test_a_whitelist_that_refuses_what_a_check_wants_is_held() -> None:
    list_all = refusal(Whitelist(id="w", hosts=("*",)))
    lowest = replace(SHOP, path=PathMatch(), checks=(RouteCheck(path="/"),))
    found = checked(by_id(lowest), by_id(lowest, list_all), 0.0)
    assert [one.route for one in found.held] == ["whitelist/w"]


def test_a_removed_route_comes_back_when_a_check_names_it() -> None:
    plain = replace(PAY, checks=())
    for expected in ({"route": "pay"}, {"service": "pay"}):
        check = RouteCheck(path="/shop/pay", **expected)  # type: ignore[arg-type]
        other = replace(SHOP, id="z", checks=(check,))
        found = checked(by_id(other, plain), by_id(other), 0.0)
        assert [one.route for one in found.held] == ["pay"]
        assert found.routes == by_id(other, plain)


def test_a_more_specific_host_that_takes_requests_away_is_held() -> None:
    lone = replace(SHOP, id="lone", hosts=("localhost",), path=PathMatch(value="/else"))
    far = replace(lone, id="far", hosts=("far.example",))
    found = checked(by_id(SHOP, PAY), by_id(SHOP, PAY, lone, far), 0.0)
    assert [one.route for one in found.held] == ["lone"]
    assert found.routes == by_id(SHOP, PAY, far)


def test_what_failed_before_is_told_and_holds_nothing() -> None:
    broken = replace(PAY, path=PathMatch(value="/pay"))
    found = checked(by_id(broken), by_id(broken, SHOP), 0.0)
    assert found.held == ()
    assert [one.route for one in found.failing] == ["pay"]
    # A check that begins to be tried, because the route's time has come, accuses nobody.
    was_over = replace(broken, valid_from_s=-5.0, valid_until_s=-1.0)
    now_valid = {"pay": replace(broken, checks=()), "later": replace(was_over, id="later")}
    assert checked(now_valid, now_valid, 0.0).held == ()


def test_a_revision_gives_its_route_back() -> None:
    revision = RouteRevision(
        route="shop", event="publish", author="me", time_s=0.0, generation=1, after='{"id":"shop"}'
    )
    assert revision.route_after == Route(id="shop")
    with pytest.raises(Conflict, match="took route shop away"):
        _ = replace(revision, after="").route_after
