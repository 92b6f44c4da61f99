"""What gateways of a zone do."""

import pytest

from controlplane.domain.routing.route import (
    FixedResponse,
    HeaderChanges,
    Redirect,
    Rewrite,
    Route,
    SlowQueue,
)
from controlplane.domain.routing.zones import Zone, ZoneFunction, missing_functions

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
