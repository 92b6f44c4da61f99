"""Routes as HTTPRoutes: what is left out, and what is written otherwise, is noted."""

from dataclasses import replace

from controlplane.api.route_documents.formats import RouteFormat, write
from controlplane.domain.routing.route import (
    Condition,
    FixedResponse,
    Part,
    PathMatch,
    PathMatchType,
    Route,
    TextMatchType,
)
from controlplane.domain.topology import Fleet
from tests.api.test_http_routes import imported


def test_an_export_leaves_out_what_it_cannot_say() -> None:
    plain = Route(id="Plain_1", service="tickets")
    cases = {
        "cookie k Exact": {"conditions": (Condition(part=Part.COOKIE, name="k", value="v"),)},
        "header h Absent": {"conditions": (Condition(name="h", type=TextMatchType.ABSENT),)},
        "one condition for each name": {
            "conditions": (Condition(name="h", value="a"), Condition(name="h", value="b"))
        },
        "no method PROPFIND": {"methods": ("PROPFIND",)},
        "no fixed response": {"service": "", "response": FixedResponse()},
        "up to 16 hostnames": {"hosts": ("*", "a.example")},
        "no name of a Gateway": {"gateways": ("Edge",)},
        "does not say authentication": {"authentication": ("keys",), "priority": 3},
    }
    for words, members in cases.items():
        exported = write([replace(plain, **members)], RouteFormat.HTTP_ROUTE, Fleet())  # type: ignore[arg-type]
        (note,) = exported.notes
        assert (note.left_out, exported.text) == (True, "")
        assert words in note.message


def test_an_export_says_what_it_writes_otherwise() -> None:
    template = PathMatch(type=PathMatchType.PATH_TEMPLATE, value="/a/{b}")
    routes = [
        Route(id="Plain_1", service="tickets", path=template),
        Route(id="b", service="tickets", priority=3, labels=(("a", "b"),)),
    ]
    exported = write(routes, RouteFormat.HTTP_ROUTE, Fleet())
    assert [note.left_out for note in exported.notes] == [False, False]
    assert "/a/{b} is written as a regular expression" in exported.notes[0].message
    assert "priority, labels" in exported.notes[1].message
    assert "name: plain-1-" in exported.text
    names = [draft.route.id for draft in imported(exported.text).routes]
    assert names == ["Plain_1", "b"]


def test_a_large_export_is_taken_back() -> None:
    hosts = ("a.example", "b.example")
    routes = [
        Route(
            id=f"r{n}",
            service="tickets",
            hosts=hosts,
            methods=("GET", "PUT"),
            conditions=(Condition(name="h", value="v"),),
        )
        for n in range(150)
    ]
    text = write(routes, RouteFormat.HTTP_ROUTE, Fleet()).text
    assert "&id" not in text
    assert len(imported(text).routes) == 150
