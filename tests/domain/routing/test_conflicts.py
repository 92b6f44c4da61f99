"""Conflicts that are named when routes are written."""

import pytest

from controlplane.domain.routing.conflicts import ConflictKind, conflicts
from controlplane.domain.routing.route import Cohort, Route
from controlplane.domain.routing.whitelist import Whitelist
from tests.domain.routing.drawn import header, routed


def told(routes: list[Route], *whitelists: Whitelist) -> list[tuple[str, str, str, str]]:
    return [
        (each.kind.name, each.route, each.other, each.host)
        for each in conflicts(routes, whitelists)
    ]


NOBODY = Cohort(low=1, high=1)


@pytest.mark.parametrize(
    ("routes", "expected"),
    [
        ([routed("a", "/x"), routed("b", "/y"), routed("c", "=/x")], []),
        ([routed("a", "/x"), routed("b", "/x")], [("NEVER_REACHED", "b", "a", "*")]),
        ([routed("a", "/x"), routed("b", "/x", priority=1)], [("NEVER_REACHED", "a", "b", "*")]),
        (
            [routed("a", "/x", conditions=header("h")), routed("b", "/x", conditions=header("i"))],
            [("BY_ID", "b", "a", "*")],
        ),
        (
            [
                routed("a", "/x", conditions=header("h", "1")),
                routed("b", "/x", conditions=header("h", "2")),
            ],
            [],
        ),
        (
            [
                routed("a", "/x", conditions=header("h", "1")),
                routed("b", "/x", conditions=header("i"), priority=1),
            ],
            [],
        ),
        ([routed("a", "?/{x}/y"), routed("b", "?/{z}/y")], [("NEVER_REACHED", "b", "a", "*")]),
        ([routed("a", "/x", methods=("GET",)), routed("b", "/x")], []),
        (
            [routed("a", "/x", methods=("GET", "PUT")), routed("b", "/x", methods=("GET",))],
            [("NEVER_REACHED", "b", "a", "*")],
        ),
        ([routed("a", "~/x.*"), routed("b", "~/x.*")], [("NEVER_REACHED", "b", "a", "*")]),
        ([routed("a"), routed("b", "~/x")], [("NEVER_REACHED", "b", "a", "*")]),
        ([routed("a", "/x"), routed("b", "~/x/.*")], [("NEVER_REACHED", "b", "a", "*")]),
        ([routed("a", "/x"), routed("b", "~/x.*"), routed("c", "~(/x|/y)")], []),
        ([routed("a", "/x", conditions=header("h")), routed("b", "~/x/.*")], []),
        ([routed("a", "=/a//b")], [("NEVER_FULFILLED", "a", "", "")]),
        ([routed("a", "?/{x}/..")], [("NEVER_FULFILLED", "a", "", "")]),
        ([routed("a", "?/{x}/y", cohort=NOBODY)], [("NEVER_FULFILLED", "a", "", "")]),
        (
            [routed("a", hosts=("x.org",)), routed("b", hosts=("*.org",)), routed("c", "/c")],
            [("OTHER_HOST", "b", "a", "x.org"), ("OTHER_HOST", "c", "b", "*.org"),
             ("OTHER_HOST", "c", "a", "x.org")],
        ),
        ([routed("a", hosts=("x.org", "*"))], []),
    ],
)  # fmt: skip
def test_conflicts(routes: list[Route], expected: list[tuple[str, str, str, str]]) -> None:
    assert told(routes) == expected
    assert told(routes[::-1]) == expected


def test_whitelists_are_told_when_something_hides_or_opens_them() -> None:
    wall = Whitelist(id="w", hosts=("x.org",))
    listed = routed("listed", "=/a", hosts=("x.org",))
    everything = routed("all", "/", hosts=("x.org",))
    posts = routed("posts", "/", hosts=("x.org",), methods=("POST",))
    beyond = routed("beyond", "~/z", hosts=("x.org",))
    assert told([listed], wall) == []
    assert told([everything], wall) == [("NEVER_REACHED", "all", "whitelist/w", "x.org")]
    assert told([posts], wall) == [("OPEN_WHITELIST", "posts", "whitelist/w", "x.org")]
    assert told([beyond], wall) == [("NEVER_REACHED", "beyond", "whitelist/w", "x.org")]
    wide = Whitelist(id="wide", hosts=("*.org",))
    assert told([listed], wide) == [("OTHER_HOST", "whitelist/wide", "listed", "x.org")]


def test_many_routes_of_a_hidden_host_are_told_once() -> None:
    routes = [routed(f"r{at}", f"/{at}") for at in range(5)]
    [found] = conflicts([*routes, routed("own", hosts=("x.org",))])
    assert (found.kind, found.detail) == (ConflictKind.OTHER_HOST, "and 4 more of *")


def test_many_routes_of_one_path_are_compared_with_their_neighbors() -> None:
    routes = [routed(f"r{at:04}", "/x", conditions=header("h", str(at))) for at in range(200)]
    assert conflicts(routes) == []
