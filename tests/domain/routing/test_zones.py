"""What gateways of a zone do."""

from dataclasses import replace

import pytest

from controlplane.domain.routing.route import (
    FixedResponse,
    HeaderChanges,
    L4Route,
    Redirect,
    Rewrite,
    Route,
    SlowQueue,
)
from controlplane.domain.routing.zones import Zone, ZoneFunction, missing_functions, served

PLAIN = Zone(name="ticketing", functions=(ZoneFunction.ANONYMOUS,))


@pytest.mark.parametrize(
    ("route", "missing"),
    [
        (Route(id="r", service="web"), ()),
        (Route(id="r", redirect=Redirect()), (ZoneFunction.ANSWERS,)),
        (Route(id="r", response=FixedResponse()), (ZoneFunction.ANSWERS,)),
        (Route(id="r", service="web", rewrite=Rewrite(path="/")), (ZoneFunction.REWRITES,)),
        (
            Route(id="r", service="web", response_headers=HeaderChanges(remove=("x",))),
            (ZoneFunction.REWRITES,),
        ),
        (Route(id="r", service="web", queue=SlowQueue()), (ZoneFunction.SLOW_QUEUE,)),
        (Route(id="r", service="web", transform="json"), (ZoneFunction.TRANSFORMS,)),
    ],
)
def test_what_a_zone_lacks_for_a_route(route: Route, missing: tuple[ZoneFunction, ...]) -> None:
    assert missing_functions(route, PLAIN) == missing
    assert missing_functions(route, Zone(name="everything")) == ()


def test_a_zone_without_anonymous_callers_wants_authentication() -> None:
    zone = Zone(name="internal", functions=(ZoneFunction.ANSWERS,))
    open_to_all, known = (
        Route(id="r", service="w"),
        Route(id="r", service="w", authentication=("k",)),
    )
    assert missing_functions(open_to_all, zone) == (ZoneFunction.ANONYMOUS,)
    assert missing_functions(known, zone) == ()


INNER = Zone(name="inner", functions=(ZoneFunction.ANONYMOUS,))
GROUPS = {"edge": "", "core": "inner", "gate": "outer"}
ZONES = (INNER, Zone(name="outer", sources=("10.0.0.0/8",)))


def test_a_zone_that_lacks_nothing_changes_no_route() -> None:
    routes = (Route(id="r", service="web"), Route(id="s", redirect=Redirect()))
    assert served(routes, ZONES, {"edge": "", "gate": "outer"}) == routes
    assert served(routes[:1], ZONES, GROUPS) == routes[:1]


def test_a_route_is_left_to_the_groups_that_do_what_it_needs() -> None:
    answer = Route(id="r", redirect=Redirect())
    (kept,) = served([answer], ZONES, GROUPS)
    assert kept == replace(answer, gateways=("edge", "gate"))
    named = replace(answer, gateways=("core", "gate", "undeclared"))
    (kept,) = served([named], ZONES, GROUPS)
    assert kept.gateways == ("gate", "undeclared")


def test_a_route_that_no_group_may_have_is_left_out() -> None:
    named = Route(id="r", redirect=Redirect(), gateways=("core",))
    assert served([named], ZONES, GROUPS) == ()


def test_connections_are_a_function_too() -> None:
    route = L4Route(id="db", service="db", port=5_432)
    assert served([route], ZONES, GROUPS) == (replace(route, gateways=("edge", "gate")),)
