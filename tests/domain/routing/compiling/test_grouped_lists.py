"""Groups find what the list finds, with few questions, and repeat few rules."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.domain.radix.pattern import Pattern
from controlplane.domain.radix.tree import Tree
from controlplane.domain.routing.compiling.grouped_lists import Grouped, grouped
from controlplane.domain.routing.matching.request import Request
from controlplane.domain.routing.matching.table import Table
from controlplane.domain.routing.precedence import ordered
from controlplane.domain.routing.route import Condition, PathMatch, PathMatchType, Route
from tests.routing import tables as routing_tables

NOW_S = 1_000_000.0
SHORT = 12
HOST = "localhost"
TEST = (Condition(name="x-test", value="1"),)


def templates(count: int, *, end: str = "") -> list[Route]:
    return [template(f"t{n:03}", f"/a/{{x}}/w{n:03}{end}") for n in range(count)]


def template(name: str, value: str) -> Route:
    path = PathMatch(type=PathMatchType.PATH_TEMPLATE, value=value)
    return Route(id=name, service="s", path=path)


def all_grouped(routes: list[Route]) -> Grouped:
    return grouped(routes, range(len(routes)), SHORT)


def stand(asked: Grouped) -> int:
    return len(asked.rest) + sum(stand(group.inside) for group in asked.groups)


def longest(asked: Grouped) -> int:
    return max([len(asked.rest), *(longest(group.inside) for group in asked.groups)])


def test_a_short_list_stays() -> None:
    assert all_grouped(templates(SHORT)) == Grouped(groups=(), rest=tuple(range(SHORT)))


def test_a_long_list_is_halved_until_it_is_short() -> None:
    asked = all_grouped(templates(96))
    assert [len(group.patterns) for group in asked.groups] == [48, 24, 12]
    assert [len(group.patterns) for group in asked.groups[0].inside.groups] == [24, 12]
    assert (stand(asked), longest(asked)) == (96, 12)


def test_an_expression_has_a_bounded_size() -> None:
    assert max(len(g.patterns) for g in all_grouped(templates(96, end="/" + 400 * "x")).groups) == 9
    assert all_grouped(templates(96, end="/" + 4_000 * "x")).groups == ()


def test_later_rules_are_repeated_where_those_of_a_group_may_not_hold() -> None:
    last = [template("last", "/a/{x}/{y}")]
    free = all_grouped(ordered([*templates(40), *last]))
    assert stand(free) == 41
    some = [
        replace(route, conditions=TEST) if n == 3 else route
        for n, route in enumerate(templates(40))
    ]
    assert stand(all_grouped(ordered([*some, *last]))) == 43
    # One with the same path that always holds takes what the condition leaves.
    both = ordered([*some, *templates(40)[3:4], *last])
    assert stand(all_grouped(both)) == 42


def test_rules_of_one_path_stay_together() -> None:
    routes = [
        replace(one, id=f"{method}{one.id}", methods=(method,))
        for one in templates(40)
        for method in ("GET", "PUT")
    ]
    asked = all_grouped(ordered(routes))
    assert [len(group.patterns) for group in asked.groups] == [20, 10, 5]
    assert stand(asked) == 80


def test_a_list_that_would_repeat_much_stays() -> None:
    one_path = [replace(template(f"r{n}", "/a/{x}"), conditions=TEST) for n in range(40)]
    assert all_grouped(one_path).groups == ()
    some = [replace(route, conditions=TEST) for route in templates(40)]
    last = [template(f"z{n}", f"/a/{{x}}/{{y}}/{n}") for n in range(40)]
    behind = [replace(template(f"y{n}", "/a/{x}/{y}"), conditions=TEST) for n in range(10)]
    assert all_grouped(ordered([*some, *last])).groups
    assert all_grouped(ordered([*some, *behind])).groups == ()


@pytest.mark.parametrize("first", [0, 4])
def test_expressions_are_asked_one_by_one(first: int) -> None:
    kind = PathMatchType.REGULAR_EXPRESSION
    path = PathMatch(type=kind, value="/a/.*")
    routes = [*templates(first), *(Route(id=f"e{n}", service="s", path=path) for n in range(20))]
    asked = all_grouped(routes)
    assert [len(group.patterns) for group in asked.groups] == [first][: bool(first)]
    assert len(asked.rest) == 20


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from((0, 2, 12)))
def test_groups_find_what_the_matcher_finds(seed: int, expressions: int) -> None:
    rng = random.Random(seed)
    found = [routing_tables.route(rng, f"r{n}", (HOST,), NOW_S) for n in range(rng.randrange(60))]
    found = [replace(route, hosts=(HOST,)) for route in found if route.valid(NOW_S)]
    kind = PathMatchType.REGULAR_EXPRESSION
    plain = [route for route in found if route.path.type is not kind]
    of_kind = [route for route in found if route.path.type is kind]
    certain = [
        replace(r, id=f"c{r.id}", methods=(), conditions=()) for r in plain if rng.random() < 0.5
    ]
    table = ordered([*plain, *certain, *of_kind[:expressions]])
    whole, asked = Table.of(table), all_grouped(table)
    for _ in range(8):
        request = routing_tables.sent(rng, table or templates(1), (HOST,)).read()
        assert isinstance(request, Request)
        request = replace(request, host=HOST)
        assert by_groups(asked, table, request) == whole.match(request, NOW_S).route


def by_groups(asked: Grouped, table: list[Route], request: Request) -> Route | None:
    """As a data plane would: a group whose question holds decides."""
    for group in asked.groups:
        if any(takes(one, request.path) for one in group.patterns):
            return by_groups(group.inside, table, request)
    return next((table[n] for n in asked.rest if matches(table[n], request)), None)


def takes(pattern: Pattern, path: str) -> bool:
    return Tree.of({pattern: True}).find(path) is not None


def matches(route: Route, request: Request) -> bool:
    return Table.of([route]).match(request, NOW_S).route is not None
