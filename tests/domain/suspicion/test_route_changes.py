"""Changing much of the route table at once is doubted; a few routes and mere words are not."""

from dataclasses import replace

from controlplane.domain.routing.route import PathMatch, Route, RouteCheck
from controlplane.domain.suspicion.fleets import FleetDoubt, doubt_of
from controlplane.domain.suspicion.limits import SuspicionLimits
from tests.builders import fleet

ROUTES = tuple(
    Route(id=f"r{n:02}", service="tickets", path=PathMatch(value=f"/{n}")) for n in range(40)
)


def changed(count: int, total: int = 40) -> FleetDoubt | None:
    before = replace(fleet(), routes=ROUTES[:total])
    others = tuple(replace(one, timeout_ms=5) for one in ROUTES[:count])
    after = replace(before, routes=(*others, *ROUTES[count:total]))
    return doubt_of(before, after, {}, SuspicionLimits())


def test_more_than_a_third_of_the_routes_is_doubted() -> None:
    assert changed(12) is None
    doubt = changed(13)
    assert doubt is not None
    assert (doubt.code, doubt.limit, len(doubt.items)) == ("mass_change", 0.3, 13)
    assert "changes or removes 13 of 40 routes, more than 30%" in doubt.message


def test_a_few_routes_are_not() -> None:
    assert changed(9, 9) is None
    assert changed(10, 10) is not None


def test_removed_and_changed_ones_are_one_sum() -> None:
    before = replace(fleet(), routes=ROUTES)
    others = tuple(replace(one, priority=1) for one in ROUTES[:7])
    after = replace(before, routes=(*others, *ROUTES[7:33]))
    doubt = doubt_of(before, after, {}, SuspicionLimits())
    assert doubt is not None
    assert doubt.code == "mass_change"


def test_labels_and_checks_change_no_traffic() -> None:
    before = replace(fleet(), routes=ROUTES)
    check = (RouteCheck(path="/"),)
    after = replace(before, routes=tuple(replace(r, checks=check) for r in ROUTES))
    assert doubt_of(before, after, {}, SuspicionLimits()) is None
