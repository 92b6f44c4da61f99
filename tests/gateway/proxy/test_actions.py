"""What a route makes of a request in the agent's own proxy."""

import json

import pytest

from controlplane.domain.routing.matching.request import Request
from controlplane.domain.routing.route import (
    FixedResponse,
    HeaderChanges,
    PathMatch,
    PathMatchType,
    Redirect,
    Rewrite,
    Route,
    SlowQueue,
)
from gateway.admission.enforcing import Answer
from gateway.proxy.actions import Forward, action

REQUEST = Request(
    path="/old/a",
    host="x.example",
    query="q=1",
    headers={"host": "x.example:8080", "x-a": "1", "x-forwarded-proto": "https"},
)


def said(route: Route | None) -> Answer:
    found = action(route, REQUEST)
    assert isinstance(found, Answer)
    return found


def sent(route: Route) -> Forward:
    found = action(route, REQUEST)
    assert isinstance(found, Forward)
    return found


def test_no_route_is_not_found() -> None:
    assert said(None).status == 404


@pytest.mark.parametrize(
    ("redirect", "location"),
    [
        (Redirect(path="/new"), "/new?q=1"),
        (Redirect(path="/new?z=2"), "/new?z=2"),
        (Redirect(scheme="https"), "https://x.example:8080/old/a?q=1"),
        (Redirect(host="y.example", path="/"), "https://y.example/?q=1"),
    ],
)
def test_a_redirect_keeps_what_it_does_not_name(redirect: Redirect, location: str) -> None:
    answer = said(Route(id="r", redirect=redirect))
    assert (answer.status, dict(answer.headers)) == (302, {"location": location})


def test_a_fixed_response_is_given_with_the_routes_headers() -> None:
    changes = HeaderChanges(set=(("X-B", "2"),), remove=("content-type",))
    route = Route(id="r", response=FixedResponse(body="no"), response_headers=changes)
    answer = said(route)
    assert (answer.status, answer.body, answer.headers) == (403, b"no", (("X-B", "2"),))


@pytest.mark.parametrize(
    "route",
    [
        Route(id="r", service="app", authentication=("partners",)),
        Route(id="r", service="app", transform="upper"),
        Route(id="r", service="app", queue=SlowQueue()),
    ],
)
def test_what_this_proxy_does_not_do_is_refused(route: Route) -> None:
    answer = said(route)
    assert answer.status == 501
    assert json.loads(answer.body)["code"] == "route_not_supported"


@pytest.mark.parametrize(
    ("path", "rewrite", "expected"),
    [
        ("/old", Rewrite(prefix="/new"), "/new/a"),
        ("/old", Rewrite(prefix="/"), "/a"),
        ("/", Rewrite(prefix="/in"), "/in/old/a"),
        ("/old/a", Rewrite(prefix="/"), "/"),
        ("/old", Rewrite(path="/one"), "/one"),
        ("/old", Rewrite(host="inner"), "/old/a"),
    ],
)
def test_a_rewrite_is_what_the_service_sees(path: str, rewrite: Rewrite, expected: str) -> None:
    found = sent(Route(id="r", service="app", path=PathMatch(value=path), rewrite=rewrite))
    assert found.request.path == expected
    assert found.request.query == "q=1"
    assert found.request.headers["host"] == (rewrite.host or "x.example:8080")


def test_only_a_prefix_has_its_prefix_replaced() -> None:
    path = PathMatch(type=PathMatchType.EXACT, value="/old/a")
    route = Route(id="r", service="app", path=path, rewrite=Rewrite(prefix="/new"))
    assert sent(route).request.path == "/old/a"


def test_headers_and_timeout_of_a_route_hold() -> None:
    route = Route(
        id="r",
        service="app",
        request_headers=HeaderChanges(set=(("X-B", "2"),), remove=("X-A",)),
        timeout_ms=1_500,
    )
    found = sent(route)
    assert found.request.headers == {
        "host": "x.example:8080",
        "x-forwarded-proto": "https",
        "x-b": "2",
    }
    assert found.timeout_s == 1.5
