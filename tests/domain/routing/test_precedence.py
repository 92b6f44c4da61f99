"""The order of routes."""

import random

import pytest

from controlplane.domain.routing.precedence import (
    Difference,
    by_host,
    difference,
    host_patterns,
    ordered,
)
from controlplane.domain.routing.route import Cohort, Route
from tests.domain.routing.drawn import header, routed

# First things first; what tells two neighbors apart.
IN_ORDER: tuple[tuple[Route, Difference | None], ...] = (
    (routed("exact", "=/a/b"), Difference.PATH),
    (routed("longer", "/a/b/c"), Difference.PATH),
    (routed("literal", "/a/b", methods=("GET",)), Difference.METHODS),
    (routed("two", "/a/b", conditions=header("x") + header("y")), Difference.CONDITIONS),
    (routed("one", "/a/b", cohort=Cohort(high=5)), Difference.PRIORITY),
    (routed("low", "/a/b", conditions=header("x"), priority=-1), Difference.CONDITIONS),
    (routed("by-id-1", "/a/b"), Difference.ID),
    (routed("by-id-2", "/a/b"), Difference.PATH),
    (routed("parameter", "?/a/{x}"), Difference.PATH),
    (routed("shorter", "/a"), Difference.PATH),
    (routed("all", "/"), Difference.EXPRESSION),
    (routed("expression", "~/a.*", conditions=header("x")), Difference.CONDITIONS),
    (routed("expression-1", "~/b.*"), Difference.ID),
    (routed("expression-2", "~/a.*"), None),
)


def test_the_order_is_total_and_independent_of_how_it_was_written() -> None:
    routes = [route for route, _ in IN_ORDER]
    for seed in range(20):
        assert ordered(random.Random(seed).sample(routes, len(routes))) == routes


@pytest.mark.parametrize("at", range(len(IN_ORDER) - 1))
def test_what_tells_two_routes_apart_is_named(at: int) -> None:
    (first, apart), (second, _) = IN_ORDER[at], IN_ORDER[at + 1]
    assert difference(first, second) is apart


def test_hosts_from_the_most_specific() -> None:
    assert list(host_patterns("a.b.c")) == ["a.b.c", "*.b.c", "*.c", "*"]
    assert list(host_patterns("")) == ["", "*"]


def test_a_route_stands_once_on_each_of_its_hosts() -> None:
    tables = by_host([routed("b", hosts=("x", "x", "*")), routed("a", hosts=("x",))])
    assert list(tables) == ["*", "x"]
    assert [route.id for route in tables["x"]] == ["a", "b"]
